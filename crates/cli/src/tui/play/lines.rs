//! `play` without a screen: words in, boards out. For pipes, screen readers and programs that play.

use std::io::{BufRead, Write};

use afterstate_agent::{BoxedAgent, Decision};
use afterstate_arena::stream;
use afterstate_board::{Direction, Position, Rng, notation};
use serde::Serialize;

use super::state::{Moved, State, goal};
use super::thinker::advise;
use crate::tui::panel::{compact, grouped};
use crate::tui::text::{self, MoveValues};

const HELP: &str =
    "left right up down (or l r u d), undo, redo, hint, new, board, help, quit; several words on a line are fine";

/// The state of the game as one JSON object.
#[derive(Serialize)]
struct Report {
    size: String,
    seed: u64,
    game: u64,
    board: String,
    score: u64,
    moves: usize,
    max_tile: u64,
    legal: Vec<&'static str>,
    over: bool,
    /// True in the last object.
    end: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<Hint>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<String>,
}

/// What the agent would play.
#[derive(Clone, Serialize)]
struct Hint {
    direction: Option<&'static str>,
    values: MoveValues,
}

/// Does the rest of the line count?
enum Next {
    Word,
    Line,
    Quit,
}

/// A game played in words.
pub struct Lines<'a, P: Position> {
    pub state: &'a mut State<P>,
    pub hint_agent: BoxedAgent<P>,
    pub label: &'a str,
    pub json: bool,
}

impl<P: Position> Lines<'_, P> {
    /// Reads to the end of the input, or to `quit`. Boards go to `out`, remarks to `remarks` (with `json`: all to `out`).
    pub fn run(mut self, mut input: impl BufRead, out: &mut dyn Write, remarks: &mut dyn Write) -> anyhow::Result<()> {
        let mut rng = Rng::stream(self.state.seed(), self.state.game(), stream::AGENT);
        if !self.json {
            let (size, seed) = (text::size::<P>(), self.state.seed());
            writeln!(remarks, "{size} board, seed {seed}, hints by {}. Words: {HELP}.", self.label)?;
        }
        self.show(out, None, Vec::new(), false)?;
        let mut line = Vec::new();
        loop {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let (mut messages, mut hint, mut is_quitting) = (Vec::new(), None, false);
            for word in String::from_utf8_lossy(&line).split_whitespace() {
                match self.obey(word, &mut rng, &mut hint, &mut messages) {
                    Next::Word => {}
                    Next::Line => break,
                    Next::Quit => {
                        is_quitting = true;
                        break;
                    }
                }
            }
            if is_quitting {
                break;
            }
            if !self.json {
                messages.drain(..).try_for_each(|message| writeln!(remarks, "{message}"))?;
            }
            self.show(out, hint, messages, false)?;
        }
        self.show(out, None, Vec::new(), true)
    }

    fn obey(&mut self, word: &str, rng: &mut Rng, hint: &mut Option<Hint>, messages: &mut Vec<String>) -> Next {
        let lower = word.to_ascii_lowercase();
        let remark = match lower.as_str() {
            "quit" | "exit" | "q" => return Next::Quit,
            "help" | "?" => Some(format!("words: {HELP}")),
            "board" => None,
            "undo" => (!self.state.undo()).then(|| "nothing to undo".to_owned()),
            "redo" => (!self.state.redo()).then(|| "nothing to redo".to_owned()),
            "new" => {
                self.state.new_game();
                None
            }
            "hint" => {
                let decision = advise(&mut self.hint_agent, self.state.live().position(), rng);
                if self.json {
                    let (direction, values) = (decision.direction.map(Direction::name), decision.values.into());
                    *hint = Some(Hint { direction, values });
                } else {
                    messages.push(hint_text(&decision, self.hint_agent.unit()));
                }
                None
            }
            _ => match lower.parse::<Direction>() {
                Ok(direction) => return self.slide(direction, messages),
                // Escaped, since it may hold anything.
                Err(_) => {
                    let shown: String = word.chars().take(20).flat_map(char::escape_debug).collect();
                    messages.push(format!("'{shown}' is not a word I know; help lists them"));
                    return Next::Line;
                }
            },
        };
        messages.extend(remark);
        Next::Word
    }

    /// After a move that cannot be made the rest of the line was meant for another board.
    fn slide(&mut self, direction: Direction, messages: &mut Vec<String>) -> Next {
        match self.state.slide(direction) {
            Moved::Yes => return Next::Word,
            Moved::Goal => {
                messages.push(format!("{}! Well done. You can go on.", 1u64 << goal::<P>()));
                return Next::Word;
            }
            Moved::Illegal => messages.push(format!("{direction} changes nothing")),
            Moved::Over => messages.push("the game is over: undo, new or quit".to_owned()),
        }
        Next::Line
    }

    fn show(&self, out: &mut dyn Write, hint: Option<Hint>, messages: Vec<String>, end: bool) -> anyhow::Result<()> {
        let live = self.state.live();
        let (position, score, moves) = (live.position(), live.score(), live.steps().len());
        let (max_tile, over) = (text::max_tile(position), live.is_over());
        if self.json {
            let legal = position.legal().iter().map(Direction::name).collect();
            let (size, board) = (text::size::<P>(), notation::digits(position, ""));
            let (seed, game) = (self.state.seed(), self.state.game());
            return text::json_line(
                out,
                &Report { size, seed, game, board, score, moves, max_tile, legal, over, end, hint, messages },
            );
        }
        let state = if over { ", game over" } else { "" };
        let line = format!("score {}, {}, max tile {max_tile}{state}", grouped(score), text::moves(moves as u64));
        if end {
            writeln!(out, "End: {line}, best {}", grouped(self.state.best().score()))?;
        } else {
            writeln!(out, "{}\n{line}\n", text::table(position))?;
        }
        Ok(out.flush()?)
    }
}

fn hint_text(decision: &Decision, unit: &str) -> String {
    let Some(best) = decision.direction else { return "no move is left".to_owned() };
    let known = Direction::ALL.into_iter().zip(compact(decision.values));
    let values: Vec<String> = known.filter_map(|(d, value)| Some(format!("{d} {}", value?))).collect();
    if values.is_empty() { format!("hint: {best}") } else { format!("hint: {best} ({}; {unit})", values.join(", ")) }
}

#[cfg(test)]
mod tests {
    use afterstate_agent::{Context, build_from_text};
    use afterstate_board::{Board, Grid, SpawnRule};

    use super::super::state::tests::state;
    use super::*;

    fn converse<P: Position>(input: &[u8], json: bool) -> (String, String) {
        let hint_agent = build_from_text("greedy", &Context { rule: SpawnRule::CLASSIC }).unwrap();
        let (mut out, mut remarks) = (Vec::new(), Vec::new());
        let mut state = state::<P>();
        let lines = Lines { state: &mut state, hint_agent, label: "greedy", json };
        lines.run(input, &mut out, &mut remarks).unwrap();
        (String::from_utf8(out).unwrap(), String::from_utf8(remarks).unwrap())
    }

    #[test]
    fn words_are_obeyed_and_the_end_of_input_is_the_end() {
        let (out, remarks) = converse::<Board>(b"left\nL up\nundo undo undo undo\nhint\nredo", false);
        assert_eq!(out.matches("score").count(), 7, "{out}");
        assert!(out.contains("End: score") && remarks.contains("nothing to undo") && remarks.contains("hint: "));
    }

    #[test]
    fn weird_input_gets_an_answer_and_the_game_goes_on() {
        let (out, remarks) =
            converse::<Board>(b"sideways up\n\xff\xfe\x1b[2J\n\n   \nup up up up up up up up up up up\n", false);
        assert!(remarks.contains("'sideways' is not a word I know"));
        assert!(remarks.contains("up changes nothing"), "{remarks}");
        assert!(!remarks.contains('\x1b'));
        assert!(out.contains("End: "));
    }

    #[test]
    fn quit_leaves_the_rest_unread() {
        let (out, _) = converse::<Board>(b"quit\nleft\nright\n", false);
        assert!(out.contains("End: score 0, 0 moves"), "{out}");
    }

    #[test]
    fn every_line_gets_one_json_object() {
        let (out, remarks) = converse::<Grid<2, 2>>(b"hint\nnonsense\nleft right up down\n", true);
        assert!(remarks.is_empty());
        let objects: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(objects.len(), 5);
        assert!(objects[1]["hint"]["direction"].is_string());
        assert!(objects[2]["messages"][0].as_str().unwrap().contains("nonsense"));
        assert_eq!((&objects[4]["end"], &objects[3]["end"]), (&true.into(), &false.into()));
        assert_eq!(objects[0]["size"], "2x2");
    }
}
