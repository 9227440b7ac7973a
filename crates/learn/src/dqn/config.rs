//! The settings of a Q-learning run, and the runs that have a name.

use afterstate_board::SpawnRule;
use serde::{Deserialize, Serialize};

use crate::reward::Reward;
use crate::run::{Config, Preset, within};

/// The settings of the learner `dqn`. Every field is a key of `config.toml` and of `--set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DqnConfig {
    /// The network: `lookup` or `mlp`, with its own settings as `mlp:width=256,depth=2`.
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
    /// The step of vectors that are looked up.
    pub table_rate: f64,
    /// The step of dense layers.
    pub dense_rate: f64,
    /// What is left of both rates at the end.
    pub rate_end: f64,
    /// The longest gradient of the dense layers; 0 for no limit.
    pub clip: f64,
    /// Errors above this, in outputs, count as if they were as large (Huber's loss); 0 for the squared error.
    pub huber: f64,
    /// What the value of the next position counts for.
    pub discount: f64,
    /// Moves whose rewards count before the value of a position does.
    pub n_step: usize,
    /// Learn about all moves of a position at once, each followed by a spawn of its own, instead of the one that was made.
    #[serde(default)]
    pub every: bool,
    /// Choose the next move by the network under training, and judge it by the target network.
    pub double: bool,
    /// The share of random moves at the beginning.
    pub epsilon: f64,
    /// The share of random moves once it has fallen.
    pub epsilon_end: f64,
    /// The share of all moves in which it falls.
    pub epsilon_fall: f64,
    /// Transitions kept for replay; 0 to learn from each as it happens.
    pub replay: usize,
    /// Transitions of a replayed batch.
    pub batch: usize,
    /// Replayed batches for each step of the lanes.
    pub batches: usize,
    /// Compute targets with the network as it was when the block began (replay only).
    pub target: bool,
    /// Let illegal moves be chosen, and take so many points for each, instead of masking them; 0 to mask.
    pub penalty: f64,
    /// Names all random numbers.
    pub seed: u64,
    /// Games between two looks at the clock, the metrics and Ctrl-C, and between two renewals of the target network.
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

impl Config for DqnConfig {
    const LEARNER: &'static str = "dqn";
    const EXTENSION: &'static str = "safetensors";
    const CHANGEABLE: &'static [&'static str] = &[
        "moves",
        "seconds",
        "table_rate",
        "dense_rate",
        "rate_end",
        "clip",
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
            ("unit", self.unit, 1e-3, 1e9),
            ("table_rate", self.table_rate, 0.0, 10.0),
            ("dense_rate", self.dense_rate, 0.0, 1.0),
            ("rate_end", self.rate_end, 1e-6, 1.0),
            ("clip", self.clip, 0.0, 1e9),
            ("huber", self.huber, 0.0, 1e9),
            ("discount", self.discount, 0.0, 1.0),
            ("n_step", self.n_step as f64, 1.0, 64.0),
            ("epsilon", self.epsilon, 0.0, 1.0),
            ("epsilon_end", self.epsilon_end, 0.0, 1.0),
            ("epsilon_fall", self.epsilon_fall, 1e-6, 1.0),
            ("replay", self.replay as f64, 0.0, 1e8),
            ("batch", self.batch as f64, 1.0, 65_536.0),
            ("batches", self.batches as f64, 1.0, 64.0),
            ("penalty", self.penalty, 0.0, 1e9),
        ])?;
        if (self.target || self.double) && self.replay == 0 {
            return Err("target and double need replay: without it every target is known when the move is made".into());
        }
        if self.every && self.n_step > 1 {
            return Err("every looks one move ahead: n_step must be 1 with it".into());
        }
        self.rule.parse::<SpawnRule>().map(|_| ()).map_err(|error| format!("rule: {error}"))
    }
}

impl DqnConfig {
    /// Replay, a target network and masks on the two-core network: what the presets vary.
    pub fn new() -> Self {
        Self {
            network: "lookup".into(),
            unit: 10_000.0,
            rule: SpawnRule::CLASSIC.to_string(),
            moves: 20_000_000,
            seconds: 0,
            lanes: 16,
            table_rate: 0.03,
            dense_rate: 3e-4,
            rate_end: 0.1,
            clip: 0.0,
            huber: 0.0,
            discount: 1.0,
            n_step: 1,
            every: false,
            double: false,
            epsilon: 0.0,
            epsilon_end: 0.0,
            epsilon_fall: 0.3,
            replay: 100_000,
            batch: 64,
            batches: 1,
            target: false,
            penalty: 0.0,
            seed: 1,
            block: 200,
            checkpoint_every: 10_000,
            evaluate_every: 10_000,
            evaluate_games: 500,
            reward: Reward::POINTS,
        }
    }
}

impl Default for DqnConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// All Q-learning runs that have a name.
pub const PRESETS: &[Preset<DqnConfig>] = &[
    Preset {
        name: "tiny",
        summary: "seconds: a narrow two-core network, 1 million moves",
        settings: |base| DqnConfig {
            network: "lookup:width=16,hidden=16".into(),
            moves: 1_000_000,
            evaluate_every: 1_000_000,
            evaluate_games: 200,
            ..base
        },
    },
    Preset {
        name: "lookup",
        summary: "the two-core network, 20 million moves, all moves of a position at once; 26,500 and 2048 in 67% of games (nine minutes of a busy core)",
        settings: |base| DqnConfig { network: "lookup:width=64".into(), every: true, replay: 0, ..base },
    },
    Preset {
        name: "dense",
        summary: "a dense network (P1's) on one-hot tiles, 8 million moves, all moves at once; 8,169 and 1024 in 29.5% of games (28 minutes of a busy core)",
        settings: |base| DqnConfig {
            network: "mlp:inputs=one-hot".into(),
            moves: 8_000_000,
            lanes: 32,
            dense_rate: 3e-4,
            clip: 1.0,
            discount: 0.99,
            unit: 1_000.0,
            every: true,
            replay: 0,
            ..base
        },
    },
    Preset {
        name: "published",
        summary: "document P's settings (P1) on its dense network: replay of 100,000, batches of 512, target network, corner reward, 2 million moves; 4,823 and 512 in 50.9% of games (24 minutes of a busy core)",
        settings: |base| DqnConfig {
            network: "mlp".into(),
            moves: 2_000_000,
            lanes: 32,
            dense_rate: 1e-4,
            rate_end: 1.0,
            huber: 1.0,
            discount: 0.99,
            epsilon: 1.0,
            epsilon_end: 0.05,
            unit: 100.0,
            batch: 512,
            target: true,
            double: true,
            block: 50,
            evaluate_every: 5_000,
            reward: Reward { corner: 10.0, ..Reward::POINTS },
            ..base
        },
    },
];
