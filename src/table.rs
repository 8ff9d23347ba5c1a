//! From a resolved policy to a table's bytes.
//!
//! `paths` turns hide lists and `on` blocks into automata, one island of them
//! for the mounts below each top-level mount; `rules` does the same for
//! commands and tools; `write` lays everything out in the format that
//! `mero_runtime::format` describes. Equal policies give equal bytes: nothing
//! here depends on addresses, hashing order or time.

mod automaton;
mod comb;
mod paths;
mod rules;
mod strings;
mod tries;
mod write;

use crate::automata::TooLarge;
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::hir::Policy;
use crate::source::Span;
use std::collections::BTreeMap;

/// What to put into a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keep where rules stand and what they say, so that decisions can name
    /// them. Makes automata larger: rules of one effect stay apart.
    pub debug_info: bool,
    /// Build no products: every pattern stays an automaton of its own. For
    /// tests that compare the two.
    pub separate: bool,
}

/// What compiling gave.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The table.
    pub bytes: Vec<u8>,
    /// Counts for `--stats`.
    pub stats: Stats,
}

/// Counts of one compilation.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Stats {
    /// Contexts.
    pub contexts: usize,
    /// Mounts.
    pub mounts: usize,
    /// Hide patterns, `on` patterns, command and tool rules.
    pub rules: usize,
    /// Automata in the table.
    pub automata: usize,
    /// States of all automata.
    pub states: usize,
    /// Automata whose rows are stored densely.
    pub dense: usize,
    /// Automata whose rows are displaced into a comb.
    pub displaced: usize,
    /// Bytes of the table.
    pub bytes: usize,
}

/// Numbers of rules in the debug section, by the place of their statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleNumbers {
    numbers: BTreeMap<Span, u32>,
    enabled: bool,
}

/// "No rule" in a table.
pub(crate) const NO_RULE: u32 = mero_runtime::format::NONE24;

impl RuleNumbers {
    fn new(enabled: bool) -> Self {
        RuleNumbers { numbers: BTreeMap::new(), enabled }
    }

    /// The number of a rule; given anew at first sight.
    pub(crate) fn of(&mut self, span: Span) -> u32 {
        if !self.enabled {
            return NO_RULE;
        }
        let next = u32::try_from(self.numbers.len()).unwrap_or(NO_RULE);
        *self.numbers.entry(span).or_insert(next)
    }

    pub(crate) fn of_option(&mut self, span: Option<Span>) -> u32 {
        span.map_or(NO_RULE, |s| self.of(s))
    }
}

/// Why a policy does not fit into a table.
#[derive(Clone, Debug)]
pub(crate) struct Unfit {
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Unfit {
    pub(crate) fn too_large(span: Span, error: TooLarge) -> Unfit {
        Unfit {
            span,
            message: format!("the pattern {error}"),
            help: "use fewer wildcards before a fixed count of characters, or split the pattern"
                .into(),
        }
    }
}

/// Compiles a policy that has no errors.
///
/// # Errors
/// `too-large` where a pattern or the whole outgrows what a table holds.
pub fn compile(policy: &Policy, options: Options) -> Result<Compiled, Box<Diagnostic>> {
    write::table(policy, options).map_err(|unfit| {
        Box::new(Diagnostic::new(&codes::TOO_LARGE, unfit.span, unfit.message).help(unfit.help))
    })
}
