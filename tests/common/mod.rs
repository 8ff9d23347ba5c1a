//! What several tests need: policies from text, and every engine that answers a
//! request.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod random;

use mero_runtime::{Context, Decision, Effect, Kind, Permission, Phase, Reason, Session, Table};
use meroc::driver::{Analysis, Memory, analyse};
use meroc::hir::Policy;
use meroc::oracle::{Hosts, Oracle, joined_text};
use meroc::table::{Options, compile};

/// Analyses a policy from text; panics with its errors if it has some.
pub fn policy(text: &str) -> Policy {
    let analysis = analysis(text);
    let errors = analysis
        .diagnostics
        .iter()
        .filter(|d| d.level == meroc::diag::Level::Error)
        .map(|d| format!("{} {}: {}", d.code.id, d.code.name, d.message))
        .collect::<Vec<_>>();
    assert!(errors.is_empty(), "{errors:#?}\n{text}");
    analysis.policy
}

pub fn analysis(text: &str) -> Analysis {
    analyse(&Memory::policy(text), "p.mero").expect("it is there")
}

/// What is asked.
#[derive(Clone, Debug)]
pub enum Ask {
    Path(Vec<u8>, Permission, Kind),
    Permission(Permission),
    Argv(Vec<Vec<u8>>),
    Command(String),
    Tool(String, Vec<String>),
}

/// An answer, comparable over engines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    pub effect: Effect,
    pub reason: Reason,
    pub mount: Option<String>,
    pub host: Option<String>,
}

/// A policy in every compiled form.
pub struct Engines {
    pub policy: Policy,
    /// Name and table.
    pub tables: Vec<(&'static str, Vec<u8>)>,
}

impl Engines {
    pub fn new(text: &str) -> Engines {
        let policy = policy(text);
        let forms = [
            ("products", Options::default()),
            ("separate", Options { separate: true, ..Options::default() }),
            ("debug", Options { debug_info: true, ..Options::default() }),
        ];
        let tables = forms.map(|(name, o)| {
            let compiled = compile(&policy, o).unwrap_or_else(|d| panic!("{}\n{text}", d.message));
            (name, compiled.bytes)
        });
        Engines { policy, tables: tables.into() }
    }

    /// The answers of all engines, the oracle's first. Command strings are not
    /// put to the oracle.
    pub fn answers(
        &self,
        context: &str,
        hosts: &Hosts,
        phase: Phase,
        ask: &Ask,
    ) -> Vec<(&'static str, Got)> {
        let mut out = Vec::new();
        if let Some(got) = oracle(&self.policy, context, hosts, phase, ask) {
            out.push(("oracle", got));
        }
        for (name, bytes) in &self.tables {
            let table = Table::from_bytes(bytes).expect("a table just written");
            let context = table.context(context).expect("a context of the policy");
            out.push((name, runtime(&context, hosts, phase, ask)));
        }
        out
    }
}

pub fn oracle(
    policy: &Policy,
    context: &str,
    hosts: &Hosts,
    phase: Phase,
    ask: &Ask,
) -> Option<Got> {
    let context = policy.contexts.iter().find(|c| c.name == context).expect("a context");
    let oracle = Oracle::new(policy, context, hosts, phase);
    let answer = match ask {
        Ask::Path(path, permissions, kind) => oracle.path(path, *permissions, *kind),
        Ask::Permission(permissions) => oracle.permission(*permissions),
        Ask::Argv(argv) => oracle.argv(argv, &joined_text(argv)),
        Ask::Tool(name, requires) => {
            oracle.tool(name, &requires.iter().map(String::as_str).collect::<Vec<_>>())
        }
        Ask::Command(text) => {
            let argv =
                text.split([' ', '\t']).filter(|w| !w.is_empty()).map(|w| w.as_bytes().to_vec());
            oracle.argv(&argv.collect::<Vec<_>>(), text.as_bytes())
        }
    };
    let allowed = answer.effect != Effect::Deny;
    Some(Got {
        effect: answer.effect,
        reason: answer.reason,
        mount: answer.mount,
        host: answer.host.filter(|_| allowed).map(|h| String::from_utf8_lossy(&h).into_owned()),
    })
}

pub fn runtime(context: &Context<'_>, hosts: &Hosts, phase: Phase, ask: &Ask) -> Got {
    let params = hosts.params.iter().map(|(n, d)| (n.as_str(), d.as_slice())).collect::<Vec<_>>();
    let session = Session {
        phase,
        base: &hosts.base,
        home: hosts.home.as_deref(),
        working_directory: hosts.working_directory.as_deref(),
        params: &params,
        links: None,
    };
    let mut host = None;
    let decision: Decision = match ask {
        Ask::Path(path, permissions, kind) => {
            let decision = context.path(&session, path, *permissions, *kind);
            if decision.effect != Effect::Deny {
                host = context.place(&session, path).ok().map(|p| p.to_string());
            }
            decision
        }
        Ask::Permission(permissions) => context.permission(&session, *permissions),
        Ask::Argv(argv) => {
            context.argv(&session, &argv.iter().map(Vec::as_slice).collect::<Vec<_>>())
        }
        Ask::Command(text) => context.command(&session, text),
        Ask::Tool(name, requires) => {
            context.tool(&session, name, &requires.iter().map(String::as_str).collect::<Vec<_>>())
        }
    };
    Got {
        effect: decision.effect,
        reason: decision.reason,
        mount: decision.mount.map(|m| context.slug(m).to_owned()),
        host,
    }
}

pub fn hosts(base: &str) -> Hosts {
    Hosts { base: base.as_bytes().to_vec(), ..Hosts::default() }
}
