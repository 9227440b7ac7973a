//! One game as bytes, and back.

use afterstate_board::{Direction, Position, Spawn, SpawnRule};

use super::{Fault, MAX_PAYLOAD};
use crate::{Game, ReplayError, Step};

/// Index, score and seconds.
const FIXED: usize = 24;

/// How the steps of games on boards `P` by one rule are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codec {
    rule: SpawnRule,
    cells: usize,
    wide: bool,
}

impl Codec {
    pub fn new<P: Position>(rule: SpawnRule) -> Self {
        Self { rule, cells: P::CELLS, wide: 4 * P::CELLS * rule.len() > 256 }
    }

    const fn codes(&self) -> usize {
        4 * self.cells * self.rule.len()
    }

    const fn width(&self) -> usize {
        if self.wide { 2 } else { 1 }
    }

    fn code(&self, step: &Step) -> Option<u16> {
        let kind = self.rule.kind_of(step.spawn.exponent)?;
        let cell = usize::from(step.spawn.cell);
        let code = (step.direction.index() * self.cells + cell) * self.rule.len() + kind;
        (cell < self.cells).then_some(code as u16)
    }

    fn step(&self, code: u16) -> Option<Step> {
        let code = usize::from(code);
        let (place, kind) = (code / self.rule.len(), code % self.rule.len());
        let spawn = Spawn { cell: (place % self.cells) as u8, exponent: self.rule.kind(kind).0 };
        (code < self.codes()).then(|| Step { direction: Direction::from_index(place / self.cells), spawn })
    }

    /// The payload of a game, or what about the game cannot be written.
    pub fn encode<P: Position>(&self, game: &Game<P>) -> Result<Vec<u8>, String> {
        let length = FIXED + P::CELLS + game.steps.len() * self.width();
        if length > MAX_PAYLOAD as usize {
            return Err(format!("it has {} moves", game.steps.len()));
        }
        let mut bytes = Vec::with_capacity(length);
        bytes.extend(game.index.to_le_bytes());
        bytes.extend(game.score.to_le_bytes());
        bytes.extend(game.seconds.to_le_bytes());
        for cell in 0..P::CELLS {
            let exponent = game.start.exponent(cell);
            if exponent > P::MAX_EXPONENT {
                return Err(format!("cell {} of its start position holds exponent {exponent}", cell + 1));
            }
            bytes.push(exponent);
        }
        for (ply, step) in game.steps.iter().enumerate() {
            let Step { spawn, .. } = step;
            let code = self.code(step).ok_or_else(|| {
                let Spawn { cell, exponent } = spawn;
                format!("ply {}: exponent {exponent} in cell {cell} is not a spawn of rule {}", ply + 1, self.rule)
            })?;
            bytes.extend_from_slice(&code.to_le_bytes()[..self.width()]);
        }
        Ok(bytes)
    }

    /// The game of a payload, replayed and checked.
    pub fn decode<P: Position>(&self, payload: &[u8]) -> Result<Game<P>, Fault> {
        let impossible = || Fault::Length(payload.len() as u32);
        let (fixed, rest) = payload.split_first_chunk::<FIXED>().ok_or_else(impossible)?;
        let (cells, codes) = rest.split_at_checked(P::CELLS).ok_or_else(impossible)?;
        if codes.len() % self.width() != 0 {
            return Err(impossible());
        }
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| fixed[at + i]));
        let (index, score, seconds) = (number(0), number(8), f64::from_bits(number(16)));
        if !(seconds.is_finite() && seconds >= 0.0) {
            return Err(Fault::Seconds);
        }
        let mut start = P::empty();
        for (cell, &exponent) in cells.iter().enumerate() {
            if exponent > P::MAX_EXPONENT {
                return Err(Fault::Tile { cell: cell + 1, exponent });
            }
            start = start.with_exponent(cell, exponent);
        }
        let mut steps = Vec::with_capacity(codes.len() / self.width());
        for (ply, bytes) in codes.chunks_exact(self.width()).enumerate() {
            let code = bytes.iter().rev().fold(0, |code, &byte| code << 8 | u16::from(byte));
            steps.push(self.step(code).ok_or(Fault::Code { ply: ply + 1, code })?);
        }
        let game = Game::from_steps(index, start, steps, seconds)?;
        if game.score != score {
            return Err(ReplayError::Score { claimed: score, replayed: game.score }.into());
        }
        Ok(game)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::{Board, Grid};

    /// The width is the format: a record must not change it when a rule gains a kind.
    #[test]
    fn codes_take_a_byte_while_all_of_them_fit() {
        let rule = |text: &str| text.parse::<SpawnRule>().unwrap();
        assert_eq!(Codec::new::<Board>(SpawnRule::CLASSIC).width(), 1);
        assert_eq!(Codec::new::<Board>(rule("2:0.7,4:0.1,8:0.1,16:0.1")).width(), 1);
        assert_eq!(Codec::new::<Grid<5, 5>>(SpawnRule::CLASSIC).width(), 1);
        assert_eq!(Codec::new::<Grid<5, 5>>(rule("2:0.8,4:0.1,8:0.1")).width(), 2);
    }

    #[test]
    fn every_code_is_its_step() {
        for text in ["2:1", "2:0.9,4:0.1", "2:0.8,4:0.1,8:0.1", "8:0.7,4:0.1,2:0.1,16:0.1"] {
            let codec = Codec::new::<Grid<5, 5>>(text.parse().unwrap());
            for code in 0..codec.codes() as u16 {
                assert_eq!(codec.code(&codec.step(code).unwrap()), Some(code));
            }
            assert_eq!(codec.step(codec.codes() as u16), None);
        }
    }
}
