//! Every agent by name: one row each. Command line, page, conformance tests and docs iterate these rows.

use std::any::TypeId;

use afterstate_board::{Position, SpawnRule};
use afterstate_evaluator::{BoxedEvaluator, Kind, Parameter, Settings, Spec, SpecError, hint};

use crate::{
    Agent, beam, epsilon, expectimax, flat, greedy, mcts, minimax, optimal, policy, presets, puct, random, tables,
};

/// What every agent takes beside its own parameters.
pub const COMMON: &[Parameter] = &[epsilon::PARAMETER];

/// What an agent must know of the game apart from the position.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Context {
    /// Which tiles spawn.
    pub rule: SpawnRule,
}

/// An agent of whatever kind.
pub type BoxedAgent<P> = Box<dyn Agent<P>>;

/// Makes the evaluator that the specification names.
pub type MakeEvaluator<'a, P> = &'a dyn Fn() -> Result<BoxedEvaluator<P>, SpecError>;

/// Makes an agent from checked settings.
pub type MakeAgent<P> = fn(&Settings, MakeEvaluator<'_, P>, &Context) -> Result<BoxedAgent<P>, SpecError>;

/// One agent of the catalogue.
pub struct AgentRow<P: Position> {
    /// The name in `NAME[:key=value,...]`.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its parameters, apart from those that every agent has.
    pub parameters: &'static [Parameter],
    /// Makes one from checked settings.
    pub build: MakeAgent<P>,
}

impl<P: Position> AgentRow<P> {
    const ALL: &'static [Self] = &[
        random::row(),
        greedy::row(),
        expectimax::row(),
        minimax::row(),
        beam::row(),
        mcts::uct_row(),
        mcts::mcts_row(),
        flat::row(),
        tables::row(),
        optimal::row(),
        policy::row(),
        puct::row(),
    ];

    /// Its own parameters, then those that every agent has.
    pub fn all_parameters(&self) -> Vec<Parameter> {
        [self.parameters, COMMON].concat()
    }

    /// The evaluator this agent takes unless another is named.
    pub fn default_evaluator(&self) -> Option<&'static str> {
        self.parameters.iter().find_map(|p| match p.kind {
            Kind::Evaluator { default } => Some(default),
            _ => None,
        })
    }
}

afterstate_evaluator::made_once!(AgentRow);

/// The whole catalogue; empty for a position type that no size has.
pub fn rows<P: Position>() -> &'static [AgentRow<P>] {
    made(TypeId::of::<P>()).and_then(|rows| rows.downcast_ref::<&[AgentRow<P>]>()).copied().unwrap_or_default()
}

/// Makes the agent a specification or a preset names.
pub fn build<P: Position>(spec: &Spec, context: &Context) -> Result<BoxedAgent<P>, SpecError> {
    build_around(spec, context, None)
}

/// Makes the agent a specification or a preset names, with an evaluator of the caller's instead of the one it names.
pub fn build_with<P: Position>(
    spec: &Spec,
    context: &Context,
    evaluator: impl Fn() -> BoxedEvaluator<P>,
) -> Result<BoxedAgent<P>, SpecError> {
    build_around(spec, context, Some(&|| Ok(evaluator())))
}

fn build_around<P: Position>(
    spec: &Spec,
    context: &Context,
    evaluator: Option<MakeEvaluator<'_, P>>,
) -> Result<BoxedAgent<P>, SpecError> {
    let spec = &presets::resolve(spec)?;
    let row = rows::<P>().iter().find(|row| row.name == spec.name).ok_or_else(|| SpecError::UnknownName {
        what: "agent",
        name: spec.name.clone(),
        hint: hint(&spec.name, rows::<P>().iter().map(|row| row.name)),
    })?;
    let settings = spec.settings(&row.all_parameters())?;
    let named = || afterstate_evaluator::build(&spec.evaluator(row.default_evaluator().unwrap_or("zero")));
    let agent = (row.build)(&settings, evaluator.unwrap_or(&named), context)?;
    Ok(epsilon::mixed(agent, settings.number(epsilon::PARAMETER.name)))
}

/// Reads a specification and makes its agent.
pub fn build_from_text<P: Position>(text: &str, context: &Context) -> Result<BoxedAgent<P>, SpecError> {
    build(&text.parse()?, context)
}
