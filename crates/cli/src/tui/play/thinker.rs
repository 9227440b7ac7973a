//! Hints from a thread of their own: an agent may think for long, the player need not wait for it.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use afterstate_agent::{BoxedAgent, Budget, Decision};
use afterstate_board::{Position, Rng};

use crate::tui::screen::THINKER;

/// Answers what it would play, for the latest position asked about.
pub struct Thinker<P> {
    questions: Sender<P>,
    answers: Receiver<(P, Decision)>,
    /// The position being thought about.
    pending: Option<P>,
}

/// How a question stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Nothing was asked, or nothing has changed.
    Nothing,
    /// The agent's advice for the position last asked about.
    Found(Decision),
    /// The agent's thread has died.
    Failed,
}

impl<P: Position> Thinker<P> {
    /// Starts the thread. All draws come from `rng`.
    pub fn start(mut agent: BoxedAgent<P>, mut rng: Rng) -> std::io::Result<Self> {
        let (questions, inbox) = channel::<P>();
        let (outbox, answers) = channel();
        let think = move || {
            while let Ok(first) = inbox.recv() {
                // Only the last question still matters.
                let position = inbox.try_iter().last().unwrap_or(first);
                let decision = advise(&mut agent, &position, &mut rng);
                if outbox.send((position, decision)).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name(THINKER.to_owned()).spawn(think)?;
        Ok(Self { questions, answers, pending: None })
    }

    /// Asks about a position; an answer about an earlier one is no longer of interest.
    pub fn ask(&mut self, position: P) {
        if self.pending != Some(position) {
            self.pending = Some(position);
            // If the thread is gone, the next poll says so.
            let _ = self.questions.send(position);
        }
    }

    /// Forgets the question.
    pub fn forget(&mut self) {
        self.pending = None;
    }

    /// Is an answer still to come?
    pub fn is_thinking(&self) -> bool {
        self.pending.is_some()
    }

    /// The answer, once it is there.
    pub fn poll(&mut self) -> Answer {
        loop {
            match self.answers.try_recv() {
                Ok((position, decision)) if self.pending == Some(position) => {
                    self.pending = None;
                    return Answer::Found(decision);
                }
                Ok(_) => {}
                Err(TryRecvError::Disconnected) if self.pending.take().is_some() => return Answer::Failed,
                Err(_) => return Answer::Nothing,
            }
        }
    }
}

/// Asks an agent about a position that need not follow from the one before.
pub fn advise<P: Position>(agent: &mut BoxedAgent<P>, position: &P, rng: &mut Rng) -> Decision {
    agent.new_game();
    agent.decide(position, &Budget::OWN, rng)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use afterstate_agent::{Agent, Context, build_from_text};
    use afterstate_board::{Grid, SpawnRule, board};

    use super::*;

    type Small = Grid<2, 2>;

    fn wait(thinker: &mut Thinker<Small>) -> Answer {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            match thinker.poll() {
                Answer::Nothing => thread::sleep(Duration::from_millis(1)),
                answer => return answer,
            }
        }
        panic!("no answer");
    }

    #[test]
    fn the_last_question_is_answered() {
        let agent = build_from_text("greedy", &Context { rule: SpawnRule::CLASSIC }).unwrap();
        let mut thinker = Thinker::start(agent, Rng::new(1)).unwrap();
        assert_eq!(thinker.poll(), Answer::Nothing);
        thinker.ask(board!(Small: 2 0 / 0 4));
        thinker.ask(board!(Small: 64 64 / 2 4));
        let Answer::Found(decision) = wait(&mut thinker) else { panic!("no decision") };
        assert!(decision.direction.unwrap().is_horizontal());
        assert!(!thinker.is_thinking());
        thinker.ask(board!(Small: 2 0 / 0 4));
        thinker.forget();
        assert!(!thinker.is_thinking());
    }

    #[test]
    fn a_dead_agent_is_noticed() {
        struct Broken;
        impl<P: Position> Agent<P> for Broken {
            fn decide(&mut self, _: &P, _: &Budget, _: &mut Rng) -> Decision {
                panic!("out of ideas")
            }

            fn unit(&self) -> &'static str {
                "nothing"
            }
        }
        let mut thinker = Thinker::start(Box::new(Broken), Rng::new(1)).unwrap();
        thinker.ask(board!(Small: 2 0 / 0 4));
        assert_eq!(wait(&mut thinker), Answer::Failed);
        thinker.ask(board!(Small: 2 0 / 2 4));
        assert_eq!(wait(&mut thinker), Answer::Failed);
    }
}
