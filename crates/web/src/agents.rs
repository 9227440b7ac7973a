//! From an agent named in a request to one that may play here: within the page's limits, and with models by id instead of path.

use std::path::PathBuf;
use std::time::Duration;

use afterstate_agent::{BoxedAgent, Budget, Context, Spec, SpecError, build, default_agent, default_player, resolve};
use afterstate_arena::{Setup, Size, for_size};
use afterstate_board::{Position, SpawnRule};

use crate::error::{ApiError, ApiResult};
use crate::limits::{PARAMETER_CAPS, SPEC_LENGTH};

/// A search this shallow is quick on a board of up to 16 cells: it needs no clock.
const QUICK_DEPTH: u64 = 4;

/// As many samples are quick.
const QUICK_SIMULATIONS: u64 = 10_000;

/// The deepest search that may gather all its leaves at once: beyond, they fill the memory.
const BATCH_DEPTH: u64 = 2;

/// Which game is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Variant {
    pub size: Size,
    pub rule: SpawnRule,
}

impl Variant {
    /// Reads size and rule as a request gives them.
    pub fn read(size: Option<&str>, spawn: Option<&str>) -> ApiResult<Self> {
        let size = size.map_or(Ok(Size::CLASSIC), str::parse).map_err(|error| ApiError::bad(error.to_string()))?;
        let rule = spawn.map_or(Ok(SpawnRule::CLASSIC), str::parse);
        Ok(Self { size, rule: rule.map_err(|error| ApiError::bad(error.to_string()))? })
    }
}

impl Variant {
    /// Who advises unless another is named.
    pub fn default_agent(&self) -> &'static str {
        for_size!(self.size, P => default_agent::<P>(&self.rule))
    }

    /// Who is watched unless another is named.
    pub fn default_player(&self) -> &'static str {
        for_size!(self.size, P => default_player::<P>(&self.rule))
    }
}

/// An agent that was asked for and may play.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub variant: Variant,
    /// The specification as asked for: what the page shows.
    pub name: String,
    /// What it stands for, with the files of models in place of their ids.
    spec: Spec,
    pub budget: Budget,
}

/// Finds the file of a model by its id.
pub(crate) type FindModel<'a> = &'a dyn Fn(&str) -> Option<PathBuf>;

impl Wanted {
    /// Checks a specification against the page's limits.
    pub fn new(agent: &str, variant: Variant, time: Duration, find: FindModel<'_>) -> ApiResult<Self> {
        if agent.len() > SPEC_LENGTH {
            return Err(ApiError::excessive(format!("an agent is named in at most {SPEC_LENGTH} characters")));
        }
        let asked: Spec = agent.parse().map_err(refusal)?;
        let mut spec = resolve(&asked).map_err(refusal)?;
        for (key, value) in &spec.pairs {
            let cap = PARAMETER_CAPS.iter().find(|(name, _)| name == key).map(|(_, cap)| *cap);
            if let (Some(cap), Ok(value)) = (cap, value.parse::<f64>())
                && value > cap as f64
            {
                return Err(ApiError::excessive(format!("{key}={value} is more than the page allows ({cap})")));
            }
        }
        let integer = |key: &str| spec.pairs.iter().find(|(k, _)| k == key).and_then(|(_, v)| v.parse::<u64>().ok());
        let is_batched = spec.pairs.iter().any(|(key, value)| key == "batch" && value == "true");
        if is_batched && integer("depth").is_none_or(|depth| depth > BATCH_DEPTH) {
            return Err(ApiError::excessive(format!("batch=true is allowed with depth={BATCH_DEPTH} at most")));
        }
        let is_bounded = integer("ms").is_some() || integer("nodes").is_some();
        let quick = if variant.size.cells() > 16 { 1 } else { QUICK_DEPTH };
        let deep = integer("depth").filter(|&depth| depth > quick && !is_bounded).map(|depth| depth as u32);
        let many = integer("simulations").is_some_and(|count| count > QUICK_SIMULATIONS);
        let budget = Budget { depth: deep, nodes: None, time: (deep.is_some() || many).then_some(time) };
        let file_of = |id: &str| {
            let file = find(id).ok_or_else(|| ApiError::missing(format!("there is no model '{id}' here")))?;
            let file = file.to_str().ok_or_else(|| ApiError::missing(format!("model '{id}' cannot be named")))?;
            Ok::<_, ApiError>(file.to_owned())
        };
        for (key, value) in &mut spec.pairs {
            match (key.as_str(), value.split_once('@')) {
                ("eval", Some((name, id))) => *value = format!("{name}@{}", file_of(id)?),
                ("late", _) if value != "none" => *value = file_of(value)?,
                _ => {}
            }
        }
        Ok(Self { variant, name: asked.to_string(), spec, budget })
    }

    /// Makes the agent for boards `P`.
    pub fn build<P: Position>(&self) -> ApiResult<BoxedAgent<P>> {
        self.build_plain().map_err(refusal)
    }

    /// The same with the library's own error, which knows the files of this machine.
    pub fn build_plain<P: Position>(&self) -> Result<BoxedAgent<P>, SpecError> {
        build(&self.spec, &Context { rule: self.variant.rule })
    }

    /// How the arena plays it.
    pub fn setup(&self, seed: u64) -> Setup {
        Setup { rule: self.variant.rule, budget: self.budget, ..Setup::new(self.name.clone(), seed) }
    }
}

/// The library's reason, without the paths of this machine.
fn refusal(error: SpecError) -> ApiError {
    match error {
        SpecError::File { owner, reason, .. } => ApiError::bad(format!("{owner}: its model cannot be used: {reason}")),
        other => ApiError::bad(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn wanted(agent: &str, size: &str) -> ApiResult<Wanted> {
        let variant = Variant::read(Some(size), None)?;
        Wanted::new(agent, variant, SECOND, &|id| (id == "run/a").then(|| PathBuf::from("/secret/a.bin")))
    }

    #[test]
    fn excess_is_refused_with_a_reason() {
        for agent in [
            "expectimax:depth=11",
            "beam:width=100000",
            "mcts:simulations=18446744073709551615",
            "expectimax:table=4194304",
            "expectimax:threads=64",
            "expectimax:batch=true",
            "expectimax:batch=true,depth=3",
            "expectimax:ms=86400000",
            "expectimax:depth=1e9",
            "expectimax:effort=18446744073709551615",
            "tables:opening_depth=8",
            "tables:opening_effort=18446744073709551615",
            "tables:late_effort=18446744073709551615",
        ] {
            assert_eq!(wanted(agent, "4x4").unwrap_err().status, 422, "{agent}");
        }
        assert_eq!(wanted(&"x".repeat(10_000), "4x4").unwrap_err().status, 422);
        assert_eq!(wanted("expectimax", "9x9").unwrap_err().status, 400);
    }

    #[test]
    fn deep_searches_get_a_clock_and_quick_ones_none() {
        let budget = |agent, size| wanted(agent, size).unwrap().budget;
        assert_eq!(budget("expectimax", "4x4"), Budget::OWN);
        assert_eq!(budget("expectimax:depth=3", "4x4"), Budget::OWN);
        assert_eq!(budget("expectimax:depth=8,ms=50", "4x4"), Budget::OWN);
        let deep = Budget { depth: Some(8), nodes: None, time: Some(SECOND) };
        assert_eq!(budget("expectimax:depth=8", "4x4"), deep);
        assert_eq!(budget("expectimax:depth=3", "5x5").time, Some(SECOND));
        assert_eq!(budget("mcts:simulations=100000", "4x4").time, Some(SECOND));
    }

    #[test]
    fn models_are_named_by_id_only() {
        for agent in ["greedy:eval=ntuple@/etc/passwd", "greedy:eval=ntuple@../run/a", "greedy:eval=ntuple@"] {
            assert_eq!(wanted(agent, "4x4").unwrap_err().status, 404, "{agent}");
        }
        for agent in ["tables:late=/etc/passwd", "tables:late=../run/a", "tables:late="] {
            assert_eq!(wanted(agent, "4x4").unwrap_err().status, 404, "{agent}");
        }
        assert!(wanted("tables:late=none", "4x4").is_ok());
        let known = wanted("greedy:eval=heuristic@run/a", "4x4").unwrap();
        let error = known.build::<afterstate_board::Board>().err().unwrap();
        assert!(!error.message.contains("secret") && error.status == 400, "{error:?}");
    }
}
