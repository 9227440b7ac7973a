//! The settings of a run of proximal policy optimisation, and the runs that have a name.

use afterstate_board::SpawnRule;
use serde::{Deserialize, Serialize};

use crate::course::Course;
use crate::network::Steps;
use crate::reward::Reward;
use crate::run::{Config, Preset, within};

/// The settings of the learner `ppo`. Every field is a key of `config.toml` and of `--set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PpoConfig {
    /// The network: `lookup` or `mlp`, with its own settings as `lookup:width=64`.
    pub network: String,
    /// A network of its own for the values of positions, with an optimiser of its own, as document P has it; none to share one network.
    pub critic: String,
    /// How far its steps go, as a multiple of the policy's.
    pub critic_rate: f64,
    /// Rewards that a value of 1 stands for.
    pub unit: f64,
    /// Points that the value of an afterstate of 1 stands for.
    pub points_unit: f64,
    /// How long the run is and what it keeps.
    #[serde(flatten)]
    pub course: Course,
    /// Games between two looks at the clock, the metrics and Ctrl-C.
    pub block: u64,
    /// Games that move in step.
    pub lanes: usize,
    /// Moves of each game between two rounds of learning.
    pub horizon: usize,
    /// Times that each move is learned from.
    pub epochs: usize,
    /// Moves of a batch.
    pub batch: usize,
    /// How far steps go.
    #[serde(flatten)]
    pub steps: Steps,
    /// What the next position counts for (gamma).
    pub discount: f64,
    /// How far advantages look beyond the next position (lambda of generalised advantage estimation).
    pub lambda: f64,
    /// How far the chance of a move may change in one round (epsilon of the clipped objective).
    pub clip_ratio: f64,
    /// What the entropy of the moves counts for at the beginning.
    pub entropy: f64,
    /// What it counts for at the end.
    pub entropy_end: f64,
    /// What the error of values counts for.
    pub value_weight: f64,
    /// How far a value may move in one round, in outputs; 0 for no limit.
    pub clip_value: f64,
    /// End a round early once the policy has moved so far from where it began (Kullback-Leibler); 0 for no limit.
    pub target_kl: f64,
    /// Learn the values of afterstates too, in points: what searches ask for.
    pub afterstates: bool,
    /// Threads; 0 is one for each core. The outcome does not depend on it.
    pub threads: usize,
    /// What a move is rewarded with.
    pub reward: Reward,
}

impl Config for PpoConfig {
    const LEARNER: &'static str = "ppo";
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
        "critic_rate",
        "entropy",
        "entropy_end",
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
            ("lanes", self.lanes as f64, 1.0, 65_536.0),
            ("horizon", self.horizon as f64, 1.0, 65_536.0),
            ("epochs", self.epochs as f64, 1.0, 100.0),
            ("batch", self.batch as f64, 1.0, 1_048_576.0),
            ("unit", self.unit, 1e-3, 1e9),
            ("points_unit", self.points_unit, 1e-3, 1e9),
            ("critic_rate", self.critic_rate, 0.0, 1e3),
            ("discount", self.discount, 0.0, 1.0),
            ("lambda", self.lambda, 0.0, 1.0),
            ("clip_ratio", self.clip_ratio, 1e-6, 10.0),
            ("entropy", self.entropy, 0.0, 10.0),
            ("entropy_end", self.entropy_end, 0.0, 10.0),
            ("value_weight", self.value_weight, 0.0, 1e3),
            ("clip_value", self.clip_value, 0.0, 1e9),
            ("target_kl", self.target_kl, 0.0, 1e3),
            ("threads", self.threads as f64, 0.0, 1_024.0),
        ])
    }
}

impl PpoConfig {
    /// The two-core network, rewarded with the logarithm of each move's points: what the presets vary.
    pub fn new() -> Self {
        Self {
            network: "lookup:width=64,hidden=64".into(),
            critic: String::new(),
            critic_rate: 1.0,
            unit: 100.0,
            points_unit: 10_000.0,
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
            lanes: 512,
            horizon: 64,
            epochs: 2,
            batch: 2_048,
            steps: Steps { table_rate: 0.05, dense_rate: 1e-3, rate_end: 0.1, restart_every: 0, clip: 0.5 },
            discount: 0.997,
            lambda: 0.9,
            clip_ratio: 0.2,
            entropy: 0.003,
            entropy_end: 0.0,
            value_weight: 0.5,
            clip_value: 0.0,
            target_kl: 0.0,
            afterstates: true,
            threads: 0,
            reward: Reward { points: 0.0, log_points: 1.0, ..Reward::POINTS },
        }
    }
}

impl Default for PpoConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// All runs that have a name.
pub const PRESETS: &[Preset<PpoConfig>] = &[
    Preset {
        name: "tiny",
        summary: "seconds: a narrow two-core network, 2 million moves",
        settings: |base| PpoConfig {
            network: "lookup:width=16,hidden=16".into(),
            lanes: 64,
            batch: 512,
            course: Course { moves: 2_000_000, evaluate_every: 1_000_000, evaluate_games: 200, ..base.course },
            ..base
        },
    },
    Preset {
        name: "ten-minutes",
        summary: "the two-core network, 100 million moves: a quarter of an hour of one core (after 120: 43,284 at one look)",
        settings: |base| base,
    },
    Preset {
        name: "published",
        summary: "document P's settings (P3-P5): the dual-path network, a critic of its own, 23 million moves (needs --features neural)",
        settings: |base| PpoConfig {
            network: "dual-path".into(),
            critic: "dual-path".into(),
            critic_rate: 5.0,
            course: Course { moves: 23_000_000, checkpoint_every: 500, evaluate_every: 0, ..base.course },
            block: 50,
            lanes: 64,
            horizon: 64,
            epochs: 8,
            batch: 512,
            steps: Steps { table_rate: 0.0, dense_rate: 1e-4, rate_end: 0.01, restart_every: 2_000_000, clip: 0.5 },
            lambda: 0.95,
            entropy: 0.02,
            entropy_end: 0.02,
            afterstates: false,
            reward: Reward { log_corner: 0.3, empty: 0.1, drops: -0.05, ..base.reward },
            ..base
        },
    },
    Preset {
        name: "three-path",
        summary: "document A's network and reward (A1, A2), 200 million moves (needs --features neural)",
        settings: |base| PpoConfig {
            network: "three-path".into(),
            course: Course { moves: 200_000_000, ..base.course },
            steps: Steps { dense_rate: 3e-4, ..base.steps },
            afterstates: false,
            ..base
        },
    },
];
