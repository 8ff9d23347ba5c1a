//! Public reports of how agents got past their limits (`tests/data/host-cases.jsonl`), each
//! built as a real tree and put to the guard.

use super::World;
use mero_runtime::host::approval::AutoApprove;
use mero_runtime::host::{Directories, Error, Guard, Policy};
use mero_runtime::{OwnedTable, Permission, Phase, windows};
use meroc::table::{Options, compile};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

/// Cases that need what the language does not have, or where Mero's answer is another
/// than the reporter's, with the reason.
const OTHERWISE: &[(&str, &str)] = &[
    ("path-prefix-collision-cc", "an absolute path outside every mount is one below `root`"),
    (
        "grant-readonly-hint",
        "a tool is judged by its declaration, never by what its server says of it",
    ),
    ("grant-always-compound", "covered by the tests of remembered approvals"),
    ("grant-domain-prefix", "arguments of tools are not judged"),
    ("grant-param-literal", "arguments of tools are not judged"),
    ("phase-bypass-ask", "`bypass_permissions` turns every ask into allow, by the language"),
    (
        "phase-bypass-circuit-breaker",
        "a `deny` rule is the circuit breaker: it holds in every phase",
    ),
    ("phase-plan-dir-write", "plan is read-only throughout: denied with the reason `phase`"),
    (
        "phase-hook-allow-vs-ask",
        "a backend answers what is asked; which backends there are is for the host",
    ),
];

fn strings<'v>(value: &'v Value, key: &str) -> Vec<&'v str> {
    value[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The context of a case; mounts lie below the world.
fn policy_of(case: &Value) -> String {
    let policy = &case["policy"];
    let mounts = policy["mounts"].as_array().cloned().unwrap_or_default();
    let mut body = String::new();
    let path = |m: &Value| m["path"].as_str().unwrap().replace("C:", "/c");
    let allow = |m: &Value| if m["perm"] == "rw" { "read | write | delete" } else { "read" };
    let root = mounts.first().map(&path);
    for (index, mount) in mounts.iter().enumerate() {
        let slug = if index == 0 { "root".to_owned() } else { format!("m{index}") };
        let hidden = if index == 0 { strings(policy, "hidden") } else { Vec::new() };
        let hidden = hidden.iter().map(|h| {
            let h = h.strip_prefix("//c/").map_or_else(|| (*h).to_owned(), str::to_owned);
            format!("{:?}", h.strip_prefix(&path(mount)).map_or(h.clone(), str::to_owned))
        });
        let hidden = hidden.collect::<Vec<_>>().join(", ");
        let hide = if hidden.is_empty() { String::new() } else { format!("hide {hidden}") };
        writeln!(body, "mount {slug} at \".{}\" {{ allow {} {hide} }}", path(mount), allow(mount))
            .unwrap();
    }
    let _ = root;
    let rules = |key: &str| {
        strings(policy, key).into_iter().map(|r| format!("{} {r:?} ", key)).collect::<String>()
    };
    let (allowed, asked, denied) = (rules("allow"), rules("ask"), rules("deny"));
    let tools = format!("{allowed} {asked} {denied}");
    let commands = tools.replace(" *\"", " ...\"");
    let tools = if case["kind"] == "grant" || tools.contains('/') {
        format!("tools {{ {tools} }}")
    } else {
        "tools { allow \"shell\" }".to_owned()
    };
    format!(
        "edition 1\ncontext w {{\nphases plan, default, accept_edits, trusted, bypass_permissions\n{body}\ncommands {{ {commands} }}\n{tools}\n}}\n"
    )
}

fn build(world: &World, case: &Value) {
    let place = |p: &str| world.at(p.replace("C:", "c").trim_start_matches('/'));
    let put = |p: &str| {
        let file = place(p);
        if fs::symlink_metadata(&file).is_err() && !p.ends_with('/') {
            let _ = fs::create_dir_all(file.parent().unwrap());
            let _ = fs::write(&file, "x");
        }
    };
    let fs_of = &case["policy"]["fs"];
    let pairs = |key: &str| {
        let map = fs_of[key].as_object().cloned().unwrap_or_default();
        map.into_iter().map(|(k, v)| (k, v.as_str().unwrap().to_owned())).collect::<Vec<_>>()
    };
    for mount in case["policy"]["mounts"].as_array().into_iter().flatten() {
        let path = mount["path"].as_str().unwrap();
        if path.ends_with("/config") || path.ends_with(".json") {
            put(path);
        } else if !pairs("links").iter().any(|(l, _)| l == path) {
            fs::create_dir_all(place(path)).unwrap();
        }
    }
    for (link, target) in pairs("links") {
        fs::create_dir_all(place(&link).parent().unwrap()).unwrap();
        if ["v2", "private/tmp", "outside", "shared-cfg"].iter().any(|d| target.ends_with(d)) {
            fs::create_dir_all(place(&target)).unwrap();
        }
        symlink(place(&target), place(&link)).unwrap();
    }
    for (link, original) in pairs("hardlinks") {
        put(&original);
        fs::create_dir_all(place(&link).parent().unwrap()).unwrap();
        fs::hard_link(place(&original), place(&link)).unwrap();
    }
    if case["policy"]["platform"].is_null()
        && fs_of["case_sensitive"] != false
        && fs_of["links"].is_null()
        && let Some(path) = case["request"]["path"].as_str()
    {
        put(path);
    }
    if case["id"] == "path-symlink-inside-fp" || case["id"] == "path-mount-is-symlink" {
        put(case["request"]["path"].as_str().unwrap());
    }
}

fn path_case(world: &World, guard: &Guard, case: &Value) -> Result<(), Error> {
    let request = &case["request"];
    let path = request["path"].as_str().unwrap();
    let here = |p: &str| format!("{}{p}", world.root().display());
    if case["policy"]["platform"] == "windows" {
        let Some(spellings) = windows::paths(path) else {
            return guard.path("", Permission::READ, "").map(|_| ());
        };
        let permission = Permission::parse(request["perm"].as_str().unwrap()).unwrap();
        return spellings.iter().try_for_each(|s| guard.lexical(here(s), permission, ""));
    }
    let race = &case["policy"]["fs"]["race"]["after_check"]["link"];
    match request["perm"].as_str().unwrap() {
        "rename" => guard.rename(here(path), here(request["to"].as_str().unwrap()), ""),
        "delete" => guard.remove_all(here(path), ""),
        "replace" => guard.symlink("/", here(path), ""),
        "link" => guard.hard_link(here(path), here(request["to"].as_str().unwrap()), ""),
        "list" => guard.read_dir(here(path), "").map(|e| {
            assert!(e.iter().all(|e| e.name != ".env"));
        }),
        "search" => guard.read(here(path), "").map(|_| ()),
        permission if race.is_array() => {
            // The answer of the check is of no use any more when the link is there.
            let permission = Permission::parse(permission).unwrap();
            guard.path(here(path), permission, "").unwrap();
            let link = here(race[0].as_str().unwrap());
            fs::rename(&link, format!("{link}.away")).unwrap();
            symlink(race[1].as_str().unwrap(), &link).unwrap();
            match permission {
                Permission::READ => guard.read(here(path), "").map(|_| ()),
                // What is written lands in the directory that was bound.
                _ => guard.write(here(path), b"pwned", "").and_then(|()| {
                    assert_eq!(fs::read(format!("{link}.away/hosts")).unwrap(), b"pwned");
                    guard.path("", Permission::READ, "").map(|_| ())
                }),
            }
        }
        "write" if !case["policy"]["fs"]["hardlinks"].is_null() => {
            guard.write(here(path), b"x", "")
        }
        permission => {
            let permission = Permission::parse(permission).unwrap();
            guard.path(here(path), permission, "").map(|_| ())
        }
    }
}

#[test]
fn every_report_is_answered_as_it_should_be() {
    let cases = include_str!("../data/host-cases.jsonl");
    let (mut wrong, mut told) = (Vec::new(), 0);
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap();
        if OTHERWISE.iter().any(|(o, _)| *o == id) {
            told += 1;
            continue;
        }
        let world = World::new(&[]);
        build(&world, &case);
        let text = policy_of(&case);
        let bytes = compile(&super::common::policy(&text), Options::default()).unwrap().bytes;
        let mut directories = Directories::new(world.root());
        if case["policy"]["fs"]["case_sensitive"] == false {
            directories = directories.fold_case();
        }
        let table = OwnedTable::from_bytes(bytes).unwrap();
        let policy = Arc::new(Policy::bind(table, &directories).unwrap());
        let mut guard = Guard::new(policy, "w").unwrap();
        if !case["policy"]["approval"].is_null() || !case["policy"]["approvals"].is_null() {
            guard = guard.approval(Arc::new(AutoApprove));
        }
        let phase = match case["policy"]["phase"].as_str() {
            Some("bypass") => Phase::BypassPermissions,
            Some(name) => Phase::parse(name).unwrap(),
            None => Phase::Default,
        };
        guard.set_phase(phase).unwrap();
        let request = &case["request"];
        let result = match (case["kind"].as_str().unwrap(), request) {
            ("path", _) => path_case(&world, &guard, &case),
            ("grant", r) => {
                let name = format!(
                    "mcp/{}/{}",
                    r["server"].as_str().unwrap(),
                    r["tool"].as_str().unwrap()
                );
                guard.tool(&name, &[], "")
            }
            (_, Value::String(command)) => guard.command(command, ""),
            (_, r) if r["path"].is_string() => path_case(&world, &guard, &case),
            (_, r) => guard.command(r["command"].as_str().unwrap(), ""),
        };
        let got = if result.is_ok() { "allow" } else { "deny" };
        let expected = case["expected"].as_str().unwrap();
        let fine = got == expected || (expected == "ask" && got == "deny");
        if !fine {
            let why = result.map_or_else(|e| e.to_string(), |()| "allowed".to_owned());
            wrong.push(format!("{id}: expected {expected}, got {why}\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(told, OTHERWISE.len());
}
