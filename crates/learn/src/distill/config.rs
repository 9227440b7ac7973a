//! The settings of a run of imitation, and the runs that have a name.

use afterstate_board::SpawnRule;
use serde::{Deserialize, Serialize};

use crate::course::Course;
use crate::network::Steps;
use crate::run::{Config, Preset, within};

/// The settings of the learner `distill`. Every field is a key of `config.toml` and of `--set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistillConfig {
    /// The network: `lookup` or `mlp`, with its own settings as `lookup:width=64`.
    pub network: String,
    /// Points that a value of 1 stands for.
    pub unit: f64,
    /// Who is imitated, as in `--agent`: asked about every position of the games that are played. Without records only.
    pub teacher: String,
    /// Record files of a teacher's games, separated by commas; none to play games and ask the teacher.
    pub records: String,
    /// The share of moves that the student makes itself, at the end of the run; the teacher makes the others. Games in which only the
    /// teacher moves do not show the positions that the student's mistakes lead to (Ross, Gordon and Bagnell 2011).
    pub student: f64,
    /// The share of games that end with a 2048: else positions of long games outnumber all others.
    pub early: f64,
    /// How far a move may be behind the best, in largest tiles, to be wanted less by a factor of e; 0 to want the best alone.
    pub softness: f64,
    /// How long the run is and what it keeps.
    #[serde(flatten)]
    pub course: Course,
    /// Games between two looks at the clock, the metrics and Ctrl-C.
    pub block: u64,
    /// Games that move in step.
    pub lanes: usize,
    /// Positions kept for replay.
    pub replay: usize,
    /// Positions of a batch.
    pub batch: usize,
    /// Times that each position is learned from, about.
    pub reuse: f64,
    /// What the error of values counts for.
    pub value_weight: f64,
    /// Turn each position of a batch by a random symmetry (networks that turn boards themselves need no such thing).
    pub augment: bool,
    /// How far steps go.
    #[serde(flatten)]
    pub steps: Steps,
    /// Threads; 0 is one for each core. The outcome does not depend on it.
    pub threads: usize,
}

impl Config for DistillConfig {
    const LEARNER: &'static str = "distill";
    const EXTENSION: &'static str = "safetensors";
    const CHANGEABLE: &'static [&'static str] = &[
        "moves",
        "seconds",
        "checkpoint_every",
        "evaluate_every",
        "evaluate_games",
        "table_rate",
        "dense_rate",
        "rate_end",
        "restart_every",
        "clip",
        "early",
        "softness",
        "student",
        "threads",
    ];

    fn keep(&self) -> usize {
        2
    }

    fn check(&self) -> Result<(), String> {
        self.course.check()?;
        self.steps.check()?;
        within(&[
            ("block", self.block as f64, 1.0, 1e15),
            ("lanes", self.lanes as f64, 1.0, 4_096.0),
            ("unit", self.unit, 1e-3, 1e9),
            ("student", self.student, 0.0, 1.0),
            ("early", self.early, 0.0, 1.0),
            ("softness", self.softness, 0.0, 1e9),
            ("replay", self.replay as f64, 1.0, 1e8),
            ("batch", self.batch as f64, 1.0, 65_536.0),
            ("reuse", self.reuse, 1e-3, 1e3),
            ("value_weight", self.value_weight, 0.0, 1e3),
            ("threads", self.threads as f64, 0.0, 1_024.0),
        ])
    }
}

impl DistillConfig {
    /// The champion's own moves, one look each, on the two-core network: what the presets vary.
    pub fn new() -> Self {
        Self {
            network: "lookup:width=64,hidden=64".into(),
            unit: 10_000.0,
            teacher: "greedy:eval=champion".into(),
            records: String::new(),
            student: 1.0,
            early: 0.3,
            softness: 0.1,
            course: Course {
                moves: 100_000_000,
                seconds: 0,
                checkpoint_every: 10_000,
                evaluate_every: 10_000,
                evaluate_games: 500,
                seed: 1,
                rule: SpawnRule::CLASSIC,
            },
            block: 500,
            lanes: 256,
            replay: 500_000,
            batch: 1_024,
            reuse: 1.0,
            value_weight: 0.1,
            augment: false,
            steps: Steps { table_rate: 0.15, dense_rate: 1e-3, rate_end: 0.05, restart_every: 0, clip: 1.0 },
            threads: 0,
        }
    }
}

impl Default for DistillConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// All runs that have a name.
pub const PRESETS: &[Preset<DistillConfig>] = &[
    Preset {
        name: "tiny",
        summary: "seconds: a narrow two-core network, 1 million moves under the champion's eyes",
        settings: |base| DistillConfig {
            network: "lookup:width=16,hidden=16".into(),
            course: Course { moves: 1_000_000, evaluate_every: 1_000_000, evaluate_games: 200, ..base.course },
            lanes: 64,
            batch: 256,
            ..base
        },
    },
    Preset {
        name: "champion",
        summary: "the champion's moves, 100 million of them (a run much like it played 102,505 at one look)",
        settings: |base| base,
    },
];
