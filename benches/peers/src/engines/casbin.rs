//! casbin: denials by regular expression, everything else allowed.

use super::Engine;
use crate::workload::{Hide, Workload};
use casbin::{CoreApi, DefaultModel, Enforcer, MemoryAdapter, MgmtApi};

struct Casbin(Enforcer);

const MODEL: &str = "
[request_definition]
r = path

[policy_definition]
p = path, eft

[policy_effect]
e = !some(where (p.eft == deny))

[matchers]
m = regexMatch(r.path, p.path)
";

/// A denial for each rule.
pub fn load(workload: &Workload) -> Box<dyn Engine> {
    let unreadable = workload.mounts.iter().filter(|(_, readable)| !readable);
    let mounts = unreadable.map(|(d, _)| format!("^/{d}/"));
    let hides = workload.hides.iter().map(|hide| match hide {
        Hide::Name(n) => format!("/{n}(/|$)"),
        Hide::Extension(e) => format!(r"\.{e}(/|$)"),
        Hide::Prefix(p) => format!("/{p}"),
        Hide::Top(d) => format!("^/{d}/"),
        Hide::Backups(d) => format!(r"^/{d}/.*\.bak(/|$)"),
        Hide::Directory(d) => format!("/{d}/"),
    });
    let rules = mounts.chain(hides).map(|r| vec![r, "deny".to_owned()]).collect::<Vec<_>>();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it starts");
    let enforcer = runtime.block_on(async {
        let model = DefaultModel::from_str(MODEL).await.expect("the model is good");
        let mut enforcer =
            Enforcer::new(model, MemoryAdapter::default()).await.expect("it is made");
        enforcer.add_policies(rules).await.expect("the rules are good");
        enforcer
    });
    Box::new(Casbin(enforcer))
}

impl Engine for Casbin {
    fn allows(&mut self, path: &str) -> bool {
        self.0.enforce((path,)).expect("it is decided")
    }
}
