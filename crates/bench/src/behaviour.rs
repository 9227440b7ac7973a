//! One number for behaviour: the rules, spawns, and games of every agent, evaluator and preset.

use crate::BenchError;
use afterstate_agent::{Context, build_from_text};
use afterstate_arena::{Setup, play_game};
use afterstate_board::{Board, Grid, Position, SpawnRule, board, notation, perft, playouts};

/// A running hash of whatever is fed to it (FNV-1a, 64 bits: small, stable, and no secret).
struct Hash(u64);

impl Hash {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }
}

/// The fingerprint as 16 hexadecimal digits.
pub fn fingerprint() -> Result<String, BenchError> {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    let rule = SpawnRule::CLASSIC;
    hash.number(perft(&board!(2 2 4 8 / 4 8 16 32 / 8 16 32 64 / 16 32 64 128), 5, &rule));
    hash.number(perft(&board!(32768 32768 16384 16384 / 0 0 0 0 / 65536 65536 2 2 / 32768 0 0 32768), 3, &rule));
    let random = playouts(1, 0..1_000, &rule);
    hash.number(random.moves);
    hash.number(random.score);
    // Perfect play knows small boards only, and some of them only where they have been solved.
    games::<Grid<2, 2>>("optimal", rule, 1_000, &mut hash)?;
    games::<Grid<2, 3>>("optimal", rule, 1_000, &mut hash)?;
    for row in afterstate_agent::rows::<Board>().iter().filter(|row| row.name != "optimal") {
        games::<Board>(row.name, rule, 1_000, &mut hash)?;
        games::<Grid<3, 3>>(row.name, rule, 1_000, &mut hash)?;
        games::<Grid<3, 4>>(row.name, "2:0.7,4:0.2,8:0.1".parse()?, 50, &mut hash)?;
    }
    for row in afterstate_evaluator::rows::<Board>().iter().filter(|row| !row.takes_file) {
        games::<Board>(&format!("greedy:eval={}", row.name), rule, 1_000, &mut hash)?;
    }
    for preset in afterstate_agent::presets() {
        games::<Board>(&format!("@{}", preset.name), rule, 30, &mut hash)?;
    }
    for variant in ["batch=true", "exact=true", "nodes=2000", "threads=2", "epsilon=0.1"] {
        games::<Board>(&format!("expectimax:{variant}"), rule, 30, &mut hash)?;
    }
    Ok(format!("{:016x}", hash.0))
}

/// Two games of one agent, as far as `moves` moves.
fn games<P: Position>(agent: &str, rule: SpawnRule, moves: u64, hash: &mut Hash) -> Result<(), BenchError> {
    let mut player = build_from_text::<P>(agent, &Context { rule })?;
    let setup = Setup { rule, move_limit: Some(moves), ..Setup::new(agent, 2048) };
    for index in 0..2 {
        let game = play_game(&mut *player, &setup, index, |_, decision| {
            decision.values.iter().flatten().for_each(|value| hash.number(value.to_bits()));
            std::ops::ControlFlow::Continue(())
        })?;
        hash.bytes(notation::digits(&game.last, "").as_bytes());
        hash.number(game.score);
        hash.number(game.moves());
    }
    Ok(())
}
