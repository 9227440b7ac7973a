//! The settings of a temporal-difference run, and the runs that have a name.

use afterstate_board::SpawnRule;
use afterstate_evaluator::ntuple::Stages;
use afterstate_evaluator::tables::{SET_NAMES, Set};
use serde::{Deserialize, Serialize};

use crate::run::{Config, Preset};

/// What [`TdConfig::tables`] says where games are played without any.
pub use afterstate_evaluator::tables::NONE as NO_TABLES;

/// The settings of [`super::train`]. Every field is a key of `config.toml` and of `--set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TdConfig {
    /// The network: `4x6`, `8x6`, `17x4`, or a list of patterns such as `012345 456789`.
    pub patterns: String,
    /// Tiles whose appearance moves a game to the next stage of weights, such as `[16384]`, or sums of all tiles that do.
    pub stages: Vec<u32>,
    /// What `stages` are: `tiles` or `sums`.
    #[serde(default = "tiles")]
    pub stages_by: String,
    /// The tile whose chance is learned instead of points, in shares of the tile itself: a game ends when it is made, or where `tables` alone play until
    /// then, with as much of it as they promise; 0: points are learned. Without tables all that leads to it is learned.
    #[serde(default)]
    pub goal: u32,
    /// Games before the stages part: until then all share the first, from which the others then begin.
    pub shared_games: u64,
    /// Which tiles spawn.
    pub rule: String,
    /// Games in all.
    pub games: u64,
    /// End after so many seconds of training even if games are left; 0 for no limit.
    pub seconds: u64,
    /// Games of plain temporal differences before temporal coherence takes over.
    pub plain_games: u64,
    /// The step of plain temporal differences, shared out among the weights of a board.
    pub plain_rate: f64,
    /// The step of temporal coherence, before each weight's own rate.
    pub rate: f64,
    /// How much of each later error counts towards a value, per move.
    pub lambda: f64,
    /// How many later errors count.
    pub horizon: usize,
    /// The value of every board at the start: optimistic if it is more than play can reach.
    pub initial: f64,
    /// The network whose weights all stages begin with, of the same patterns: `champion`, or the file of another; empty for `initial`.
    #[serde(default)]
    pub from: String,
    /// On boards with this tile or more, the largest ones are learned as smaller where a gap allows it, as `eval.downgrade` plays them; 0: never.
    #[serde(default)]
    pub downgrade: u32,
    /// The share of the games that begin at a late position of an earlier one.
    pub restarts: f64,
    /// The tile that makes a position late when it first appears.
    pub restart_tile: u32,
    /// A file of positions that games begin at, one a line; empty for the usual two random tiles. With a `goal`, several files with commas between, the
    /// earliest positions first: games begin at the last file's, and at those of the one before as well as soon as enough of the games from it come to
    /// something (`pass`); its stage then begins with the weights of the next.
    #[serde(default)]
    pub starts: String,
    /// The share of the games from a file of `starts` that must come to something before those of the file before it are played too.
    #[serde(default = "pass")]
    pub pass: f64,
    /// The endgame tables whose moves are played where they know a way, as agent `tables` does: a set's name, or `none`.
    #[serde(default = "no_tables")]
    pub tables: String,
    /// The share of the run, at its end, in which corrections are `end_rate` times as large: values settle.
    pub end_share: f64,
    /// See `end_share`.
    pub end_rate: f64,
    /// Names all random numbers.
    pub seed: u64,
    /// Threads; 0 is one for each core. With one thread a run is the same to the last bit every time.
    pub threads: usize,
    /// From so many games on, each of several threads has its own weights of small tiles, brought together every few seconds, where that is found to
    /// be faster; as many as `games`: never, which takes less memory.
    #[serde(default = "apart")]
    pub apart: u64,
    /// Games that each thread advances in turn.
    pub lanes: usize,
    /// Games between two looks at the clock, the metrics and Ctrl-C.
    pub block: u64,
    /// Games between two checkpoints.
    pub checkpoint_every: u64,
    /// Games between two evaluations; 0 for none.
    pub evaluate_every: u64,
    /// Games of an evaluation.
    pub evaluate_games: u64,
}

/// By then the weights of small tiles hardly change any more.
const fn apart() -> u64 {
    30_000
}

/// Half of the games: beside tables most come to something soon.
const fn pass() -> f64 {
    0.5
}

fn no_tables() -> String {
    NO_TABLES.into()
}

/// What [`TdConfig::stages_by`] may say.
const BY: [&str; 2] = ["tiles", "sums"];

fn tiles() -> String {
    BY[0].into()
}

impl Config for TdConfig {
    const LEARNER: &'static str = "td";
    const EXTENSION: &'static str = "safetensors";
    const CHANGEABLE: &'static [&'static str] = &[
        "games",
        "seconds",
        "plain_games",
        "rate",
        "plain_rate",
        "restarts",
        "restart_tile",
        "pass",
        "end_share",
        "end_rate",
        "threads",
        "apart",
        "lanes",
        "checkpoint_every",
        "evaluate_every",
        "evaluate_games",
    ];

    fn keep(&self) -> usize {
        2
    }

    fn check(&self) -> Result<(), String> {
        let at_least_one = [
            ("games", self.games),
            ("block", self.block),
            ("checkpoint_every", self.checkpoint_every),
            ("evaluate_games", self.evaluate_games),
        ];
        if let Some((key, _)) = at_least_one.into_iter().find(|(_, value)| *value == 0) {
            return Err(format!("{key} must be at least 1"));
        }
        let rates = [("rate", self.rate), ("plain_rate", self.plain_rate), ("end_rate", self.end_rate)];
        if let Some((key, value)) = rates.into_iter().find(|(_, value)| !(*value > 0.0 && *value <= 10.0)) {
            return Err(format!("{key} = {value} is not a step from above 0 to 10"));
        }
        let shares =
            [("lambda", self.lambda), ("restarts", self.restarts), ("end_share", self.end_share), ("pass", self.pass)];
        if let Some((key, value)) = shares.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            return Err(format!("{key} = {value} is not from 0 to 1"));
        }
        if !(1..=64).contains(&self.horizon) || !(1..=64).contains(&self.lanes) {
            return Err("horizon and lanes must be from 1 to 64".into());
        }
        if !self.initial.is_finite() {
            return Err("initial must be a number".into());
        }
        if self.tables != NO_TABLES && Set::named(&self.tables).is_none() {
            let names = SET_NAMES.join(", ");
            return Err(format!("tables = \"{}\" is neither {NO_TABLES} nor a set of tables ({names})", self.tables));
        }
        if !BY.contains(&self.stages_by.as_str()) {
            return Err(format!("stages_by = \"{}\" is neither tiles nor sums", self.stages_by));
        }
        if self.goal != 0 && !(self.goal.is_power_of_two() && (4..=65536).contains(&self.goal)) {
            return Err(format!("goal = {} is neither 0 nor a tile from 4 to 65536", self.goal));
        }
        if self.goal != 0 && self.evaluate_every != 0 {
            return Err("a run for a goal is not evaluated in points: evaluate_every=0".into());
        }
        if self.goal != 0 && self.downgrade != 0 {
            return Err("downgrade: the chance of a goal is learned on boards as they are".into());
        }
        if self.goal != 0 && self.restarts > 0.0 {
            return Err("restarts: a run for a goal begins where its files of positions say (starts)".into());
        }
        if self.goal != 0 && self.tables != NO_TABLES && self.starts.is_empty() {
            let hint = "name files of positions, the earliest first (scripts/late makes them)";
            return Err(format!("starts: games from two tiles on would never come to {}: {hint}", self.goal));
        }
        if self.goal == 0 && self.starts.contains(',') {
            return Err("starts: several files need a goal".into());
        }
        let tiles = self.stages.iter().filter(|_| !self.is_by_sums()).chain([&self.restart_tile]);
        if let Some(tile) = tiles.into_iter().find(|tile| !tile.is_power_of_two() || !(2..=32768).contains(*tile)) {
            return Err(format!("{tile} is not a tile from 2 to 32768"));
        }
        self.rule.parse::<SpawnRule>().map(|_| ()).map_err(|error| format!("rule: {error}"))
    }
}

impl TdConfig {
    fn is_by_sums(&self) -> bool {
        self.stages_by == BY[1]
    }

    /// What begins each stage of weights.
    pub(super) fn stages(&self) -> Stages {
        if self.is_by_sums() {
            return Stages::Sums(self.stages.clone());
        }
        Stages::Tiles(self.stages.iter().map(|tile| tile.ilog2() as u8).collect())
    }

    /// The files of positions that games begin at.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.starts.split(',').filter(|file| !file.is_empty())
    }

    /// The exponent of the tile whose chance is learned.
    pub(super) fn goal(&self) -> Option<u8> {
        (self.goal != 0).then(|| self.goal.ilog2() as u8)
    }

    /// Temporal coherence with eligibility on the 4x6 network: what the presets vary.
    pub fn new() -> Self {
        Self {
            patterns: "4x6".into(),
            stages: Vec::new(),
            stages_by: tiles(),
            goal: 0,
            shared_games: 0,
            rule: SpawnRule::CLASSIC.to_string(),
            games: 100_000,
            seconds: 0,
            plain_games: 0,
            plain_rate: 0.1,
            rate: 1.0,
            lambda: 0.5,
            horizon: 5,
            initial: 0.0,
            from: String::new(),
            downgrade: 0,
            restarts: 0.0,
            restart_tile: 8192,
            starts: String::new(),
            pass: pass(),
            tables: no_tables(),
            end_share: 0.0,
            end_rate: 0.1,
            seed: 1,
            threads: 0,
            apart: apart(),
            lanes: 2,
            block: 1_000,
            checkpoint_every: 50_000,
            evaluate_every: 50_000,
            evaluate_games: 1_000,
        }
    }
}

impl Default for TdConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// All runs that have a name.
pub const PRESETS: &[Preset<TdConfig>] = &[
    Preset {
        name: "tiny",
        summary: "seconds: lines and squares of four cells, 3,000 games; 22,000 to 33,000 at one ply in four runs",
        settings: |base| TdConfig {
            patterns: "17x4".into(),
            games: 3_000,
            checkpoint_every: 1_000,
            evaluate_every: 3_000,
            ..base
        },
    },
    Preset {
        name: "minute",
        summary: "one minute: the 4x6 network; 112,361 at one ply (two idle cores, 47,000 games)",
        settings: |base| TdConfig { games: 1_000_000, seconds: 60, evaluate_every: 100_000, end_share: 0.2, ..base },
    },
    Preset {
        name: "ten-minutes",
        summary: "ten minutes: the 4x6 network; 168,427 at one ply (two cores, 219,000 games)",
        settings: |base| TdConfig { games: 10_000_000, seconds: 600, evaluate_every: 100_000, end_share: 0.2, ..base },
    },
    Preset {
        name: "hour",
        summary: "one hour: the 4x6 network, half of the games from an 8192 on; 235,829 at one ply (two cores in other use too, 665,000 games)",
        settings: |base| TdConfig {
            games: 10_000_000,
            seconds: 3_600,
            restarts: 0.5,
            end_share: 0.2,
            checkpoint_every: 100_000,
            evaluate_every: 100_000,
            ..base
        },
    },
    Preset {
        name: "overnight",
        summary: "the 8x6 network, half of the games from an 8192 on, a tenth of the rate in the last 160,000 of 560,000 games: what the \
                  champion is packed from; 296,372 at one ply with eval.downgrade=16384",
        settings: |base| TdConfig {
            patterns: "8x6".into(),
            games: 560_000,
            restarts: 0.5,
            end_share: 2.0 / 7.0,
            checkpoint_every: 100_000,
            evaluate_every: 100_000,
            ..base
        },
    },
    Preset {
        name: "refine",
        summary: "the champion's weights learned further with rates begun anew, a tenth of the rate in the last 160,000 of 536,000 games; 309,071 at \
                  one ply with eval.downgrade=16384",
        settings: |base| TdConfig {
            patterns: "8x6".into(),
            from: "champion".into(),
            games: 536_000,
            restarts: 0.5,
            end_share: 0.3,
            checkpoint_every: 100_000,
            evaluate_every: 100_000,
            ..base
        },
    },
    Preset {
        name: "late",
        summary: "an hour: the chance of 32768 from a 16384 on, between the endgame tables, in seven stages of the 8x6 network, from positions of games \
                  (scripts/late makes them); 76.5% of games from 16384 and 8192 on come to 32768 at depth 2 (two cores in other use too, 848,000 games)",
        settings: |base| TdConfig {
            patterns: "8x6".into(),
            stages: vec![20480, 24576, 28672, 30720, 31744, 32256],
            stages_by: BY[1].into(),
            goal: 32768,
            tables: "large".into(),
            games: 10_000_000,
            seconds: 3_600,
            end_share: 0.2,
            apart: 10_000_000,
            checkpoint_every: 250_000,
            evaluate_every: 0,
            ..base
        },
    },
    Preset {
        name: "alone",
        summary: "an hour: the same without endgame tables, up to 32768 itself (scripts/late FOLDER SECONDS alone); after six minutes of it 42% of games \
                  from a sum of 30752 on come to 32768 at depth 2",
        settings: |base| TdConfig {
            patterns: "8x6".into(),
            stages: vec![20480, 24576, 28672, 30720, 31744, 32256, 32512],
            stages_by: BY[1].into(),
            goal: 32768,
            initial: 10_000.0,
            pass: 0.2,
            games: 1_000_000_000,
            seconds: 3_600,
            end_share: 0.2,
            apart: 1_000_000_000,
            checkpoint_every: 5_000_000,
            evaluate_every: 0,
            block: 4_000,
            ..base
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// What a run folder keeps of a preset can be read again: a run can be resumed.
    #[test]
    fn presets_can_be_kept() {
        for preset in PRESETS {
            let config = (preset.settings)(TdConfig::new());
            let kept = toml::to_string(&config).unwrap();
            assert_eq!(toml::from_str::<TdConfig>(&kept).unwrap(), config, "{}", preset.name);
            // Whose files of positions are not there yet.
            let starts = if config.goal == 0 { String::new() } else { "starts.txt".into() };
            assert_eq!(TdConfig { starts, ..config }.check(), Ok(()), "{}", preset.name);
        }
    }
}
