//! The settings of the source documents and a few of ours by name: `@name`, or `@name:key=value` to change some of them.

use afterstate_evaluator::{Spec, SpecError, hint};

/// A specification with a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name in `@NAME[:key=value,...]`.
    pub name: &'static str,
    /// What it stands for.
    pub spec: &'static str,
    /// What it is, in one line, with the row of the specification it comes from.
    pub summary: &'static str,
}

const PRESETS: &[Preset] = &[
    Preset {
        name: "corner",
        spec: "expectimax:eval=corner",
        summary: "ours: the evaluator that scores most without learning or tables; ms=1 for a millisecond a move",
    },
    Preset {
        name: "snake-expectimax-d0",
        spec: "expectimax:depth=0,exact=true,eval=score-matrix",
        summary: "document S: expectimax on the score matrix, the root's afterstates (S2)",
    },
    Preset {
        name: "snake-expectimax-d1",
        spec: "expectimax:depth=1,exact=true,eval=score-matrix",
        summary: "document S: expectimax on the score matrix, one spawn ahead (S2)",
    },
    Preset {
        name: "snake-expectimax-d2",
        spec: "expectimax:depth=2,exact=true,eval=score-matrix",
        summary: "document S: expectimax on the score matrix, two spawns ahead (S2)",
    },
    Preset {
        name: "snake-minimax-d0",
        spec: "minimax:depth=0,eval=score-matrix",
        summary: "document S: minimax on the score matrix, the root's afterstates (S2)",
    },
    Preset {
        name: "snake-minimax-d1",
        spec: "minimax:depth=1,eval=score-matrix",
        summary: "document S: minimax on the score matrix, one spawn ahead (S2)",
    },
    Preset {
        name: "snake-minimax-d2",
        spec: "minimax:depth=2,eval=score-matrix",
        summary: "document S: minimax on the score matrix, two spawns ahead (S2)",
    },
    Preset {
        name: "uct-matrix",
        spec: "uct:simulations=1000,spawns=selected,c=1.4142135623730951,judge_lost=true,eval=score-matrix",
        summary: "document S: UCT over (move, spawn) with random rollouts judged by the score matrix (S3)",
    },
    Preset {
        name: "mcts-heuristic",
        spec: "mcts:simulations=200,eval=heuristic",
        summary: "document P: UCB1 tree search with heuristic rollouts (P2)",
    },
    Preset {
        name: "beam-d4",
        spec: "beam:depth=4,width=10,eval=heuristic",
        summary: "document T: beam search four spawns ahead, here on the heuristic (T5)",
    },
    Preset {
        name: "beam-d5",
        spec: "beam:depth=5,width=10,eval=heuristic",
        summary: "document T: beam search five spawns ahead, here on the heuristic (T5)",
    },
    Preset {
        name: "beam-hybrid",
        spec: "beam:depth=5,width=10,hybrid=true,eval=heuristic",
        summary: "document T: hybrid beam search, features beside the evaluator (T6)",
    },
    Preset {
        name: "thesis-expectimax-d5",
        spec: "expectimax:depth=5,eval=twocore",
        summary: "document T: expectimax five spawns ahead on a learned value, here the two-core network, rare spawns left out (T4)",
    },
    Preset {
        name: "thesis-beam-d4",
        spec: "beam:depth=4,width=10,eval=twocore",
        summary: "document T: beam search four spawns ahead on a learned value, here the two-core network (T5)",
    },
    Preset {
        name: "thesis-beam-d5",
        spec: "beam:depth=5,width=10,eval=twocore",
        summary: "document T: beam search five spawns ahead on a learned value, here the two-core network (T5)",
    },
    Preset {
        name: "thesis-hybrid-beam",
        spec: "beam:depth=5,width=10,hybrid=true,eval=twocore",
        summary: "document T: hybrid beam search, features beside a learned value, here the two-core network (T6)",
    },
    Preset {
        name: "dqn",
        spec: "policy:eval=dqn",
        summary: "document P: Q-learning at one look, here the two-core network instead of the dense one (P1)",
    },
    Preset {
        name: "dqn-dense",
        spec: "policy:eval=dqn-dense",
        summary: "document P: Q-learning at one look on a dense network (P1)",
    },
    Preset {
        name: "ppo-dual",
        spec: "policy:eval=ppo",
        summary: "document P: a PPO policy at one look, here the two-core network instead of the dual-path one (P3)",
    },
    Preset {
        name: "ppo-threepath",
        spec: "policy:eval=ppo",
        summary: "document A: a PPO policy at one look, here the two-core network, whose places are those of the three paths (A2)",
    },
    Preset {
        name: "ppo-expectimax-d1",
        spec: "expectimax:depth=1,eval=ppo",
        summary: "document A: expectimax one spawn ahead on the values of PPO, here the two-core network (A3)",
    },
    Preset {
        name: "ppo-expectimax-d2",
        spec: "expectimax:depth=2,eval=ppo",
        summary: "document A: expectimax two spawns ahead on the values of PPO, here the two-core network (A3)",
    },
    Preset {
        name: "ppo-expectimax-d3",
        spec: "expectimax:depth=3,eval=ppo",
        summary: "document A: expectimax three spawns ahead on the values of PPO, here the two-core network (A3)",
    },
    Preset {
        name: "zero-policy",
        spec: "policy:eval=selfplay",
        summary: "document Z: the policy of self-play at one look, here the two-core network (Z2, Z7)",
    },
    Preset {
        name: "zero-puct-50",
        spec: "puct:simulations=50,eval=selfplay",
        summary: "document Z: 50 simulations a move, here on the two-core network (Z3)",
    },
    Preset {
        name: "zero-puct-400",
        spec: "puct:simulations=400,eval=selfplay",
        summary: "document Z: 400 simulations a move, here on the two-core network (Z3)",
    },
];

/// All presets.
pub fn presets() -> &'static [Preset] {
    PRESETS
}

/// Replaces `@NAME` by what it stands for; settings given beside it win. Any other specification stays as it is.
///
/// Naming another evaluator drops the settings of the preset's own.
pub fn resolve(spec: &Spec) -> Result<Spec, SpecError> {
    let Some(name) = spec.name.strip_prefix('@') else { return Ok(spec.clone()) };
    let preset = PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| SpecError::UnknownName {
        what: "preset",
        name: name.to_owned(),
        hint: hint(name, PRESETS.iter().map(|preset| preset.name)),
    })?;
    let mut resolved: Spec = preset.spec.parse()?;
    let given = |key: &str| spec.pairs.iter().any(|(other, _)| other == key);
    let replaced = |key: &str| given(key) || (given("eval") && key.starts_with("eval."));
    resolved.pairs.retain(|(key, _)| !replaced(key));
    resolved.pairs.extend(spec.pairs.iter().cloned());
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> Result<String, String> {
        let spec: Spec = text.parse().map_err(|error: SpecError| error.to_string())?;
        resolve(&spec).map(|spec| spec.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_beside_a_preset_win() {
        assert_eq!(resolved("@snake-minimax-d1").unwrap(), "minimax:depth=1,eval=score-matrix");
        assert_eq!(resolved("@snake-minimax-d1:depth=3").unwrap(), "minimax:eval=score-matrix,depth=3");
        assert_eq!(
            resolved("@snake-minimax-d1:epsilon=0.1,eval=empty").unwrap(),
            "minimax:depth=1,epsilon=0.1,eval=empty"
        );
        assert_eq!(resolved("random").unwrap(), "random");
    }

    #[test]
    fn unknown_presets_are_refused() {
        let error = resolved("@snake-minmax-d1").unwrap_err();
        assert_eq!(error, "there is no preset 'snake-minmax-d1' (did you mean 'snake-minimax-d1'?)");
    }
}
