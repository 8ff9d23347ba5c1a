//! Rego, by regorus: a generic rule over data. Two encodings: a list of globs, and sets
//! by shape that the segments are looked up in, as one who knows the shapes would write.

use super::Engine;
use super::sets::glob;
use crate::workload::{Hide, Workload};
use regorus::{Engine as Interpreter, Value};
use serde_json::{Map, Value as Json, json};

struct Rego(Interpreter);

const GLOBS: &str = r#"
package peers
import rego.v1
default allow := false
allow if not denied
denied if {
    some prefix in data.unreadable
    startswith(input.path, prefix)
}
denied if {
    some pattern in data.globs
    glob.match(pattern, ["/"], input.path)
}
"#;

const SETS: &str = r#"
package peers
import rego.v1
default allow := false
allow if not denied
segments := split(input.path, "/")
last := count(segments) - 1
denied if {
    some i in numbers.range(1, last)
    data.unreadable[concat("/", array.slice(segments, 0, i))]
}
denied if {
    some s in segments
    data.names[s]
}
denied if {
    some s in segments
    parts := split(s, ".")
    count(parts) > 1
    data.extensions[parts[count(parts) - 1]]
}
denied if {
    some s in segments
    some p in data.prefixes
    startswith(s, p)
}
denied if {
    last > 0
    data.tops[segments[0]]
}
denied if {
    data.backups[segments[0]]
    some i, s in segments
    i > 0
    endswith(s, ".bak")
}
denied if {
    some i, s in segments
    i < last
    data.directories[s]
}
"#;

fn load(program: &str, data: &Json) -> Box<dyn Engine> {
    let mut interpreter = Interpreter::new();
    interpreter.add_policy("peers.rego".into(), program.into()).expect("the program is good");
    interpreter.add_data_json(&data.to_string()).expect("the data is good");
    Box::new(Rego(interpreter))
}

fn unreadable(workload: &Workload) -> impl Iterator<Item = &String> {
    workload.mounts.iter().filter(|(_, readable)| !readable).map(|(d, _)| d)
}

/// A list of globs.
pub fn globs(workload: &Workload) -> Box<dyn Engine> {
    let prefixes = unreadable(workload).map(|d| format!("{d}/")).collect::<Vec<_>>();
    let globs = workload.hides.iter().flat_map(glob).collect::<Vec<_>>();
    load(GLOBS, &json!({ "unreadable": prefixes, "globs": globs }))
}

/// Sets by shape.
pub fn sets(workload: &Workload) -> Box<dyn Engine> {
    let mut data = ["names", "extensions", "tops", "backups", "directories", "unreadable"]
        .map(|k| (k.to_owned(), Json::Object(Map::new())))
        .into_iter()
        .collect::<Map<_, _>>();
    let mut put = |set: &str, key: &String| data[set][key] = Json::Bool(true);
    unreadable(workload).for_each(|d| put("unreadable", d));
    let mut prefixes = Vec::new();
    for hide in &workload.hides {
        match hide {
            Hide::Name(n) => put("names", n),
            Hide::Extension(e) => put("extensions", e),
            Hide::Prefix(p) => prefixes.push(p.clone()),
            Hide::Top(d) => put("tops", d),
            Hide::Backups(d) => put("backups", d),
            Hide::Directory(d) => put("directories", d),
        }
    }
    data.insert("prefixes".into(), json!(prefixes));
    load(SETS, &Json::Object(data))
}

impl Engine for Rego {
    fn allows(&mut self, path: &str) -> bool {
        let mut input = Value::new_object();
        let object = input.as_object_mut().expect("it is an object");
        object.insert(Value::from("path"), Value::from(&path[1..]));
        self.0.set_input(input);
        let allowed = self.0.eval_rule("data.peers.allow".into()).expect("it is evaluated");
        allowed == Value::from(true)
    }
}
