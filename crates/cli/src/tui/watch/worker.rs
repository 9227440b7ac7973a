//! The thread that plays while the screen is drawn and keys are read: thinking may take long, a key press may not wait for it.
//! The agent is wrapped so that the arena's own game loop runs at the speed, and in the steps, that the keys ask for.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use afterstate_agent::{Agent, BoxedAgent, Budget, Decision};
use afterstate_arena::{PlayError, Ply, Setup, play_game};
use afterstate_board::{Position, Rng};

use super::desk::{Desk, Thought};
use crate::tui::screen::THINKER;

/// An agent that shows what it thinks, and moves when it may.
struct Watched<P: Position> {
    agent: BoxedAgent<P>,
    desk: Arc<Desk<P>>,
    last_move: Instant,
}

impl<P: Position> Agent<P> for Watched<P> {
    fn decide(&mut self, position: &P, budget: &Budget, rng: &mut Rng) -> Decision {
        self.desk.publish(|moment| {
            moment.position = *position;
            moment.thinking = Some(Instant::now());
        });
        let decision = self.agent.decide(position, budget, rng);
        self.desk.publish(|moment| {
            let number = moment.moves + 1;
            moment.thought = Some(Thought { decision: decision.clone(), legal: position.legal(), number });
            moment.thinking = None;
        });
        self.last_move = self.desk.wait_for_turn(self.last_move);
        decision
    }

    fn new_game(&mut self) {
        self.agent.new_game();
    }

    fn unit(&self) -> &'static str {
        self.agent.unit()
    }
}

/// Starts to play. The thread ends when it is told to quit or when the agent breaks its contract.
pub fn start<P: Position>(
    agent: BoxedAgent<P>,
    setup: Setup,
    desk: Arc<Desk<P>>,
) -> std::io::Result<JoinHandle<Result<(), PlayError>>> {
    let mut game = desk.look().1.game;
    let play = move || {
        let mut watched = Watched { agent, desk: Arc::clone(&desk), last_move: Instant::now() };
        loop {
            desk.publish(|moment| moment.begin(game));
            let observer = |ply: &Ply<P>, _: &Decision| {
                let mut state = desk.lock();
                state.1.follow(ply);
                if state.0.is_leaving() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let finished = play_game(&mut watched, &setup, game, observer)?;
            desk.publish(|moment| {
                moment.position = finished.last;
                moment.is_over = finished.is_over();
            });
            match desk.wait_for_game() {
                Some(next) => game = next,
                None => return Ok(()),
            }
        }
    };
    thread::Builder::new().name(THINKER.to_owned()).spawn(play)
}

#[cfg(test)]
pub mod tests {
    use std::time::Duration;

    use afterstate_board::{Grid, SpawnRule};

    use super::super::desk::{Control, Moment};
    use super::*;
    use crate::tui::speed::Speed;

    pub type Small = Grid<2, 2>;

    /// Plays the first legal move.
    pub struct First;

    impl<P: Position> Agent<P> for First {
        fn decide(&mut self, position: &P, _: &Budget, _: &mut Rng) -> Decision {
            Decision { direction: position.legal().iter().next(), ..Decision::default() }
        }

        fn unit(&self) -> &'static str {
            "nothing"
        }
    }

    struct Stuck;

    impl<P: Position> Agent<P> for Stuck {
        fn decide(&mut self, _: &P, _: &Budget, _: &mut Rng) -> Decision {
            Decision::default()
        }

        fn unit(&self) -> &'static str {
            "nothing"
        }
    }

    pub fn setup() -> Setup {
        Setup { rule: SpawnRule::CLASSIC, ..Setup::new("first", 1) }
    }

    /// Waits for the worker; a test that never gets there fails.
    pub fn until<P: Position>(desk: &Desk<P>, done: impl Fn(&Moment<P>) -> bool) -> Moment<P> {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            let moment = desk.look().1;
            if done(&moment) {
                return moment;
            }
            thread::sleep(Duration::from_millis(1));
        }
        panic!("the worker did not get there: {:?}", desk.look());
    }

    fn paused() -> Arc<Desk<Small>> {
        Arc::new(Desk::new(Control { is_paused: true, ..Control::new(Speed::FULL) }, 3))
    }

    #[test]
    fn a_step_is_one_move_and_the_thought_comes_first() {
        let desk = paused();
        let worker = start(Box::new(First), setup(), Arc::clone(&desk)).unwrap();
        let moment = until(&desk, |m| m.thought.is_some());
        assert_eq!((moment.moves, moment.game, moment.thought.unwrap().number), (0, 3, 1));
        desk.ask(|control, _| control.steps = 1);
        let moment = until(&desk, |m| m.thought.as_ref().is_some_and(|t| t.number == 2));
        assert_eq!(moment.moves, 1);
        thread::sleep(Duration::from_millis(20));
        assert_eq!(desk.look().1.moves, 1);
        desk.ask(|control, _| control.is_quitting = true);
        worker.join().unwrap().unwrap();
    }

    #[test]
    fn it_plays_the_game_that_the_arena_plays() {
        let desk = paused();
        let worker = start(Box::new(First), setup(), Arc::clone(&desk)).unwrap();
        desk.ask(|control, _| control.is_paused = false);
        let moment = until(&desk, |m| m.is_over);
        let game = play_game::<Small, _>(&mut First, &setup(), 3, |_, _| ControlFlow::Continue(())).unwrap();
        assert_eq!((moment.score, moment.moves, moment.position), (game.score, game.moves(), game.last));
        desk.ask(|control, moment| control.next_game = Some(moment.game + 1));
        let next = until(&desk, |m| m.game == 4 && m.is_over);
        assert_eq!(next.total_moves, moment.moves + next.moves);
        desk.ask(|control, _| control.is_quitting = true);
        worker.join().unwrap().unwrap();
    }

    #[test]
    fn a_new_game_interrupts_a_paused_one() {
        let desk = paused();
        let worker = start(Box::new(First), setup(), Arc::clone(&desk)).unwrap();
        until(&desk, |m| m.thought.is_some());
        desk.ask(|control, _| control.next_game = Some(9));
        let moment = until(&desk, |m| m.game == 9 && m.thought.is_some());
        assert_eq!((moment.moves, moment.score, moment.last), (0, 0, None));
        desk.ask(|control, _| control.is_quitting = true);
        worker.join().unwrap().unwrap();
    }

    #[test]
    fn a_slow_speed_waits_between_moves() {
        let desk = Arc::new(Desk::<Small>::new(Control::new("50".parse().unwrap()), 0));
        let began = Instant::now();
        let worker = start(Box::new(First), setup(), Arc::clone(&desk)).unwrap();
        until(&desk, |m| m.moves >= 3);
        assert!(began.elapsed() >= Duration::from_millis(60));
        desk.ask(|control, _| control.is_quitting = true);
        worker.join().unwrap().unwrap();
    }

    #[test]
    fn an_agent_that_breaks_its_contract_ends_the_thread_with_a_reason() {
        let desk = Arc::new(Desk::<Small>::new(Control::new(Speed::FULL), 0));
        let error = start(Box::new(Stuck), setup(), desk).unwrap().join().unwrap().unwrap_err();
        assert!(error.to_string().contains("chose no move"), "{error}");
    }
}
