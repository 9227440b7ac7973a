//! A run whose numbers run away.

use afterstate_board::Board;

use super::*;
use crate::ppo::PpoConfig;

/// Learns nothing, and is no longer finite after its third block.
struct Runaway {
    games: u64,
    config: PpoConfig,
}

impl Learner<Board> for Runaway {
    type Config = PpoConfig;
    const AGENT: &'static str = "policy";

    fn course(config: &PpoConfig) -> Course {
        config.course.clone()
    }

    fn new(config: &PpoConfig) -> Result<Self, CourseError> {
        Ok(Self { games: 0, config: config.clone() })
    }

    fn load(config: &PpoConfig, _: &Path) -> Result<Self, CourseError> {
        Self::new(config)
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.games.to_le_bytes())
    }

    fn done(&self) -> (u64, u64) {
        (self.games, self.games)
    }

    fn block(&mut self) -> Result<Block, CourseError> {
        self.games += self.config.block;
        Ok(Block::default())
    }

    fn is_finite(&self) -> bool {
        self.games <= 2 * self.config.block
    }

    fn player(&self) -> io::Result<Arc<dyn Evaluator<Board>>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn evaluator(&self) -> &'static str {
        "lookup"
    }
}

#[test]
fn a_run_that_diverges_says_so_and_keeps_the_last_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut config = PpoConfig { block: 10, ..PpoConfig::new() };
    (config.course.checkpoint_every, config.course.evaluate_every) = (10, 0);
    let error = train::<Board, Runaway>(&out, Start::New(&config), &Stop::new(), |_| ()).unwrap_err();
    assert!(matches!(error, CourseError::Diverged { games: 30 }), "{error}");
    assert!(error.to_string().contains("lower the rates"));
    let kept = std::fs::read(out.join("checkpoints/step-20.safetensors")).unwrap();
    assert_eq!(kept, 20u64.to_le_bytes());
}
