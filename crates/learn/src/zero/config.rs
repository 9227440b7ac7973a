//! The settings of a run of self-play with search, and the runs that have a name.

use afterstate_board::SpawnRule;
use serde::{Deserialize, Serialize};

use crate::course::Course;
use crate::network::Steps;
use crate::run::{Config, Preset, within};

/// The settings of the learner `zero`. Every field is a key of `config.toml` and of `--set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZeroConfig {
    /// The network: `lookup` or `mlp`, with its own settings as `lookup:width=64`.
    pub network: String,
    /// Points that a value of 1 stands for.
    pub unit: f64,
    /// How long the run is and what it keeps.
    #[serde(flatten)]
    pub course: Course,
    /// Games between two looks at the clock, the metrics and Ctrl-C.
    pub block: u64,
    /// Games that move in step: the leaves of one batch.
    pub lanes: usize,
    /// Simulations for a move at the end of the ramp.
    pub simulations: u32,
    /// Simulations for a move at the beginning.
    pub simulations_start: u32,
    /// The share of all moves in which they grow.
    pub ramp: f64,
    /// How much priors count beside values.
    pub c: f64,
    /// How spawns are handled: `sampled` (drawn on every descent) or `explicit` (averaged by their probabilities).
    pub spawn: String,
    /// Share simulations among the root's moves by sequential halving, and learn the improved policy.
    pub gumbel: bool,
    /// The share of Dirichlet noise in the root's priors.
    pub noise: f64,
    /// The parameter of that noise.
    pub noise_alpha: f64,
    /// Moves at the beginning of a game that are drawn by visits.
    pub temperature_moves: u32,
    /// Values are document Z's blend of a finished game's score, tile and board, instead of points.
    pub blend: bool,
    /// Moves whose rewards count before the value of a search does (points only).
    pub n_step: usize,
    /// What the next position counts for.
    pub discount: f64,
    /// What the error of values counts for.
    pub value_weight: f64,
    /// Positions kept for replay.
    pub replay: usize,
    /// Positions of a batch.
    pub batch: usize,
    /// Batches for each move of all games.
    pub batches: usize,
    /// Turn each position of a batch by a random symmetry (networks that turn boards themselves need no such thing).
    pub augment: bool,
    /// How far steps go.
    #[serde(flatten)]
    pub steps: Steps,
    /// Threads; 0 is one for each core. The outcome does not depend on it.
    pub threads: usize,
}

impl Config for ZeroConfig {
    const LEARNER: &'static str = "zero";
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
        "simulations",
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
            ("simulations", f64::from(self.simulations), 1.0, 1e6),
            ("simulations_start", f64::from(self.simulations_start), 1.0, 1e6),
            ("ramp", self.ramp, 0.0, 1.0),
            ("c", self.c, 0.0, 1e6),
            ("noise", self.noise, 0.0, 1.0),
            ("noise_alpha", self.noise_alpha, 1e-3, 1e3),
            ("unit", self.unit, 1e-3, 1e9),
            ("n_step", self.n_step as f64, 1.0, 10_000.0),
            ("discount", self.discount, 0.0, 1.0),
            ("value_weight", self.value_weight, 0.0, 1e3),
            ("replay", self.replay as f64, 1.0, 1e8),
            ("batch", self.batch as f64, 1.0, 65_536.0),
            ("batches", self.batches as f64, 1.0, 1_000.0),
            ("threads", self.threads as f64, 0.0, 1_024.0),
        ])?;
        match self.spawn.as_str() {
            "sampled" | "explicit" => Ok(()),
            other => Err(format!("spawn = {other} is neither sampled nor explicit")),
        }
    }
}

impl ZeroConfig {
    /// The two-core network on points: what the presets vary.
    pub fn new() -> Self {
        Self {
            network: "lookup:width=64,hidden=64".into(),
            unit: 1_000.0,
            course: Course {
                moves: 20_000_000,
                seconds: 0,
                checkpoint_every: 2_000,
                evaluate_every: 2_000,
                evaluate_games: 100,
                seed: 1,
                rule: SpawnRule::CLASSIC,
            },
            block: 200,
            lanes: 128,
            simulations: 50,
            simulations_start: 16,
            ramp: 0.3,
            c: 1.5,
            spawn: "sampled".into(),
            gumbel: false,
            noise: 0.1,
            noise_alpha: 0.3,
            temperature_moves: 30,
            blend: false,
            n_step: 10,
            discount: 1.0,
            value_weight: 3.0,
            replay: 200_000,
            batch: 512,
            batches: 1,
            augment: false,
            steps: Steps { table_rate: 0.05, dense_rate: 1e-3, rate_end: 0.2, restart_every: 0, clip: 1.0 },
            threads: 0,
        }
    }
}

impl Default for ZeroConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// All runs that have a name.
pub const PRESETS: &[Preset<ZeroConfig>] = &[
    Preset {
        name: "tiny",
        summary: "seconds: a narrow two-core network, 300,000 moves of 8 simulations",
        settings: |base| ZeroConfig {
            network: "lookup:width=16,hidden=16".into(),
            lanes: 64,
            batch: 256,
            simulations: 8,
            course: Course { moves: 300_000, evaluate_every: 1_000_000, ..base.course },
            ..base
        },
    },
    Preset {
        name: "ten-minutes",
        summary: "the two-core network, 8 million moves of up to 50 simulations: a quarter of an hour of one core",
        settings: |base| ZeroConfig { course: Course { moves: 8_000_000, ..base.course }, ..base },
    },
    Preset {
        name: "hour",
        summary: "the same, 16 million moves: half an hour of one core (after 7.6 million: 43,896 with 50 simulations, 2048 in 87.5%)",
        settings: |base| ZeroConfig { course: Course { moves: 16_000_000, ..base.course }, ..base },
    },
    Preset {
        name: "published",
        summary: "document Z's settings (Z2-Z5): ZeroNet, 64 games, 15 to 100 simulations, its blend of values (needs --features neural)",
        settings: |base| ZeroConfig {
            network: "zeronet".into(),
            course: Course { moves: 500_000, checkpoint_every: 20, evaluate_every: 100, ..base.course },
            block: 20,
            lanes: 64,
            simulations: 100,
            simulations_start: 15,
            ramp: 1.0,
            noise: 0.25,
            noise_alpha: 0.03,
            value_weight: 1.0,
            blend: true,
            discount: 0.99,
            replay: 100_000,
            batch: 256,
            batches: 2,
            augment: true,
            steps: Steps { table_rate: 0.0, dense_rate: 1e-3, rate_end: 0.01, restart_every: 0, clip: 1.0 },
            ..base
        },
    },
];
