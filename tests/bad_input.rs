//! Policies that are broken, huge or hostile: a clear diagnostic or a success,
//! within seconds and a bounded memory. Never a panic, never a hang.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

#[path = "common/process.rs"]
mod process;

use process::{Run, meroc, meroc_with};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Checks and compiles a policy: both are to end well or with findings.
#[track_caller]
fn examine(policy: impl AsRef<[u8]>) -> Run {
    let directory = directory();
    fs::write(directory.path().join("p.mero"), policy).unwrap();
    let out = directory.path().join("p.merot");
    let compiled = meroc(directory.path(), &["compile", "p.mero", "-o", "p.merot"]);
    assert_eq!(out.exists(), compiled.code == 0, "{}", compiled.err);
    if compiled.code == 0 {
        meroc(directory.path(), &["inspect", "p.merot"]).code(0);
    }
    // Output is for people: it must not be many times the input, or unreadable.
    assert!(compiled.err.len() < 50_000_000, "{}", compiled.err.len());
    compiled
}

/// A policy that is refused with a finding of this name.
#[track_caller]
fn refused(policy: impl AsRef<[u8]>, finding: &str) -> Run {
    let run = examine(policy).says(finding);
    assert_ne!(run.code, 0);
    run
}

#[track_caller]
fn accepted(policy: impl AsRef<[u8]>) -> Run {
    examine(policy).code(0)
}

fn hides(patterns: &str) -> String {
    format!("edition 1\ncontext w {{ mount root at \"./w\" {{ allow all hide {patterns} }} }}\n")
}

fn commands(rules: &str) -> String {
    format!("edition 1\ncontext w {{ commands {{ {rules} }} }}\n")
}

fn many(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut all, i| {
        let _ = writeln!(all, "{}", line(i));
        all
    })
}

// Bytes.

#[test]
fn not_utf8() {
    refused(b"edition 1\ncontext w { // \xff\n}", "not-utf8").says("line 2");
    refused(b"\xff\xfee\0d\0i\0t\0", "UTF-16");
    refused(b"edition 1\n\x80", "not-utf8");
    refused(b"\xed\xa0\x80", "not-utf8");
}

#[test]
fn nothing_at_all() {
    for text in ["", "\n", "\u{feff}", "// x", "edition 1"] {
        accepted(text);
    }
    let directory = directory();
    fs::write(directory.path().join("p.mero"), "").unwrap();
    meroc(directory.path(), &["check", "p.mero"]).code(0).says("no findings");
    meroc_with(directory.path(), &["check", "-"], b"", &[]).code(0);
}

#[test]
fn control_characters() {
    for byte in (0..32u8).chain([127]).filter(|b| !b.is_ascii_whitespace()) {
        let run = examine([b"edition 1\ncontext w { ", &[byte][..], b" }"].concat());
        assert_ne!(run.code, 0, "{byte}");
        assert!(!run.err.as_bytes().contains(&byte), "byte {byte} reaches the terminal");
    }
}

#[test]
fn fifty_megabytes_of_braces() {
    refused("{".repeat(50_000_000), "too-large");
    let directory = directory();
    let input = "{".repeat(50_000_000);
    meroc_with(directory.path(), &["check", "-"], input.as_bytes(), &[]).code(1).says("too-large");
}

/// As much of one thing as a file may hold.
#[test]
fn eight_megabytes_of_one_character() {
    for (text, finding) in [("{", "too-deep"), ("(", "too-deep"), ("}", "syntax-error")] {
        refused(text.repeat(8 << 20), finding);
    }
}

#[test]
fn a_megabyte_of_one_character() {
    for text in ["\"", "@", ";", "\\", "#", "r#", "re\"", "/*", "|", "é", "a ", "! ", "$"] {
        let run = refused(text.repeat(1_000_000 / text.len()), "error");
        assert!(run.err.len() < 200_000, "{text}: {}", run.err.len());
    }
    for text in ["\n", "//", "///", "/// x\n", " "] {
        accepted(text.repeat(1_000_000 / text.len()));
    }
}

#[test]
fn names_and_strings_of_a_million_characters() {
    let long = "a".repeat(1_000_000);
    for (policy, finding) in [
        (hides(&format!("\"{long}\"")), "bad-pattern"),
        (format!("edition 1\ncontext {long} {{ }}"), "error"),
        (
            format!("edition 1\ncontext w {{ mount root at \"/{long}\" {{ allow read }} }}"),
            "bad-host",
        ),
        (format!("edition 1\ncontext w {{ mount {long} at \"/r\" {{ allow read }} }}"), "error"),
        (format!("edition 1\ncontext w {{ grants a:{long} }}"), "bare-grant"),
        (format!("edition 1\ncontext w {{ allow {long} }}"), "unknown-permission"),
        (format!("edition 1\ncontext w {{ use {long} }}"), "undefined-name"),
        (format!("edition 1\nimport \"{long}\"\ncontext w {{ }}"), "missing-import"),
        (format!("edition {}\n", "9".repeat(1_000_000)), "error"),
        (commands(&format!("deny re\"{long}\"")), "bad-pattern"),
        (commands(&format!("deny text\"{long}\"")), "bad-pattern"),
        (format!("edition 1\n{long} w {{ }}"), "syntax-error"),
    ] {
        let run = refused(&policy, finding);
        assert!(run.err.len() < 20_000, "{finding}: {} bytes of output", run.err.len());
    }
    accepted(format!("edition 1\n/// {long}\ncontext w {{ }}"));
    accepted(format!("edition 1\n// {long}\ncontext w {{ }}"));
}

#[test]
fn deep_and_long_directories() {
    let deep = "/a".repeat(2_000);
    accepted(format!("edition 1\ncontext w {{ mount root at \"{deep}\" {{ allow read }} }}"));
    examine(format!(
        "edition 1\ncontext w {{ mount root at \"{}\" {{ allow read }} }}",
        "/a".repeat(200_000)
    ));
}

// Nesting.

#[test]
fn a_hundred_thousand_nested_mounts() {
    let mounts = many(100_000, |i| format!("mount m{i} at \"a\" {{"));
    refused(format!("edition 1\ncontext w {{ {mounts} {}", "}".repeat(100_001)), "too-deep");
    refused(format!("edition 1\ncontext w {{ {mounts}"), "too-deep");
}

#[test]
fn other_nesting() {
    let phases = "in plan {".repeat(100_000);
    refused(format!("edition 1\ncontext w {{ }}\ntest w {{ {phases} }}"), "too-deep");
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}")] {
        let pattern = format!("{}a{}", open.repeat(1_500), close.repeat(1_500));
        for kind in ["", "re", "glob", "text"] {
            examine(commands(&format!("allow {kind}\"{pattern}\"")));
        }
        examine(hides(&format!("\"{pattern}\"")));
    }
}

// Quantity.

#[test]
fn a_hundred_thousand_sibling_mounts() {
    let mounts = |count| {
        let mounts = many(count, |i| format!("mount m{i} at \"/a/b{i}\" {{ allow read }}"));
        format!("edition 1\ncontext w {{ mount root at \"/r\" {{ allow read }}\n{mounts} }}")
    };
    accepted(mounts(5_000));
    // More top-level mounts than a table numbers.
    refused(mounts(100_000), "too-large");
    // Below one mount, they fit.
    let nested = many(20_000, |i| format!("mount m{i} at \"b{i}\" {{ allow read }}"));
    accepted(format!("edition 1\ncontext w {{ mount root at \"/r\" {{ allow read\n{nested} }} }}"));
}

#[test]
fn five_thousand_rules() {
    accepted(commands(&many(5_000, |i| format!("allow \"cmd{i} (a{}|b{}) ...\"", i % 7, i % 11))));
    accepted(commands(&many(5_000, |i| format!("allow \"cmd{i} {{read}} {{write...}}\""))));
    accepted(format!(
        "edition 1\ncontext w {{ tools {{ {} }} }}",
        many(5_000, |i| format!("allow \"tool{i}_*\""))
    ));
    let literals = many(5_000, |i| format!("\"name{i}\", \"*.x{i}\","));
    accepted(hides(&format!("{literals} \"x\"")));
}

#[test]
fn thousands_of_names() {
    accepted(format!("edition 1\n{}", many(10_000, |i| format!("tool t{i} {{ requires a:b }}"))));
    accepted(format!(
        "edition 1\ncontext w {{ grants a:b{} }}",
        many(100_000, |i| format!(", a:b{i}"))
    ));
    refused(format!("edition 1\n{}", many(70_000, |i| format!("context c{i} {{ }}"))), "too-large");
    accepted(format!("edition 1\ncontext w {{ allow read{} }}", " | read".repeat(100_000)));
}

#[test]
fn tens_of_thousands_of_errors() {
    refused(format!("edition 1\n{}", "blah blah;;\n".repeat(50_000)), "further syntax errors");
    let run = refused(format!("edition 1\n{}", "context w { }\n".repeat(5_000)), "duplicate-name");
    assert!(run.err.ends_with('\n'));
    refused(
        format!("edition 1\ncontext w {{ {} }}", many(5_000, |i| format!("allow reed{i}"))),
        "unknown-permission",
    );
    refused(
        format!("edition 1\ncontext w {{ {} }}", many(5_000, |i| format!("use n{i}"))),
        "undefined-name",
    );
    refused(hides(&format!("{} \"x\"", many(5_000, |i| format!("\"[{i}\",")))), "bad-pattern");
    refused(commands(&many(5_000, |i| format!("deny re\"({i}\""))), "bad-pattern");
    accepted(format!(
        "edition 1\n{}context w {{ }}",
        "@allow(contradiction, \"x\")\n".repeat(5_000)
    ));
}

// Names that lead to names.

#[test]
fn permission_sets_of_permission_sets() {
    // A chain that would overflow the stack, and a doubling that would never end.
    let chain = many(20_000, |i| format!("permission p{i} = p{} | read", i + 1));
    accepted(format!("edition 1\n{chain}permission p20000 = write\ncontext w {{ allow p0 }}"));
    let double = many(100, |i| format!("permission p{i} = p{0} | p{0}", i + 1));
    accepted(format!("edition 1\n{double}permission p100 = write\ncontext w {{ allow p0 }}"));
    refused(
        "edition 1\npermission a = b\npermission b = a\ncontext w { allow a }",
        "defined by itself",
    );
    refused("edition 1\npermission a = a\ncontext w { allow a }", "defined by itself");
}

#[test]
fn profiles_of_profiles() {
    let chain = many(20_000, |i| format!("profile p{i} {{ use p{} }}", i + 1));
    refused(
        format!("edition 1\n{chain}profile p20000 {{ allow read }}\ncontext w {{ use p0 }}"),
        "too-deep",
    );
    let double = many(40, |i| format!("profile p{i} {{ use p{0}, p{0} hide \"x{i}\" }}", i + 1));
    refused(
        format!("edition 1\n{double}profile p40 {{ allow read }}\ncontext w {{ use p0 }}"),
        "too-large",
    );
    refused(
        "edition 1\nprofile a { use b }\nprofile b { use a }\ncontext w { use a }",
        "uses itself",
    );
    refused("edition 1\nprofile a { use a }\ncontext w { use a }", "uses itself");
    let short = many(50, |i| format!("profile p{i} {{ use p{} }}", i + 1));
    accepted(format!("edition 1\n{short}profile p50 {{ allow read }}\ncontext w {{ use p0 }}"));
}

#[test]
fn narrowing_chains_and_managers() {
    let chain = many(5_000, |i| format!("context c{i} narrows c{} {{ }}", i + 1));
    examine(format!("edition 1\n{chain}context c5000 {{ }}"));
    examine("edition 1\ncontext a narrows b { }\ncontext b narrows a { }\ncontext c narrows c { }");
    examine("edition 1\ncontext a { }\nmanager a approves a, a, a\nmanager a approves a");
}

// Patterns that blow up.

#[test]
fn hide_patterns_that_blow_up() {
    for pattern in [
        "*a????????????????????????",
        "*a???????????/*b????????????????????",
        "*a*b*c*d*e*f*g*h*i?????????????????",
    ] {
        examine(hides(&format!("\"{pattern}\"")));
    }
    refused(hides("\"*a????????????????????????\""), "bad-pattern").says("states");
    for pattern in [
        "*".repeat(4_000),
        "**/".repeat(1_300),
        "*a".repeat(2_000),
        "[a-z]".repeat(800),
        "?".repeat(4_000),
        "a/".repeat(2_000),
    ] {
        examine(hides(&format!("\"{pattern}\"")));
    }
}

#[test]
fn command_patterns_that_blow_up() {
    for rule in [
        r#"deny "*a*b*c*d*e*f*g*h*i ?????????????????""#,
        r#"deny "(a|b|c|d)*(a|b|c|d)*(a|b|c|d)*?????????????????""#,
        r#"deny re"(a|b)*a(a|b){30}""#,
        r#"deny re"((((a{100}){100}){100}){100})""#,
        r#"deny re"(a*)*(a*)*(a+)+b""#,
        r#"deny re"a{1000000000}""#,
        r#"deny re"\p{L}{100}\w{200}""#,
        r#"deny re"(?:a?){500}a{500}""#,
        r#"deny re"(x+x+)+y""#,
        r#"deny re".{0,2000}a.{0,2000}b""#,
        r#"deny glob"*a????????????????????????""#,
        r#"allow "tool (a|b)(c|d)(e|f)(g|h)(i|j)(k|l)(m|n)(o|p)(q|r)(s|t)={read}""#,
    ] {
        examine(commands(rule));
    }
    refused(commands(r#"deny re"(a|b)*a(a|b){30}""#), "bad-pattern").says("too large");
    examine(commands(&format!("deny \"{} x\"", "(a|b)".repeat(60))));
    examine(commands(&format!("allow \"x {}\"", "{read} ".repeat(500))));
}

/// Each is within its own limit; together they are not.
#[test]
fn many_patterns_that_nearly_blow_up() {
    let patterns = many(300, |i| format!("\"*a{i}????????????\","));
    examine(hides(&format!("{patterns} \"x\"")));
    refused(
        hides(&format!("{} \"x\"", many(250, |i| format!("\"*a????????????????????????{i}\",")))),
        "too-large",
    );
    refused(commands(&many(5, |i| format!("deny re\"(a|b)*a(a|b){{30}}{i}\""))), "error");
    refused(
        hides(&format!("{} \"x\"", many(500, |i| format!("\"*x{i}*y{}*z*\",", i % 13)))),
        "too-large",
    );
}

// Imports and directories.

fn import_into(directory: &Path, files: &[(&str, &str)]) -> Run {
    for (name, text) in files {
        fs::write(directory.join(name), text).unwrap();
    }
    meroc(directory, &["check", files[0].0])
}

#[test]
fn import_cycles() {
    let dir = directory();
    import_into(dir.path(), &[("a.mero", "edition 1\nimport \"a.mero\"\n")])
        .code(1)
        .says("import-cycle");
    import_into(dir.path(), &[("b.mero", "import \"./x/../b.mero\"\n")]).code(1);
    import_into(
        dir.path(),
        &[
            ("c.mero", "import \"d.mero\"\n"),
            ("d.mero", "import \"e.mero\"\n"),
            ("e.mero", "import \"c.mero\"\n"),
        ],
    )
    .code(1)
    .says("a circle");
}

#[test]
fn long_chains_and_many_imports() {
    let dir = directory();
    for i in 0..1_100 {
        fs::write(
            dir.path().join(format!("f{i}.mero")),
            format!("import \"f{}.mero\"\npermission q{i} = read\n", i + 1),
        )
        .unwrap();
    }
    fs::write(dir.path().join("f1100.mero"), "").unwrap();
    meroc(dir.path(), &["check", "f0.mero"]).code(1).says("too-large");
    meroc(dir.path(), &["check", "f300.mero"]).code(0);
}

#[test]
fn imports_of_what_cannot_be_read() {
    let dir = directory();
    fs::create_dir(dir.path().join("sub")).unwrap();
    fs::write(dir.path().join("latin.mero"), b"// \xe9").unwrap();
    fs::write(dir.path().join("table.mero"), b"MEROTBL\0").unwrap();
    for (target, finding) in [
        ("sub", "it is a directory"),
        ("nothing.mero", "there is no such file"),
        ("", "missing-import"),
        (".", "missing-import"),
        ("/dev/zero", "too-large"),
        ("latin.mero", "not-utf8"),
        ("table.mero", "error"),
        ("\\u{0}", "error"),
        ("HEAD:x.mero", "missing-import"),
    ] {
        let policy = format!("import \"{target}\"\n");
        import_into(dir.path(), &[("p.mero", &policy)]).code(1).says(finding);
    }
}

#[test]
fn odd_policy_directories() {
    let config = |text: &[u8]| {
        let dir = directory();
        fs::write(dir.path().join("mero.toml"), text).unwrap();
        fs::write(dir.path().join("p.mero"), "edition 1\n").unwrap();
        meroc(dir.path(), &["check", "."])
    };
    config(b"roots = [\"p.mero\"]").code(0);
    config(b"roots = [\"p.mero\", \"./p.mero\"]").code(0);
    for text in [
        &b""[..],
        b"roots = []",
        b"roots = 1",
        b"roots = [1]",
        b"root = [\"p.mero\"]",
        b"roots = [\"p.mero\"]\nother = 1",
        b"\xff",
        b"[[[[",
        b"roots = [\"nothing.mero\"]",
        b"roots = [\"..\"]",
        b"roots = [\"\"]",
    ] {
        config(text).code(2).says("mero");
    }
    config("[".repeat(1_000_000).as_bytes()).code(2);
    config(format!("roots = {}", "[".repeat(100_000)).as_bytes()).code(2);

    let dir = directory();
    meroc(dir.path(), &["check", "."]).code(2).says("holds no policy");
    meroc(dir.path(), &["check", "missing"]).code(2).says("cannot read");
    // A directory whose name ends like a policy's is none.
    fs::create_dir(dir.path().join("d.mero")).unwrap();
    meroc(dir.path(), &["check", "."]).code(2).says("holds no policy");
    meroc(dir.path(), &["check", "/dev/null"]).code(0);
    fs::create_dir(dir.path().join("mero.toml")).unwrap();
    meroc(dir.path(), &["check", "."]).code(2);
}

// Tables where they are read.

#[test]
fn damaged_tables_on_the_command_line() {
    let dir = directory();
    fs::write(dir.path().join("p.mero"), "edition 1\ncontext w { allow read }\n").unwrap();
    meroc(dir.path(), &["compile", "p.mero", "-o", "p.merot"]).code(0);
    let whole = fs::read(dir.path().join("p.merot")).unwrap();
    let mut changed = whole.clone();
    changed[70] ^= 1;
    let mut newer = whole.clone();
    newer[8] = 9;
    for (bytes, says) in [
        (&whole[..40], "fewer than a header"),
        (&whole[..whole.len() - 1], "cut or has something appended"),
        (&changed, "does not match its digest"),
        (&newer, "version 9"),
        (b"edition 1", "not a Mero table"),
        (b"", "not a Mero table"),
    ] {
        fs::write(dir.path().join("bad.merot"), bytes).unwrap();
        for arguments in [
            &["inspect", "bad.merot"][..],
            &["eval", "bad.merot"],
            &["explain", "bad.merot", "-c", "w", "read", "/x"],
        ] {
            let run = meroc(dir.path(), arguments).code(2);
            // Wrapped for the width of a terminal.
            let words = run.err.replace(['│', '╰', '─', '▶', '├', '\n'], " ");
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(says), "{arguments:?}: {words}");
        }
    }
    meroc(dir.path(), &["check", "p.merot"]).code(2).says("compiled table");
    meroc(dir.path(), &["compile", "p.merot", "-o", "x"]).code(2).says("compiled table");
}

#[test]
fn requests_that_are_not_requests() {
    let dir = directory();
    fs::write(dir.path().join("p.mero"), "edition 1\ncontext w { unconfined allow read }\n")
        .unwrap();
    let mut input = b"\xff\xfe\n[[[[[\n{}\nnull\n1\n\"x\"\n{\"path\":\"/x\",\"permission\":\"read\",\"path\":\"/y\"}\n".to_vec();
    input.extend("[".repeat(200_000).bytes());
    input.push(b'\n');
    input.extend(
        format!("{{\"path\":\"{}\",\"permission\":\"read\"}}\n", "a/".repeat(1_000_000)).bytes(),
    );
    input.extend(b"{\"path\":\"/x\",\"permission\":\"read\"}");
    let run = meroc_with(dir.path(), &["eval", "p.mero"], &input, &[]).code(1);
    let lines = run.lines();
    assert_eq!(lines.len(), 10);
    for (number, line) in lines.iter().enumerate().take(8) {
        assert_eq!(line["line"], number + 1, "{line}");
        assert!(line["error"].is_string());
    }
    assert_eq!(lines[8]["reason"], "invalid");
    assert_eq!(lines[9]["effect"], "allow");
}
