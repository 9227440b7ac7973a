//! Who plays, advises and judges when nobody is named.

use afterstate_board::{Position, SpawnRule};

use crate::optimal;

/// The agent to ask unless another is named: the champion with a short search on the classic board, which alone it knows; perfect play
/// where the solution is here or quick to find; else a search that needs nothing.
///
/// ```
/// use afterstate_agent::default_agent;
/// use afterstate_board::{Board, Grid, SpawnRule};
/// assert_eq!(default_agent::<Board>(&SpawnRule::CLASSIC), "expectimax:depth=2,eval=champion");
/// assert_eq!(default_agent::<Grid<2, 2>>(&SpawnRule::CLASSIC), "optimal");
/// assert_eq!(default_agent::<Grid<5, 5>>(&SpawnRule::CLASSIC), "expectimax");
/// ```
pub fn default_agent<P: Position>(rule: &SpawnRule) -> &'static str {
    if (P::ROWS, P::COLUMNS) == (4, 4) {
        "expectimax:depth=2,eval=champion"
    } else if optimal::is_solved::<P>(rule) {
        "optimal"
    } else {
        "expectimax"
    }
}

/// Who plays where somebody watches: on the classic board the champion and the endgame tables that come with the program. The values of
/// the two are in different units, so they do not advise together.
///
/// ```
/// use afterstate_agent::default_player;
/// use afterstate_board::{Board, Grid, SpawnRule};
/// assert_eq!(default_player::<Board>(&SpawnRule::CLASSIC), "tables:depth=3");
/// assert_eq!(default_player::<Grid<2, 2>>(&SpawnRule::CLASSIC), "optimal");
/// ```
pub fn default_player<P: Position>(rule: &SpawnRule) -> &'static str {
    if (P::ROWS, P::COLUMNS) == (4, 4) { "tables:depth=3" } else { default_agent::<P>(rule) }
}
