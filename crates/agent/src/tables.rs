//! Endgame tables around a search. Where a table knows a way to line up the next large tile that succeeds often enough, its move is
//! played; everywhere else the search decides, and brings the large tiles to where the tables know them. While there are few large tiles, and
//! their places hardly matter, a search on learned values plays.

use std::path::Path;
use std::sync::Arc;

use afterstate_board::{Direction, Position, Rng, Slides, Spawn};
use afterstate_evaluator::ntuple::{self, Chance};
use afterstate_evaluator::tables::{self, Advice, Corrected, Tables};
use afterstate_evaluator::{BoxedEvaluator, Evaluator, Kind, Parameter, Settings, SpecError};

use crate::{
    Agent, AgentRow, BoxedAgent, Budget, Context, Decision, TableReport, build_from_text, build_with, expectimax,
    facing,
};

struct WithTables<P: Position> {
    search: BoxedAgent<P>,
    tables: Arc<Tables>,
    evaluator: BoxedEvaluator<P>,
    /// How often a table's way must succeed, beside five large tiles and beside six.
    least: [f32; 2],
    /// How far ahead a search looks before a table's move is played; `None`: not at all.
    check: Option<u32>,
    /// Who plays while there are few large tiles.
    opening: Option<Opening<P>>,
    /// Who plays between the tables where a learned chance is known.
    late: Option<Late<P>>,
    /// Who decided last.
    last: Who,
}

/// Who decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Opening,
    Late,
    Search,
}

/// A search on the learned chance of a tile, from a half of it on.
struct Late<P: Position> {
    search: BoxedAgent<P>,
    chance: Chance,
}

impl<P: Position> Late<P> {
    /// Where its network knows how to go on. One that was learned beside tables has learned nothing of the wall, where they play.
    fn plays(&self, position: &P) -> bool {
        self.chance.knows(position) && !self.chance.ends(position)
    }

    /// Where tables know a way it is followed; but where it is the last to the goal, only if the search finds nothing that is more likely.
    fn decide(&mut self, position: &P, advice: Option<&Advice<'_>>, budget: &Budget, rng: &mut Rng) -> Decision {
        Evaluator::<P>::look_from(&mut self.chance, position);
        let Some(advice) = advice else { return self.search.decide(position, budget, rng) };
        let followed = decision(&self.chance, &position.slides(), advice);
        let Some(promised) = self.chance.promised(position, advice) else { return followed };
        let searched = self.search.decide(position, budget, rng);
        let found = searched.direction.and_then(|direction| searched.values[direction.index()]);
        if found.is_some_and(|found| found > f64::from(promised)) { searched } else { followed }
    }
}

/// The table's decision, in the search's unit: what the best move keeps as often as it succeeds, and a lost game as often as it
/// does not. Of moves that leave the table it has nothing to say; those that look alike to it are told apart by the evaluator.
fn decision<P: Position>(
    evaluator: &dyn Evaluator<P>,
    slides: &Slides<P>,
    Advice { table, failures, .. }: &Advice<'_>,
) -> Decision {
    let worth = evaluator.slide_values(slides);
    let worse = |&a: &Direction, &b: &Direction| {
        let (a, b) = (a.index(), b.index());
        failures[b].total_cmp(&failures[a]).then(worth[a].total_cmp(&worth[b]))
    };
    let direction = slides.legal.iter().max_by(worse);
    let kept = direction.map_or(0.0, |direction| f64::from(worth[direction.index()]));
    let lost = f64::from(evaluator.scale().lost);
    let known =
        |i: usize| (slides.legal.contains(Direction::from_index(i)) && failures[i] < 1.0).then_some(failures[i]);
    let values = |i| known(i).map(|failure| kept + f64::from(failure) * (lost - kept));
    let success = std::array::from_fn(|i| known(i).map(|failure| 1.0 - failure));
    let table = Some(TableReport { pattern: table.pattern(), success });
    Decision { direction, values: std::array::from_fn(values), nodes: 4, table, ..Decision::default() }
}

/// Another search, for boards with few large tiles: what the tables know does not matter yet.
struct Opening<P: Position> {
    search: BoxedAgent<P>,
    until: u8,
}

impl<P: Position> Opening<P> {
    /// Before the tile is there, and later while no second one is at least half as large (what is being built then is far from the
    /// block) or the largest is in no corner, where the tables' search would try nothing else than to bring it back.
    fn plays(&self, position: &P) -> bool {
        let largest = position.max_exponent();
        let large = (0..P::CELLS).filter(|&cell| position.exponent(cell) + 1 >= self.until).count();
        let mut corners = [0, P::COLUMNS - 1, P::CELLS - P::COLUMNS, P::CELLS - 1].into_iter();
        largest < self.until || large < 2 || !corners.any(|cell| position.exponent(cell) == largest)
    }
}

impl<P: Position> WithTables<P> {
    fn new(
        search: BoxedAgent<P>,
        tables: Arc<Tables>,
        evaluator: BoxedEvaluator<P>,
        opening: Option<Opening<P>>,
        late: Option<Late<P>>,
        settings: &Settings,
    ) -> Self {
        let least = ["five", "six"].map(|name| settings.number(name) as f32);
        let check = settings.optional("check").map(|depth| depth as u32);
        Self { search, tables, evaluator, least, check, opening, late, last: Who::Search }
    }

    fn who(&self, position: &P) -> Who {
        if self.late.as_ref().is_some_and(|late| late.plays(position)) {
            Who::Late
        } else if self.opening.as_ref().is_some_and(|opening| opening.plays(position)) {
            Who::Opening
        } else {
            Who::Search
        }
    }

    /// Does a shallow search find the table's move clearly worse than another?
    fn is_doubtful(&mut self, decision: &Decision, position: &P, rng: &mut Rng) -> bool {
        let Some(check) = self.check else { return false };
        // A bound on nodes, even one that is out of reach, keeps the search from going deeper where there is little to search.
        let shallow = Budget { depth: Some(check), nodes: Some(u64::MAX), time: None };
        let Decision { direction: best, values, .. } = self.search.decide(position, &shallow, rng);
        let value = |direction: Option<Direction>| direction.and_then(|direction| values[direction.index()]);
        let behind = value(best).zip(value(decision.direction)).map_or(0.0, |(best, own)| best - own);
        behind > f64::from(self.evaluator.care().margin)
    }
}

impl<P: Position> Agent<P> for WithTables<P> {
    fn decide(&mut self, position: &P, budget: &Budget, rng: &mut Rng) -> Decision {
        self.last = self.who(position);
        if let (Who::Opening, Some(opening)) = (self.last, &mut self.opening) {
            return opening.search.decide(position, budget, rng);
        }
        let slides = position.slides();
        let advice = self.tables.advice(position, &slides, self.least);
        if let (Who::Late, Some(late)) = (self.last, &mut self.late) {
            return late.decide(position, advice.as_ref(), budget, rng);
        }
        let advised = advice.map(|advice| decision(&self.evaluator, &slides, &advice));
        match advised {
            Some(decision) if !self.is_doubtful(&decision, position, rng) => decision,
            _ => self.search.decide(position, budget, rng),
        }
    }

    fn new_game(&mut self) {
        self.search.new_game();
        self.opening.iter_mut().for_each(|opening| opening.search.new_game());
        self.late.iter_mut().for_each(|late| late.search.new_game());
    }

    fn line(&mut self, position: &P, decision: &Decision) -> Vec<(Direction, Option<Spawn>)> {
        match (self.last, &mut self.opening, &mut self.late) {
            (Who::Opening, Some(opening), _) => opening.search.line(position, decision),
            (Who::Late, _, Some(late)) => late.search.line(position, decision),
            _ => self.search.line(position, decision),
        }
    }

    /// That of the last decision.
    fn unit(&self) -> &'static str {
        match (self.last, &self.opening, &self.late) {
            (Who::Opening, Some(opening), _) => opening.search.unit(),
            (Who::Late, _, Some(late)) => late.search.unit(),
            _ => self.search.unit(),
        }
    }
}

/// How often a way must succeed to be taken, beside five large tiles and beside six.
pub const LEAST: [f64; 2] = [0.9, 0.01];

const OWN: [Parameter; 12] = [
    tables::SET,
    Parameter::number("five", "how often a way beside five large tiles must succeed to be taken", LEAST[0], 0.0, 1.0),
    Parameter::number("six", "how often a way beside six large tiles must succeed to be taken", LEAST[1], 0.0, 1.0),
    Parameter::optional(
        "check",
        "spawns that a search looks ahead before a table's move is played: it must not find the move clearly worse; unset: no search",
        0,
        8,
    ),
    Parameter {
        name: "opening",
        summary: "what judges boards in the opening; none: the same as later (as on boards that are not 4x4)",
        kind: Kind::Choice { default: "champion", options: &["none", "champion"] },
    },
    Parameter::optional(
        "opening_depth",
        "spawns to look ahead in the opening; unset: as long as the other search may take, else 2, or 3 from a depth of 4 on",
        0,
        8,
    ),
    Parameter::optional(
        "opening_effort",
        "slides to examine in the opening: from that depth on deeper by one spawn until so many were; unset: no deeper",
        1,
        u64::MAX,
    ),
    Parameter::integer(
        "until",
        "the opening's search plays until this tile and its half are there, and again while a larger one has no second of that half beside it, or is in no corner",
        16384,
        4,
        65536,
    ),
    Parameter {
        name: "late",
        summary: "the network whose chances judge boards between the tables from a half of its goal on: shipped: the one that comes with the program (3.5 GB of memory; learned beside the set large; no gain seen with small, refused with fewer tables); a file: one of `afterstate train td --preset late`; none: no such",
        kind: Kind::Text { default: NO_NETWORK, form: "shipped, a file, or none" },
    },
    Parameter::optional(
        "late_depth",
        "spawns to look ahead there; unset: as long as the other search may take, else 2, or 3 from a depth of 4 on",
        0,
        8,
    ),
    Parameter::optional(
        "late_effort",
        "slides to examine there: from that depth on deeper by one spawn until so many were; unset: no deeper",
        1,
        u64::MAX,
    ),
    Parameter {
        name: "leaves",
        summary: "ask the tables at the horizon of the search too",
        kind: Kind::Switch { default: false },
    },
];

/// The parameters of the search, with defaults that suit the tables, and those of the tables.
const PARAMETERS: [Parameter; SEARCH.len() + OWN.len()] = {
    let mut all = [OWN[0]; SEARCH.len() + OWN.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < SEARCH.len() { SEARCH[i] } else { OWN[i - SEARCH.len()] };
        i += 1;
    }
    all
};

const SEARCH: [Parameter; expectimax::PARAMETERS.len()] = expectimax::parameters("corner");

/// A search of depth 3 goes on until it has examined so many slides, deeper ones six times as many for each spawn more.
const EFFORT: u64 = 3_600;

/// The effort of a search that names a depth alone.
fn effort(depth: u64) -> u64 {
    match depth {
        0..3 => EFFORT / 6u64.pow(3 - depth as u32),
        _ => EFFORT.saturating_mul(6u64.saturating_pow(depth as u32 - 3)),
    }
}

/// What [`OWN`]'s `late` says where there is no such network ...
const NO_NETWORK: &str = "none";

/// ... and where it is the one that comes with the program.
const SHIPPED: &str = "shipped";

/// Sets with which that one leads to where nobody knows how to go on (benchmarks/2026-11-20-time).
const TOO_FEW: [&str; 2] = [tables::NONE, tables::SETS[0].name];

/// Another search: to the depth that its own parameter names, within the limits of the main search, or short; and with the effort of its own.
fn other(settings: &Settings, [depth, effort]: [&str; 2]) -> String {
    let limit = |key: &str| settings.optional(key).map(|limit| format!("{key}={limit}"));
    let by_depth =
        || if settings.optional("depth").is_some_and(|depth| depth > 3) { "depth=3" } else { "depth=2" }.to_owned();
    let depth = settings.optional(depth).map(|depth| format!("depth={depth}"));
    let limits = depth.or_else(|| limit("ms")).or_else(|| limit("nodes")).unwrap_or_else(by_depth);
    let effort = settings.optional(effort).map_or_else(String::new, |effort| format!(",effort={effort}"));
    format!("expectimax:{limits}{effort}")
}

/// Who plays the opening: a search on the evaluator that the settings name, with the same limits as the other, or short.
fn opening<P: Position>(settings: &Settings, context: &Context) -> Result<Option<Opening<P>>, SpecError> {
    let name = settings.word("opening");
    if name == "none" || (P::ROWS, P::COLUMNS) != (4, 4) {
        return Ok(None);
    }
    let spec = other(settings, ["opening_depth", "opening_effort"]);
    let search = build_from_text(&format!("{spec},eval={name}"), context)?;
    Ok(Some(Opening { search, until: settings.integer("until").ilog2() as u8 }))
}

/// Who plays by learned chances: a search on the network that the settings name.
fn late<P: Position>(settings: &Settings, context: &Context) -> Result<Option<Late<P>>, SpecError> {
    let file = Path::new(settings.word("late"));
    if file == Path::new(NO_NETWORK) {
        return Ok(None);
    }
    let refuse = |reason: String| SpecError::File { owner: "tables".into(), file: file.into(), reason };
    let is_shipped = file == Path::new(SHIPPED);
    if is_shipped && TOO_FEW.contains(&settings.word("set")) {
        return Err(refuse(
            "it was learned beside the set large, and with so few tables plays worse than they do without it: say set=large \
             (`afterstate tables build --preset large` builds it)"
                .into(),
        ));
    }
    let network = if is_shipped { ntuple::late::<P>() } else { ntuple::load::<P>(file) };
    let network = network.map_err(|error| refuse(error.reason()))?;
    let Some(chance) = Chance::new(network) else {
        return Err(refuse(
            "its values are points, not the chance of a tile (`afterstate train td --preset late`)".into(),
        ));
    };
    let spec = other(settings, ["late_depth", "late_effort"]).parse()?;
    let search = build_with(&spec, context, || Box::new(chance.clone()))?;
    Ok(Some(Late { search, chance }))
}

pub(crate) const fn row<P: Position>() -> AgentRow<P> {
    AgentRow {
        name: "tables",
        summary: "expectimax that knows endgame tables: how likely the next large tile is to be missed; the champion plays the opening",
        parameters: &PARAMETERS,
        build: |settings, evaluator_of, context| {
            let tables = tables::tables(settings.word("set"))?;
            let (shallow, mut evaluator): (BoxedEvaluator<P>, BoxedEvaluator<P>) = (evaluator_of()?, evaluator_of()?);
            if settings.switch("leaves") {
                evaluator = Box::new(Corrected::new(evaluator, tables.clone()));
            }
            let unset = |name| settings.optional(name).is_none();
            let by_depth = settings.optional("depth").filter(|_| ["effort", "nodes", "ms"].into_iter().all(unset));
            let search = expectimax::build(settings, by_depth.map(effort), evaluator, context);
            let (opening, late) = (opening(settings, context)?, late(settings, context)?);
            facing::around(evaluator_of, Box::new(WithTables::new(search, tables, shallow, opening, late, settings)))
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::{Board, SpawnRule};

    fn agent(spec: &str) -> BoxedAgent<Board> {
        build_from_text(spec, &Context::default()).unwrap()
    }

    fn decide(agent: &mut BoxedAgent<Board>, board: &str) -> Decision {
        agent.decide(&board.parse().unwrap(), &Budget::OWN, &mut Rng::new(1))
    }

    const EARLY: &str = "8192 2048 512 64 / 4 128 32 8 / 2 4 8 2 / 0 0 2 0";
    const LATE: &str = "16384 8192 512 64 / 4 128 32 8 / 2 4 8 2 / 0 0 2 0";
    /// The second largest tile is not there yet, and the largest is in no corner.
    const AGAIN: [&str; 2] =
        ["16384 4096 2048 64 / 4 128 32 8 / 2 4 8 2 / 0 0 2 0", "2 16384 8192 64 / 4 128 32 8 / 2 4 8 2 / 0 0 2 0"];

    #[test]
    fn the_opening_ends_with_its_tile_and_a_half_of_it() {
        let mut both = agent("tables:depth=2,opening_depth=1");
        let (mut opening, mut later) =
            (agent("expectimax:depth=1,eval=champion"), agent("tables:depth=2,opening=none"));
        for board in [EARLY, AGAIN[0], AGAIN[1], &AGAIN[0].replace("16384", "32768")] {
            assert_eq!(decide(&mut both, board), decide(&mut opening, board), "{board}");
            assert_eq!(both.unit(), opening.unit());
        }
        for board in [LATE.to_owned(), LATE.replace("16384", "32768"), LATE.replace("8192", "16384")] {
            assert_eq!(decide(&mut both, &board), decide(&mut later, &board), "{board}");
            assert_eq!(both.unit(), later.unit());
        }
        let mut longer = agent("tables:depth=2,opening_depth=1,opening_effort=3000");
        let mut alone = agent("expectimax:depth=1,effort=3000,eval=champion");
        assert_eq!(decide(&mut longer, EARLY), decide(&mut alone, EARLY));
        let (mut until, half) = (agent("tables:depth=2,until=8192"), EARLY.replace("2048", "4096"));
        assert_eq!(decide(&mut until, &half), decide(&mut later, &half));
    }

    /// A network in a file of its own, with these further facts and weights up to so much.
    fn network(folder: &Path, facts: &[(&str, &str)], most: u32) -> String {
        let layout = ntuple::Layout::new::<Board>("0123 4567", &[]).unwrap();
        let mut words = ntuple::Words::zeroed(layout.weights()).unwrap();
        let mut rng = Rng::new(5);
        words.exclusive().iter_mut().for_each(|word| *word = most / 2 + rng.below(most / 2 + 1));
        let mut metadata = ntuple::file::describe(Board::SIZE, &layout);
        metadata.extend(facts.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())));
        let (kind, weights) = (ntuple::file::Dtype::I32, &words.atomics()[..layout.weights()]);
        let tensor = ntuple::file::Tensor { name: "weights", kind, words: weights };
        let path = folder.join(format!("{}-{most}.safetensors", facts.len()));
        ntuple::file::write(&mut std::fs::File::create(&path).unwrap(), &metadata, &[tensor]).unwrap();
        path.display().to_string()
    }

    /// The positions of games from where all six large tiles are there at which the tables are followed, and what they decide.
    fn followed_at_the_wall(games: u32) -> Vec<(Board, Decision)> {
        let mut tables = agent("tables:opening=none,depth=2");
        let (mut rng, mut followed) = (Rng::new(2), Vec::new());
        for _ in 0..games {
            let mut board: Board = "16384 8192 4096 0 / 2048 1024 512 0 / 4 2 0 0 / 2 0 0 0".parse().unwrap();
            while !board.legal().is_empty() && board.max_exponent() < 15 {
                let decision = tables.decide(&board, &Budget::OWN, &mut Rng::new(1));
                let slides = board.slides();
                let direction = decision.direction.expect("a move is left");
                if decision.table.is_some() {
                    followed.push((board, decision));
                }
                board = slides.of(direction).after.sample(&SpawnRule::CLASSIC, &mut rng);
            }
        }
        followed
    }

    const GOAL: (&str, &str) = (ntuple::file::GOAL, "32768");

    /// Where a table's way is the last to the goal, a network that has learned so far is asked too: the more likely of the two is played.
    #[test]
    fn the_last_step_is_for_whoever_is_surer() {
        let folder = tempfile::tempdir().unwrap();
        let whole = [GOAL, (ntuple::file::WHOLE, ntuple::file::YES)];
        let player = |facts: &[(&str, &str)], most: u32| {
            let late = network(folder.path(), facts, most);
            (
                agent(&format!("tables:late={late},late_depth=1,depth=2,opening=none")),
                agent(&format!("expectimax:depth=1,eval=ntuple@{late}")),
            )
        };
        let ((mut hopeless, _), (mut hopeful, mut search), (mut short, _)) =
            (player(&whole, 0), player(&whole, 1 << 26), player(&[GOAL], 1 << 26));
        let mut last = 0;
        for (board, by_table) in followed_at_the_wall(100) {
            let ask = |agent: &mut BoxedAgent<Board>| agent.decide(&board, &Budget::OWN, &mut Rng::new(1));
            let followed = ask(&mut hopeless);
            assert_eq!((followed.direction.is_some(), &followed.table), (true, &by_table.table), "{board}");
            assert_eq!(ask(&mut short), by_table, "{board}");
            let own = ask(&mut hopeful);
            // On the way to a smaller goal than the last the tables are followed all the same.
            last += u32::from(own.table.is_none());
            let searched = ask(&mut search);
            let apart = |(a, b): (&Option<f64>, &Option<f64>)| (a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs();
            let are_close = own.values.iter().zip(&searched.values).all(|pair| apart(pair) < 1e-6);
            let is_the_search = own.direction == searched.direction && are_close;
            assert!(own.table.is_some() || is_the_search, "{board}");
        }
        assert!(last > 100, "{last}");
    }

    /// Nor is it unpacked for that.
    #[test]
    fn the_shipped_chances_are_refused_beside_few_tables() {
        for spec in ["tables:late=shipped", "tables:depth=3,set=none,late=shipped"] {
            let refused =
                build_from_text::<Board>(spec, &Context::default()).err().expect("too few tables").to_string();
            assert!(refused.contains("say set=large"), "{refused}");
        }
    }

    /// Without tables a network that was learned up to the goal plays by itself, and where one has learned nothing the search does.
    #[test]
    fn a_network_may_play_without_tables() {
        let folder = tempfile::tempdir().unwrap();
        let chances = |facts: &[(&str, &str)]| network(folder.path(), facts, 1 << 20);
        let (whole, short) = (chances(&[GOAL, (ntuple::file::WHOLE, ntuple::file::YES)]), chances(&[GOAL]));
        let player = |late: &str| agent(&format!("tables:set=none,late={late},late_depth=1,depth=2,opening=none"));
        let (mut whole, mut by_whole) = (player(&whole), agent(&format!("expectimax:depth=1,eval=ntuple@{whole}")));
        let (mut short, mut search) = (player(&short), agent("tables:set=none,depth=2,opening=none"));
        let walls = followed_at_the_wall(5);
        for board in walls.iter().map(|(board, _)| *board).chain([LATE.parse().unwrap()]) {
            let ask = |agent: &mut BoxedAgent<Board>| agent.decide(&board, &Budget::OWN, &mut Rng::new(1));
            assert_eq!(ask(&mut whole), ask(&mut by_whole), "{board}");
            assert_eq!(whole.unit(), "chance of the goal");
            let searched = ask(&mut search);
            assert_eq!(searched.table, None, "{board}");
            if board.tile_sum() > 32_000 {
                assert_eq!((ask(&mut short), short.unit()), (searched, search.unit()), "{board}");
            }
        }
        assert!(walls.len() > 20, "{}", walls.len());
    }

    /// From a half of the goal on a network's chances decide where no table does, and beyond the goal wherever a tile is missing.
    #[test]
    fn learned_chances_play_between_the_tables() {
        let folder = tempfile::tempdir().unwrap();
        let chances = network(folder.path(), &[GOAL], 1 << 20);
        let (mut late, mut alone) = (
            agent(&format!("tables:late={chances},late_depth=1,opening_depth=0")),
            agent(&format!("expectimax:depth=1,eval=ntuple@{chances}")),
        );
        let beyond = LATE.replace("16384", "32768");
        let further = LATE.replace("16384 8192", "32768 16384");
        for board in [LATE, AGAIN[0], AGAIN[1], &beyond, &further] {
            assert_eq!(decide(&mut late, board), decide(&mut alone, board), "{board}");
            assert_eq!(late.unit(), "chance of the goal");
        }
        let mut opening = agent("expectimax:depth=0,eval=champion");
        assert_eq!(decide(&mut late, EARLY), decide(&mut opening, EARLY));
        let full = "32768 16384 8192 4096 / 256 512 1024 2048 / 128 64 32 16 / 0 2 4 8";
        assert_eq!(
            decide(&mut late, full),
            decide(&mut agent("tables:opening=none"), full),
            "nothing is missing: what is to be built next is not what it learned"
        );
        for wall in [
            "16384 8192 4096 2 / 2048 1024 512 4 / 2 4 8 2 / 0 0 2 0",
            "16384 8192 4096 2 / 2048 1024 1024 4 / 2 4 8 2 / 0 0 2 0",
        ] {
            let tables = decide(&mut agent("tables:opening=none"), wall);
            assert_eq!(decide(&mut late, wall), tables, "the wall is the tables', and what follows");
        }
        let points = network(folder.path(), &[], 1 << 20);
        let refused = build_from_text::<Board>(&format!("tables:late={points}"), &Context::default());
        assert!(refused.err().unwrap().to_string().contains("points, not the chance"));
    }

    #[test]
    fn a_table_says_how_often_it_succeeds_and_a_search_may_doubt_it() {
        let (mut player, mut rng, rule) =
            (agent("tables:depth=2,effort=1,opening=none"), Rng::new(7), SpawnRule::CLASSIC);
        let mut board = Board::start(&rule, &mut rng);
        let (advised, report) = loop {
            let decision = player.decide(&board, &Budget::OWN, &mut Rng::new(1));
            match decision.table {
                Some(report) => break (decision, report),
                None => {
                    let direction = decision.direction.expect("a table knows some board of the game");
                    board = board.slides().of(direction).after.sample(&rule, &mut rng);
                }
            }
        };
        let best = advised.direction.expect("a move").index();
        assert!(report.success[best].is_some_and(|success| f64::from(success) >= LEAST[1]), "{report:?}");
        assert!(report.success.iter().flatten().all(|&success| Some(success) <= report.success[best]), "{report:?}");
        let checked = agent("tables:check=1,opening=none").decide(&board, &Budget::OWN, &mut Rng::new(1));
        assert!(checked == advised || checked.table.is_none(), "{checked:?}");
        assert_eq!(
            agent("tables:five=1,six=1,opening=none").decide(&board, &Budget::OWN, &mut Rng::new(1)).table,
            None
        );
    }
}
