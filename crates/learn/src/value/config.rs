//! The settings of a value-learning run, and the runs that have a name.

use afterstate_board::SpawnRule;
use serde::{Deserialize, Serialize};

use crate::reward::Reward;
use crate::run::{Config, Preset, within};

/// The settings of the learner `value`. Every field is a key of `config.toml` and of `--set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueConfig {
    /// The network: `lookup` or `mlp`, with its own settings as `lookup:width=64,hidden=32`.
    pub network: String,
    /// Points that an output of 1 stands for.
    pub unit: f64,
    /// Which tiles spawn.
    pub rule: String,
    /// Moves in all; rates and epsilon fall along them.
    pub moves: u64,
    /// End after so many seconds of training even if moves are left; 0 for no limit.
    pub seconds: u64,
    /// Games that move in step: the boards of one batch.
    pub lanes: usize,
    /// Threads; 0 for one on each core. What is learned does not depend on them.
    #[serde(default)]
    pub threads: usize,
    /// Boards that are learned from at once, so that the next ones see what came of it; 0 for all that wait. Without replay only.
    #[serde(default)]
    pub at_once: usize,
    /// The step of vectors that are looked up.
    pub table_rate: f64,
    /// The step of dense layers.
    pub dense_rate: f64,
    /// What is left of both rates at the end.
    pub rate_end: f64,
    /// The share of all moves before the rates begin to fall.
    #[serde(default)]
    pub rate_hold: f64,
    /// The longest gradient of the dense layers; 0 for no limit.
    pub clip: f64,
    /// What the value of the next afterstate counts for.
    pub discount: f64,
    /// Moves whose rewards count before the value of an afterstate does.
    pub n_step: usize,
    /// How much of what came later counts towards a value, per move; 1 for all of it, up to `n_step`.
    #[serde(default = "whole")]
    pub lambda: f64,
    /// The share of random moves at the beginning.
    pub epsilon: f64,
    /// The share of random moves once it has fallen.
    pub epsilon_end: f64,
    /// The share of all moves in which it falls.
    pub epsilon_fall: f64,
    /// Transitions kept for replay; 0 to learn from each as it happens.
    pub replay: usize,
    /// Transitions of a replayed batch, one batch for each step of the lanes.
    pub batch: usize,
    /// Compute targets with the network as it was when the block began (replay only).
    pub target: bool,
    /// Names all random numbers.
    pub seed: u64,
    /// Games between two looks at the clock, the metrics and Ctrl-C.
    pub block: u64,
    /// Games between two checkpoints.
    pub checkpoint_every: u64,
    /// Games between two evaluations; 0 for none.
    pub evaluate_every: u64,
    /// Games of an evaluation.
    pub evaluate_games: u64,
    /// What a move is rewarded with.
    pub reward: Reward,
}

/// For settings that were kept before there was a `lambda`.
fn whole() -> f64 {
    1.0
}

impl Config for ValueConfig {
    const LEARNER: &'static str = "value";
    const EXTENSION: &'static str = "safetensors";
    const CHANGEABLE: &'static [&'static str] = &[
        "moves",
        "seconds",
        "table_rate",
        "dense_rate",
        "rate_end",
        "rate_hold",
        "clip",
        "threads",
        "checkpoint_every",
        "evaluate_every",
        "evaluate_games",
    ];

    fn keep(&self) -> usize {
        2
    }

    fn check(&self) -> Result<(), String> {
        const MANY: f64 = 1e15;
        within(&[
            ("moves", self.moves as f64, 1.0, MANY),
            ("block", self.block as f64, 1.0, MANY),
            ("checkpoint_every", self.checkpoint_every as f64, 1.0, MANY),
            ("evaluate_games", self.evaluate_games as f64, 1.0, MANY),
            ("lanes", self.lanes as f64, 1.0, 4_096.0),
            ("threads", self.threads as f64, 0.0, 1_024.0),
            ("unit", self.unit, 1e-3, 1e9),
            ("table_rate", self.table_rate, 0.0, 10.0),
            ("dense_rate", self.dense_rate, 0.0, 1.0),
            ("rate_end", self.rate_end, 1e-6, 1.0),
            ("rate_hold", self.rate_hold, 0.0, 0.999),
            ("clip", self.clip, 0.0, 1e9),
            ("discount", self.discount, 0.0, 1.0),
            ("at_once", self.at_once as f64, 0.0, 4_096.0),
            ("n_step", self.n_step as f64, 1.0, 64.0),
            ("lambda", self.lambda, 0.0, 1.0),
            ("epsilon", self.epsilon, 0.0, 1.0),
            ("epsilon_end", self.epsilon_end, 0.0, 1.0),
            ("epsilon_fall", self.epsilon_fall, 1e-6, 1.0),
            ("replay", self.replay as f64, 0.0, 1e8),
            ("batch", self.batch as f64, 1.0, 65_536.0),
        ])?;
        if self.target && self.replay == 0 {
            return Err("target needs replay: without it every target is known when the move is made".into());
        }
        if self.at_once > 0 && self.replay > 0 {
            return Err(
                "at_once is for learning without replay: batch says how many replayed transitions make a batch".into(),
            );
        }
        self.rule.parse::<SpawnRule>().map(|_| ()).map_err(|error| format!("rule: {error}"))
    }
}

impl ValueConfig {
    /// Temporal differences on the two-core network: what the presets vary.
    pub fn new() -> Self {
        Self {
            network: "lookup".into(),
            unit: 10_000.0,
            rule: SpawnRule::CLASSIC.to_string(),
            moves: 100_000_000,
            seconds: 0,
            lanes: 16,
            threads: 0,
            at_once: 0,
            table_rate: 0.03,
            dense_rate: 3e-4,
            rate_end: 0.1,
            rate_hold: 0.0,
            clip: 0.0,
            discount: 1.0,
            n_step: 1,
            lambda: 1.0,
            epsilon: 0.0,
            epsilon_end: 0.0,
            epsilon_fall: 0.3,
            replay: 0,
            batch: 256,
            target: false,
            seed: 1,
            block: 1_000,
            checkpoint_every: 20_000,
            evaluate_every: 20_000,
            evaluate_games: 1_000,
            reward: Reward::POINTS,
        }
    }
}

impl Default for ValueConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// Places of six cells, 2.7 GB in all; rows learn as fast as their errors agree, one board after another. A second thread would only judge
/// moves, sixteen games at a time, and handing those over costs more than that: 0.7 times the speed.
fn six_cells(base: ValueConfig) -> ValueConfig {
    ValueConfig {
        network:
            "lookup:width=8,hidden=8,direct=true,pace=coherence,spread=0.01,places=shared abcdef 6789ab 9abdef 5679ab"
                .into(),
        at_once: 1,
        threads: 1,
        table_rate: 1.0,
        dense_rate: 1e-7,
        rate_end: 0.05,
        rate_hold: 0.5,
        n_step: 5,
        lambda: 0.5,
        ..base
    }
}

/// All value-learning runs that have a name.
pub const PRESETS: &[Preset<ValueConfig>] = &[
    Preset {
        name: "tiny",
        summary: "seconds: a narrow two-core network, 3 million moves; 23,914 at one ply (200 games)",
        settings: |base| ValueConfig {
            network: "lookup:width=16,hidden=16".into(),
            moves: 3_000_000,
            block: 200,
            evaluate_every: 1_000_000,
            evaluate_games: 200,
            ..base
        },
    },
    Preset {
        name: "minute",
        summary: "about a minute on one core: the two-core network, 20 million moves; 36,475 at one ply",
        settings: |base| ValueConfig { moves: 20_000_000, evaluate_every: 1_000_000, ..base },
    },
    Preset {
        name: "ten-minutes",
        summary: "twelve minutes of one core: places of six cells, 240 million moves; 122,836 at one ply",
        settings: |base| ValueConfig { moves: 240_000_000, ..six_cells(base) },
    },
    Preset {
        name: "small",
        summary: "about five minutes on one core: places share tables, the whole network fits into a few megabytes (`twocore`); 57,269 at one ply",
        settings: |base| ValueConfig {
            network: "lookup:width=32,places=shared-lines-squares".into(),
            moves: 120_000_000,
            ..base
        },
    },
    Preset {
        name: "hour",
        summary: "as ten-minutes, 800 million moves, 100 minutes of a core in other use too; 145,334 at one ply",
        settings: |base| ValueConfig { moves: 800_000_000, ..six_cells(base) },
    },
    Preset {
        name: "thesis",
        summary: "document T's loop (T2, T3) on the two-core network: replay, target network, epsilon, shaped reward, 20 million moves; 14,883 at one ply (21 minutes of a busy core)",
        settings: |base| ValueConfig {
            moves: 20_000_000,
            unit: 1_000.0,
            discount: 0.95,
            epsilon: 1.0,
            epsilon_end: 0.01,
            replay: 100_000,
            batch: 64,
            target: true,
            block: 100,
            evaluate_every: 5_000,
            reward: Reward { milestone: 100.0, highest: 20.0, holding: 1.0, corner: 5.0, ..Reward::POINTS },
            ..base
        },
    },
];
