//! Evaluators that know one corner only, in games whose large tiles lie in another: the board is turned before it is shown to the agent.

use afterstate_board::{Afterstate, Direction, Position, Rng, Spawn, Symmetry};
use afterstate_evaluator::{BoxedEvaluator, Evaluator, SpecError};

use crate::{Agent, BoxedAgent, Budget, Decision, MakeEvaluator, TableReport};

struct Facing<P: Position> {
    agent: BoxedAgent<P>,
    judge: BoxedEvaluator<P>,
    /// How boards are turned. A game that begins with nothing is not turned, and one that was turned stays so: only large tiles in another
    /// corner, more than the evaluator's clear margin, change it.
    symmetry: Symmetry,
}

/// The agent, shown boards as its evaluator likes them best if that judges images of a board differently.
pub(crate) fn around<P: Position>(
    evaluator: MakeEvaluator<'_, P>,
    agent: BoxedAgent<P>,
) -> Result<BoxedAgent<P>, SpecError> {
    let judge = evaluator()?;
    let symmetry = Symmetry::IDENTITY;
    Ok(if judge.is_one_sided() { Box::new(Facing { agent, judge, symmetry }) } else { agent })
}

impl<P: Position> Facing<P> {
    fn turn(&mut self, position: &P) -> P {
        let value = |symmetry| self.judge.value(&Afterstate::new(position.transformed(symmetry)));
        let mut best = (self.symmetry, value(self.symmetry) + self.judge.care().margin);
        for &symmetry in Symmetry::of_shape(P::ROWS, P::COLUMNS) {
            let value = value(symmetry);
            best = if value > best.1 { (symmetry, value) } else { best };
        }
        self.symmetry = best.0;
        position.transformed(self.symmetry)
    }

    /// What was said about the moves of the turned board, by the directions of the original.
    fn turned_back<T: Copy>(&self, moves: [T; 4]) -> [T; 4] {
        std::array::from_fn(|i| moves[self.symmetry.direction(Direction::from_index(i)).index()])
    }
}

impl<P: Position> Agent<P> for Facing<P> {
    fn decide(&mut self, position: &P, budget: &Budget, rng: &mut Rng) -> Decision {
        let turned = self.turn(position);
        let decision = self.agent.decide(&turned, budget, rng);
        if self.symmetry == Symmetry::IDENTITY {
            return decision;
        }
        let success = |table: TableReport| TableReport { success: self.turned_back(table.success), ..table };
        Decision {
            direction: decision.direction.map(|direction| self.symmetry.inverse().direction(direction)),
            values: self.turned_back(decision.values),
            visits: self.turned_back(decision.visits),
            table: decision.table.map(success),
            ..decision
        }
    }

    fn new_game(&mut self) {
        self.symmetry = Symmetry::IDENTITY;
        self.agent.new_game();
    }

    fn line(&mut self, position: &P, decision: &Decision) -> Vec<(Direction, Option<Spawn>)> {
        let (there, back) = (self.symmetry, self.symmetry.inverse());
        let direction = decision.direction.map(|direction| there.direction(direction));
        let line = self.agent.line(&position.transformed(there), &Decision { direction, ..decision.clone() });
        let cell = |s: Spawn| Spawn { cell: back.cell(usize::from(s.cell), P::ROWS, P::COLUMNS) as u8, ..s };
        line.into_iter().map(|(direction, spawn)| (back.direction(direction), spawn.map(cell))).collect()
    }

    fn unit(&self) -> &'static str {
        self.agent.unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, build_from_text};
    use afterstate_board::Board;

    const SPEC: &str = "expectimax:depth=2,eval=corner";
    const LATE: &str = "4096 512 64 8 / 1024 128 16 2 / 32 4 2 0 / 2 0 0 0";

    #[test]
    fn every_image_of_a_board_is_judged_alike() {
        let board: Board = LATE.parse().unwrap();
        let decide = |board: &Board| {
            let mut agent = build_from_text::<Board>(SPEC, &Context::default()).unwrap();
            let decision = agent.decide(board, &Budget::OWN, &mut Rng::new(1));
            let line = agent.line(board, &decision);
            (decision, line)
        };
        let (plain, line) = decide(&board);
        for symmetry in Symmetry::ALL {
            let image = board.transformed(symmetry);
            let (turned, turned_line) = decide(&image);
            for direction in Direction::ALL {
                let there = symmetry.direction(direction);
                let (a, b) = (plain.values[direction.index()], turned.values[there.index()]);
                assert!(a.zip(b).map_or(a == b, |(a, b)| (a - b).abs() < 1e-6 * a.abs()), "{symmetry:?} {direction}");
            }
            assert_eq!(turned_line.len(), line.len());
            let mut at = image;
            for (direction, spawn) in turned_line {
                let slide = at.slide(direction).expect("a legal move");
                if let Some(spawn) = spawn {
                    at = slide.after.try_place(spawn).expect("an empty cell");
                }
            }
        }
    }

    #[test]
    fn a_game_is_turned_only_for_large_tiles_and_then_stays_so() {
        let board: Board = LATE.parse().unwrap();
        let judge = || afterstate_evaluator::build("corner".parse().as_ref().unwrap());
        let agent = build_from_text::<Board>("expectimax:depth=0,eval=corner", &Context::default()).unwrap();
        let mut facing = Facing { agent, judge: judge().unwrap(), symmetry: Symmetry::IDENTITY };
        assert_eq!(facing.turn(&board), board);
        let small: Board = "0 0 0 2 / 0 0 0 2 / 0 0 4 64 / 0 2 16 128".parse().unwrap();
        assert_eq!(facing.turn(&small), small);
        let image = board.transformed(Symmetry::ALL[3]);
        assert_eq!(facing.turn(&image), board);
        assert_eq!(facing.symmetry, Symmetry::ALL[3]);
        assert_eq!(facing.turn(&small), small.transformed(Symmetry::ALL[3]));
    }
}
