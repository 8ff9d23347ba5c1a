//! Random policies and requests that meet: few names, patterns and words, used often.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use super::Ask;
use mero_runtime::{Kind, Permission};
use meroc::oracle::Hosts;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

pub const NAMES: [&str; 9] = ["a", "b", "src", "data", ".env", "x.pem", "secrets", "b-c", "tmp"];
pub const PATTERNS: [&str; 24] = [
    "*.pem", ".env", ".env*", "!.env.x", "/a", "a/", "a/b", "**/b", "a/**", "a/**/b", "[ab]*",
    "!x.pem", "!a", "s?c", "*", "!*/", "/src/*", "secrets/", "!secrets", "*.p*m", "b/*/c", "a*c",
    "\\!x", "d[!a]ta",
];

pub fn set() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just("all".to_owned()),
        1 => Just("none".to_owned()),
        4 => subsequence(vec!["read", "write", "execute", "delete"], 1..=3).prop_map(|s| s.join(" | ")),
    ]
}

pub fn fields() -> impl Strategy<Value = String> {
    (prop::option::of(set()), prop::option::of(set()), prop::option::of(set())).prop_map(
        |(a, k, d)| {
            let mut out = String::new();
            for (name, value) in [("allow", a), ("ask", k), ("deny", d)] {
                if let Some(value) = value {
                    out += &format!("{name} {value}\n");
                }
            }
            out
        },
    )
}

pub fn hide() -> impl Strategy<Value = String> {
    prop::collection::vec(select(&PATTERNS[..]), 0..5).prop_map(|p| {
        if p.is_empty() {
            return String::new();
        }
        format!("hide {}\n", p.iter().map(|p| format!("{p:?}")).collect::<Vec<_>>().join(", "))
    })
}

pub fn on() -> impl Strategy<Value = String> {
    let positive = PATTERNS.iter().copied().filter(|p| !p.starts_with('!')).collect::<Vec<_>>();
    let block = (prop::collection::vec(select(positive), 1..3), fields()).prop_map(|(p, f)| {
        format!(
            "on {} {{\n{f}}}\n",
            p.iter().map(|p| format!("{p:?}")).collect::<Vec<_>>().join(", ")
        )
    });
    prop::collection::vec(block, 0..3).prop_map(|b| b.concat())
}

/// A mount's text with `@N@` in place of its slug, so that slugs can be made
/// unique afterwards.
pub fn mount(host: &'static str) -> impl Strategy<Value = String> {
    let leaf = (fields(), hide(), on()).prop_map(|(f, h, o)| format!("{f}{h}{o}"));
    let nested = leaf.prop_recursive(3, 6, 2, |inner| {
        let child = (prop::collection::vec(select(&NAMES[..]), 1..3), inner)
            .prop_map(|(d, body)| format!("mount @N@ at {:?} {{\n{body}}}\n", d.join("/")));
        (fields(), hide(), on(), prop::collection::vec(child, 0..3))
            .prop_map(|(f, h, o, c)| format!("{f}{h}{o}{}", c.concat()))
    });
    nested.prop_map(move |body| format!("mount @N@ at {host:?} {{\n{body}}}\n"))
}

pub const COMMANDS: [&str; 16] = [
    "\"git ...\"",
    "\"git push ...\"",
    "\"git (status|log) *\"",
    "\"cat {read...}\"",
    "\"cp {read} {write}\"",
    "\"tee --out={write}\"",
    "\"rm -rf *\"",
    "re\"push\"",
    "glob\"git *\"",
    "text\"rm -r\"",
    "\"l?\"",
    "\"[a-g]*t x\"",
    "re\"^cat\\s+\\S+$\"",
    "\"./g*t ...\"",
    "\"*\"",
    "\"tee (--out=|-o){write|read}\"",
];

pub fn commands() -> impl Strategy<Value = String> {
    let except = prop::option::of(select(vec![
        "\"git push x\"",
        "re\"status\"",
        "\"cat a\"",
        "text\"-rf\"",
    ]));
    let rule = (
        select(vec!["allow", "ask", "deny", "allow readonly", "ask readonly"]),
        select(&COMMANDS[..]),
        except,
    )
        .prop_map(|(e, p, x)| {
            let e = if p.contains('{') && e == "deny" { "ask" } else { e };
            let except = x.map_or(String::new(), |x| format!(" except {x}"));
            format!("{e} {p}{except}\n")
        });
    let otherwise = select(vec!["", "otherwise ask\n", "otherwise allow\n"]);
    prop::option::of((prop::collection::vec(rule, 0..8), otherwise)).prop_map(|c| {
        c.map_or(String::new(), |(r, o)| format!("commands {{\n{}{o}}}\n", r.concat()))
    })
}

pub fn tools() -> impl Strategy<Value = String> {
    let rule = (
        select(vec!["allow", "ask", "deny"]),
        select(vec!["file_*", "*", "grep", "mcp__?b*", "[fg]*"]),
    )
        .prop_map(|(e, p)| format!("{e} {p:?}\n"));
    let otherwise = select(vec!["", "otherwise ask\n", "otherwise deny\n"]);
    prop::option::of((prop::collection::vec(rule, 0..4), otherwise))
        .prop_map(|c| c.map_or(String::new(), |(r, o)| format!("tools {{\n{}{o}}}\n", r.concat())))
}

pub fn policy() -> impl Strategy<Value = String> {
    let phases = select(vec![
        "",
        "phases plan, default, accept_edits, trusted, bypass_permissions\n",
        "phases accept_edits, plan\n",
    ]);
    let mounts = prop_oneof![
        1 => Just("unconfined\n".to_owned()),
        1 => Just(String::new()),
        8 => (mount("./ws"), prop::option::of(mount("/srv/m/ws/src")), prop::option::of(mount("~/a")), prop::option::of(mount("./ws/a/b")), prop::option::of(mount("$P/x")))
            .prop_map(|(a, b, c, d, e)| [Some(a), b, c, d, e].into_iter().flatten().collect::<String>()),
    ];
    let grants = subsequence(vec!["core:a", "core:b", "x:y.z"], 0..=3).prop_map(|g| {
        if g.is_empty() { String::new() } else { format!("grants {}\n", g.join(", ")) }
    });
    (phases, fields(), hide(), mounts, commands(), tools(), grants).prop_map(|(p, f, h, m, c, t, g)| {
        let mut text = format!(
            "edition 1\nparam P\ntool file_w {{ requires core:a uses write }}\ntool grep {{ uses read readonly }}\ncontext w {{\n{p}{f}{h}{m}{c}{t}{g}}}\n"
        );
        // Unique slugs, the first of them root.
        let mut slugs = ["root", "data", "src", "m3", "m4", "m5", "m6"].iter().map(ToString::to_string).chain((7..).map(|i| format!("m{i}")));
        while text.contains("@N@") {
            text = text.replacen("@N@", &slugs.next().unwrap(), 1);
        }
        text
    })
}

pub fn path() -> impl Strategy<Value = String> {
    let segment = prop_oneof![12 => select(&NAMES[..]), 2 => Just(".."), 1 => Just("."), 1 => Just(""), 2 => Just("m3"), 1 => Just("root")];
    let start = select(vec![
        "/",
        "",
        "./",
        "~/",
        "/root/",
        "/data/",
        "/src/",
        "/srv/m/ws/",
        "/srv/m/",
        "/home/u/a/",
        "/p/x/",
        "/m3/",
        "\\",
        "~",
        "/srv",
    ]);
    (
        start,
        prop::collection::vec(segment, 0..5),
        select(vec!["", "/", "\\"]),
        select(vec!["/", "\\"]),
    )
        .prop_map(|(s, p, e, by)| format!("{s}{}{e}", p.join(by)))
}

/// Paths as programs write them, absolute and clean, short and long; a number for the
/// test, permissions and a kind.
pub fn usual() -> impl Strategy<Value = (String, usize, Permission, Kind)> {
    let long = |n: usize| Just("n".repeat(n));
    let segment = prop_oneof![
        12 => select(&NAMES[..]).prop_map(str::to_owned),
        6 => select(vec!["root", "data", "src", "m3", "srv", "m", "ws", "home", "u", "p", "x"]).prop_map(str::to_owned),
        2 => select(vec!["...", ".x", "x.", "a..b", "b-c", "x.pem.pem"]).prop_map(str::to_owned),
        1 => prop_oneof![long(30), long(62), long(63), long(64), long(120), long(254), long(255), long(256)],
    ];
    let start =
        select(vec!["/", "/root/", "/data/", "/src/", "/srv/m/ws/", "/home/u/a/", "/p/x/", "/m3/"]);
    (
        (start, prop::collection::vec(segment, 1..6), select(vec!["", "", "/"]))
            .prop_map(|(s, p, e)| format!("{s}{}{e}", p.join("/"))),
        0..8_usize,
        (1u8..16).prop_map(Permission::from_bits_truncate),
        select(vec![Kind::File, Kind::Directory, Kind::Unknown]),
    )
}

pub fn ask() -> impl Strategy<Value = Ask> {
    let permission = (1u8..16).prop_map(Permission::from_bits_truncate);
    let word = select(vec![
        "git",
        "push",
        "status",
        "log",
        "x",
        "cat",
        "a",
        "/a",
        ".env",
        "rm",
        "-rf",
        "tee",
        "--out=a",
        "--out=.env",
        "-ob",
        "/usr/bin/git",
        "./git",
        "cp",
        "",
        "--out=",
        "l\u{e9}",
        "/src/x.pem",
        "-rf x",
        "a\nb",
    ]);
    prop_oneof![
        6 => (path(), permission.clone(), select(vec![Kind::File, Kind::Directory, Kind::Unknown]))
            .prop_map(|(p, s, k)| Ask::Path(p.into_bytes(), s, k)),
        3 => prop::collection::vec(word, 0..4).prop_map(|w| Ask::Argv(w.iter().map(|w| w.as_bytes().to_vec()).collect())),
        1 => permission.prop_map(Ask::Permission),
        1 => (select(vec!["file_w", "grep", "bash", "mcp__ab_c", ""]), subsequence(vec!["core:a", "core:b", "x:q", "bare"], 0..=2))
            .prop_map(|(n, r)| Ask::Tool(n.to_owned(), r.iter().map(ToString::to_string).collect())),
    ]
}

pub fn hosts() -> impl Strategy<Value = Hosts> {
    let directory = |d: &str| d.as_bytes().to_vec();
    (
        prop::option::of(select(vec!["/home/u", "/srv/m/ws"])),
        prop::option::of(select(vec!["/srv/m/ws/src", "/srv/m", "/tmp", "/srv/m/ws"])),
        select(vec!["/p", "/srv/m/ws", "/srv/m/ws/b-c"]),
    )
        .prop_map(move |(home, cwd, p)| Hosts {
            base: directory("/srv/m"),
            home: home.map(directory),
            working_directory: cwd.map(directory),
            params: vec![("P".to_owned(), directory(p))],
        })
}
