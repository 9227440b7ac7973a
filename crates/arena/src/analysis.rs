//! What an agent thinks of a position, as data: what `analyze --json` prints and the page's interface answers.

use std::collections::BTreeMap;

use afterstate_agent::Decision;
use afterstate_board::{Direction, Directions, Position, Spawn, notation};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A line of play: moves, each with the spawn expected after it.
pub type Line = [(Direction, Option<Spawn>)];

/// What an agent thinks of a position.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// The position, as digits without separators.
    pub board: String,
    /// The agent's specification.
    pub agent: String,
    /// What the values mean.
    pub unit: String,
    /// The move the agent would make; `None` if the game is over.
    pub best: Option<&'static str>,
    /// The four moves by name, in the order of [`Direction::ALL`].
    #[serde(serialize_with = "in_order")]
    pub moves: BTreeMap<usize, MoveReport>,
    /// Slides examined.
    pub nodes: u64,
    /// Spawns looked ahead.
    pub depth: u32,
    /// Time taken.
    pub ms: f64,
    /// What the agent expects to happen.
    pub line: Vec<Expected>,
    /// How the leaves were judged, if in batches.
    pub batch: Option<Value>,
    /// What an endgame table said, if one decided: which one, and how often its goal is reached after each move.
    pub table: Option<Value>,
}

/// One of the four moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MoveReport {
    /// Does it change the board?
    pub legal: bool,
    /// What it is worth to the agent.
    pub value: Option<f64>,
    /// How often a sampling search tried it.
    pub visits: u64,
}

/// One step of the line that an agent expects.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// The move.
    #[serde(rename = "move")]
    pub direction: &'static str,
    /// A typical spawn after it.
    pub spawn: Option<Value>,
}

fn in_order<S: serde::Serializer>(moves: &BTreeMap<usize, MoveReport>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(moves.iter().map(|(index, report)| (Direction::from_index(*index).name(), report)))
}

/// The four moves of a decision, by direction index.
fn moves_of(legal: Directions, decision: &Decision) -> BTreeMap<usize, MoveReport> {
    let report = |d: Direction| {
        let i = d.index();
        (i, MoveReport { legal: legal.contains(d), value: decision.values[i], visits: decision.visits[i] })
    };
    Direction::ALL.into_iter().map(report).collect()
}

impl Analysis {
    /// Puts together what was found on a board.
    pub fn of<P: Position>(board: &P, agent: &str, unit: &str, decision: &Decision, line: &Line, ms: f64) -> Self {
        Self::found(notation::digits(board, ""), board.legal(), agent, unit, decision, line, ms)
    }

    /// The same, for all types of boards.
    fn found(
        board: String,
        legal: Directions,
        agent: &str,
        unit: &str,
        decision: &Decision,
        line: &Line,
        ms: f64,
    ) -> Self {
        let spawn = |s: Spawn| json!({"cell": s.cell, "tile": 1u64 << s.exponent});
        Self {
            board,
            agent: agent.to_owned(),
            unit: unit.to_owned(),
            best: decision.direction.map(Direction::name),
            moves: moves_of(legal, decision),
            nodes: decision.nodes,
            depth: decision.depth,
            ms,
            line: line.iter().map(|(d, s)| Expected { direction: d.name(), spawn: s.map(spawn) }).collect(),
            batch: decision.batch.map(|b| json!({"leaves": b.leaves, "hit_rate": b.hit_rate()})),
            table: decision.table.map(|table| {
                let success = Direction::ALL.map(|d| (d.name(), json!(table.success[d.index()])));
                json!({"pattern": table.pattern.to_string(), "success": BTreeMap::from(success)})
            }),
        }
    }

    /// The four moves of a decision as a JSON object by name: the part of an analysis that is shown while a game runs.
    pub fn moves_json<P: Position>(board: &P, decision: &Decision) -> Value {
        let named = moves_of(board.legal(), decision)
            .into_iter()
            .map(|(index, report)| (Direction::from_index(index).name().to_owned(), json!(report)));
        Value::Object(named.collect::<Map<_, _>>())
    }
}
