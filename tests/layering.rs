//! The direction of imports, and the rules that hold for every source file.
//!
//! `source ← diag ← syntax ← hir ← { oracle, automata } ← table ← request ← suite ← check ← driver ← cli`;
//! `limits` and `library` are at the bottom and open to all. The runtime sees nothing of
//! the compiler.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Every module of the compiler, and what it may see besides itself and [`BOTTOM`].
const LAYERS: [(&str, &[&str]); 17] = [
    ("limits", &[]),
    ("library", &[]),
    ("source", &[]),
    ("diag", &["source"]),
    ("syntax", &["diag", "source"]),
    ("hir", &["syntax", "diag", "source"]),
    ("oracle", &["hir", "syntax", "diag", "source"]),
    // Knows languages over bytes, and nothing of policies.
    ("automata", &[]),
    // Not the oracle: the two are compared, so neither may lean on the other.
    ("table", &["automata", "hir", "syntax", "diag", "source"]),
    ("analysis", &["automata", "hir", "syntax", "source"]),
    ("request", &["table", "oracle", "hir", "diag", "source"]),
    ("compare", &["request", "analysis", "automata", "hir", "syntax", "source"]),
    (
        "suite",
        &[
            "compare", "analysis", "automata", "request", "table", "oracle", "hir", "syntax",
            "diag", "source",
        ],
    ),
    ("validate", &["compare", "analysis", "automata", "request", "oracle", "hir"]),
    // Findings are confirmed by the compiled table.
    (
        "check",
        &[
            "suite", "compare", "analysis", "request", "table", "oracle", "automata", "hir",
            "syntax", "diag", "source",
        ],
    ),
    (
        "driver",
        &[
            "table", "check", "suite", "compare", "analysis", "request", "oracle", "automata",
            "hir", "syntax", "diag", "source",
        ],
    ),
    (
        "cli",
        &[
            "driver", "validate", "table", "check", "suite", "compare", "analysis", "request",
            "oracle", "automata", "hir", "syntax", "diag", "source",
        ],
    ),
];

/// Constants and texts that any module may read.
const BOTTOM: [&str; 2] = ["limits", "library"];

/// Crates that only some modules may see: the core of the table's meaning does not
/// depend on how things are printed or parsed.
const CRATES: [(&str, &[&str]); 6] = [
    ("notify", &["cli"]),
    ("clap", &["cli"]),
    ("miette", &["cli", "driver"]),
    ("codespan_reporting", &["diag"]),
    ("pest", &["syntax"]),
    ("regex_automata", &["automata"]),
];

const MAX_LINES: usize = 600;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The Rust files below a directory, by their path from the project's root.
fn files(directory: &str) -> Vec<(String, String)> {
    fn walk(directory: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(&root().join(directory), &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "there are Rust files in {directory}");
    let name = |p: &Path| p.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
    paths.iter().map(|p| (name(p), fs::read_to_string(p).unwrap())).collect()
}

/// A file without comments and the insides of strings, line for line.
fn code(text: &str) -> String {
    let pieces = Regex::new(concat!(
        r#"(?s)//[^\n]*|/\*.*?\*/"#,
        r##"|b?r#".*?"#|b?r"[^"]*""##,
        r#"|b?"(?:\\.|[^"\\])*""#,
        r"|b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\])'",
    ))
    .unwrap();
    let blank = |c: &regex::Captures<'_>| "\n".repeat(c[0].matches('\n').count());
    pieces.replace_all(text, blank).into_owned()
}

/// The module that a file of `src` belongs to.
fn module(name: &str) -> &str {
    let rest = name.strip_prefix("src/").unwrap();
    rest.split_once('/').map_or_else(|| rest.strip_suffix(".rs").unwrap(), |(module, _)| module)
}

/// The first names behind `crate::`, groups taken apart.
fn imported(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let single = Regex::new(r"\bcrate::([a-z_0-9]+)").unwrap();
    found.extend(single.captures_iter(code).map(|c| c[1].to_owned()));
    for (at, matched) in code.match_indices("crate::{") {
        let mut depth = 0usize;
        let mut item = String::new();
        for c in code[at + matched.len()..].chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => item.clear(),
                _ => {}
            }
            if depth == 0 && (c.is_ascii_alphanumeric() || c == '_' || c == ':') {
                item.push(c);
                if let Some((name, _)) = item.split_once("::") {
                    found.insert(name.to_owned());
                }
            }
        }
    }
    found
}

#[test]
fn imports_are_read_as_the_compiler_reads_them() {
    let text = "use crate::{source::{A, B}, diag};\n// crate::comment\nlet x = \"crate::string\";\n\
                use crate::hir::X; let c = '\"'; use crate::table;";
    let found = imported(&code(text));
    let expected = ["hir", "source", "table"].map(str::to_owned);
    assert_eq!(found, expected.into());
}

#[test]
fn imports_go_one_way() {
    let layers: BTreeMap<&str, &[&str]> = LAYERS.into();
    let mut wrong = Vec::new();
    for (name, text) in files("src") {
        let own = module(&name);
        if ["lib", "main"].contains(&own) {
            continue;
        }
        let Some(may) = layers.get(own) else {
            panic!(
                "`{name}` is of the module `{own}`, which has no layer: give it a row in \
                 LAYERS of tests/layering.rs that says what it may see"
            );
        };
        let code = code(&text);
        for other in imported(&code) {
            let fine = other == own
                || may.contains(&other.as_str())
                || BOTTOM.contains(&other.as_str())
                || !layers.contains_key(other.as_str());
            if !fine {
                wrong.push(format!("{name}: `{own}` must not see `{other}`"));
            }
        }
        for (package, users) in CRATES {
            let used = Regex::new(&format!(r"(^|[^a-z_:]){package}(_derive)?::")).unwrap();
            if used.is_match(&code) && !users.contains(&own) {
                wrong.push(format!("{name}: `{own}` must not use the crate `{package}`"));
            }
        }
        // A way up that reaches the crate's root would hide an import.
        let depth = name.matches('/').count();
        if code.contains(&"super::".repeat(depth)) {
            wrong.push(format!("{name}: write `crate::` for what is not of `{own}`"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_layer_is_there() {
    let present = files("src");
    let present = present.iter().map(|(name, _)| module(name)).collect::<BTreeSet<_>>();
    let listed = LAYERS.iter().map(|(name, _)| *name).chain(["lib", "main"]);
    assert_eq!(present, listed.collect(), "LAYERS has a row for every module, and no others");
}

#[test]
fn the_runtime_stands_alone() {
    let outside = Regex::new(r"\b(std|meroc)::|extern crate (std|meroc)|feature = .std.").unwrap();
    let mut wrong = Vec::new();
    // The guard is for hosts, and its switch stands at the top.
    let host = |name: &str| name.starts_with("runtime/src/host");
    for (name, text) in files("runtime/src") {
        for (number, line) in code(&text).lines().enumerate() {
            let switch = name == "runtime/src/lib.rs" && line.contains("feature = \"std\"");
            let at = name == "runtime/src/table.rs" && line.contains("feature = \"std\"");
            if outside.is_match(line) && !host(&name) && !switch && !at {
                wrong.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "the core sees neither `std` nor the compiler:\n{}",
        wrong.join("\n")
    );
    let lib = fs::read_to_string(root().join("runtime/src/lib.rs")).unwrap();
    assert!(
        lib.contains("\n#![cfg_attr(not(feature = \"std\"), no_std)]\n"),
        "the runtime is no_std, but for hosts"
    );
    // Without the feature the name `alloc` means nothing, so the build without features
    // proves that nothing else uses it.
    assert_eq!(lib.matches("extern crate").count(), 1);
    assert!(lib.contains("#[cfg(feature = \"alloc\")]\nextern crate alloc;\n"));
    let manifest = fs::read_to_string(root().join("runtime/Cargo.toml")).unwrap();
    let (_, dependencies) = manifest.split_once("[dependencies]\n").unwrap();
    let dependencies = dependencies.split("\n[").next().unwrap().trim();
    let always = dependencies.lines().filter(|l| !l.contains("optional = true"));
    assert_eq!(
        always.collect::<Vec<_>>(),
        ["bitflags.workspace = true"],
        "the core has one dependency"
    );
}

#[test]
fn nothing_is_unsafe() {
    let word = Regex::new(r"\bunsafe\b").unwrap();
    for directory in ["src", "runtime/src", "examples"] {
        for (name, text) in files(directory) {
            assert!(!word.is_match(&code(&text)), "{name} has an `unsafe`");
            if ["lib.rs", "main.rs"].iter().any(|root| name.ends_with(&format!("src/{root}"))) {
                assert!(text.contains("\n#![forbid(unsafe_code)]\n"), "{name} forbids `unsafe`");
            }
        }
    }
}

#[test]
fn files_stay_readable() {
    let mut long = Vec::new();
    for (name, text) in files("src").into_iter().chain(files("runtime/src")) {
        let lines = text.lines().count();
        if lines > MAX_LINES {
            long.push(format!("{name} has {lines} lines; split it before it passes {MAX_LINES}"));
        }
        assert!(text.starts_with("//! "), "{name} begins with what it is for");
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// An exception from a lint says why. The automata explain theirs in a comment above.
#[test]
fn exceptions_have_reasons() {
    let exception = Regex::new(r"(?s)#!?\[(allow|expect)\((.*?)\)\]").unwrap();
    let comments = Regex::new(r"(?m)^\s*//[^\n]*$").unwrap();
    let pure = ["src/cli.rs", "src/driver/host.rs", "runtime/src/host.rs"];
    for (name, text) in files("src").into_iter().chain(files("runtime/src")) {
        // Strings are kept: a reason is one.
        for found in exception.captures_iter(&comments.replace_all(&text, "")) {
            assert!(
                found[2].contains("reason = \"") || name.starts_with("src/automata/"),
                "{name}: {} gives no reason",
                &found[0]
            );
            assert!(
                !found[2].contains("disallowed_methods") || pure.contains(&name.as_str()),
                "{name}: only {pure:?} may touch files, processes and the environment"
            );
        }
    }
}
