//! Cedar: everything may be read but what some `forbid` names. `like` knows `*` for any
//! text. Two encodings: a policy for each rule, and fifty rules a policy.

use super::Engine;
use crate::workload::{Hide, Workload};
use cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request, RestrictedExpression,
};
use std::str::FromStr;

struct Cedar {
    authorizer: Authorizer,
    policies: PolicySet,
    entities: Entities,
    who: [EntityUid; 3],
}

fn conditions(workload: &Workload) -> Vec<String> {
    let like = |patterns: &[String]| {
        let one = |p: &String| format!("context.path like \"{p}\"");
        patterns.iter().map(one).collect::<Vec<_>>().join(" || ")
    };
    let mounts = workload.mounts.iter().filter(|(_, readable)| !readable);
    let mounts = mounts.map(|(d, _)| like(&[format!("/{d}/*")]));
    let hides = workload.hides.iter().map(|hide| match hide {
        Hide::Name(n) => like(&[format!("*/{n}"), format!("*/{n}/*")]),
        Hide::Extension(e) => like(&[format!("*.{e}"), format!("*.{e}/*")]),
        Hide::Prefix(p) => like(&[format!("*/{p}*")]),
        Hide::Top(d) => like(&[format!("/{d}/*")]),
        Hide::Backups(d) => like(&[format!("/{d}/*.bak"), format!("/{d}/*.bak/*")]),
        Hide::Directory(d) => like(&[format!("*/{d}/*")]),
    });
    mounts.chain(hides).collect()
}

fn load(workload: &Workload, at_a_time: usize) -> Box<dyn Engine> {
    let mut text = String::from("permit(principal, action, resource);\n");
    for group in conditions(workload).chunks(at_a_time) {
        text +=
            &format!("forbid(principal, action, resource) when {{ {} }};\n", group.join(" || "));
    }
    let who = [r#"User::"a""#, r#"Action::"read""#, r#"File::"f""#];
    Box::new(Cedar {
        authorizer: Authorizer::new(),
        policies: PolicySet::from_str(&text).expect("the policies are good"),
        entities: Entities::empty(),
        who: who.map(|w| EntityUid::from_str(w).expect("it is a name")),
    })
}

/// A policy for each rule.
pub fn one_a_rule(workload: &Workload) -> Box<dyn Engine> {
    load(workload, 1)
}

/// Fifty rules a policy.
pub fn grouped(workload: &Workload) -> Box<dyn Engine> {
    load(workload, 50)
}

impl Engine for Cedar {
    fn allows(&mut self, path: &str) -> bool {
        let path = RestrictedExpression::new_string(path.to_owned());
        let context = Context::from_pairs([("path".to_owned(), path)]).expect("it is a context");
        let [principal, action, resource] = self.who.clone();
        let request =
            Request::new(principal, action, resource, context, None).expect("it is a request");
        let response = self.authorizer.is_authorized(&request, &self.policies, &self.entities);
        response.decision() == Decision::Allow
    }
}
