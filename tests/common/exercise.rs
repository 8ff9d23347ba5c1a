//! Asks a table everything that can be asked, and signs tables anew after they
//! were changed. The fuzz targets include this file too: it uses nothing but
//! the runtime and the standard library.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use mero_runtime::format::{DIGEST, HEADER, Section};
use mero_runtime::{
    Context, Decision, Effect, Kind, MAX_PATH, Permission, Phase, Session, Table, blake3,
};

/// Writes the digest that belongs to the rest of the bytes, as the compiler
/// does, and the length where `length` says so.
pub fn sign(bytes: &mut [u8], length: bool) {
    if bytes.len() < HEADER {
        return;
    }
    if length {
        let total = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        bytes[12..16].copy_from_slice(&total.to_le_bytes());
    }
    let head = blake3(&bytes[..DIGEST.start]);
    let body = blake3(&bytes[DIGEST.end..]);
    let digest = blake3(&[head, body].concat());
    bytes[DIGEST].copy_from_slice(&digest);
}

const PATHS: [&[u8]; 18] = [
    b"/",
    b"",
    b"x",
    b"/a/b/c.pem",
    b"./a/../b/",
    b"../../..",
    b"/data/q3.csv",
    b"/srv/w/data/.env",
    b"/srv/w",
    b"/",
    b"\\data\\x",
    b"/data//x/./y",
    b"~",
    b"~/x",
    b"~user",
    b"a\0b",
    b"/\xff\xfe/\xc3",
    b"/secrets/sub/key.pem/",
];

const ARGVS: [&[&[u8]]; 9] = [
    &[],
    &[b""],
    &[b"git", b"status"],
    &[b"git", b"push", b"--force", b"x"],
    &[b"cat", b"/data/q3.csv", b"../../etc/passwd", b"-"],
    &[b"tool", b"--out=x", b"--out=/data/y", b"--out="],
    &[b"/usr/bin/rm", b"-rf", b"/"],
    &[b"\xff", b"a b", b"\n"],
    &[b"a\0b"],
];

const COMMANDS: [&str; 6] =
    ["", "git status", "git log -1", "rm -rf / && ls", "cat data/x ../y", "  make\tall=1  "];

const TOOLS: [(&str, &[&str]); 7] = [
    ("", &[]),
    ("file_write", &[]),
    ("grep", &["core:fs.read"]),
    ("mcp__x__y", &["nope"]),
    ("bash", &["a:b", "core:fs.write"]),
    ("\0", &[]),
    ("é", &["é:é"]),
];

/// What every decision must satisfy, whatever the table.
fn sane(context: &Context<'_>, decision: Decision) {
    let granting = matches!(decision.reason.name(), "granted" | "approval-required");
    assert!(
        granting || decision.effect != Effect::Allow || decision.reason.name() == "command-opaque"
    );
    if let Some(mount) = decision.mount {
        let _ = context.slug(mount);
    }
    if let Some(rule) = decision.rule {
        assert!(context.table().rule(rule).is_some(), "a rule that the table does not know");
    }
}

fn paths(context: &Context<'_>, session: &Session<'_>, path: &[u8], kinds: &[Kind]) {
    for &kind in kinds {
        for permissions in [Permission::READ, Permission::DELETE, Permission::all()] {
            sane(context, context.path(session, path, permissions, kind));
        }
    }
    if let Ok(place) = context.place(session, path) {
        let mut buffer = [0u8; 64];
        let _ = place.copy_to(&mut buffer);
        assert!(place.to_string().starts_with(['/', '.']) || !path.starts_with(b"/"));
    }
}

/// Puts requests of every kind to every context of a table. `thorough` asks
/// about all phases and long requests.
pub fn exercise(table: &Table<'_>, thorough: bool) {
    let _ = format!("{table:?}");
    let _ = (table.digest(), table.bytes(), table.has_debug_info());
    let files = table.files().count();
    assert!(table.parts().map(|p| p.bytes).sum::<usize>() < table.bytes().len());
    let texts = |p: &mero_runtime::TableParts| p.section == Section::RuleTexts;
    let rules = table.parts().find(texts).map_or(0, |p| p.records);
    for index in (0..rules).take(if thorough { usize::MAX } else { 8 }) {
        let rule = mero_runtime::RuleId(u32::try_from(index).unwrap());
        let text = table.rule(rule).expect("a rule of the section");
        assert!(files > 0 || text.file.is_empty());
    }
    let params = table.params().map(|(n, _)| (n, &b"/srv/param"[..])).collect::<Vec<_>>();
    let long = [b"/".to_vec(), b"a/".repeat(MAX_PATH / 2 - 1)].concat();
    let climbing = b"/a/..".repeat(MAX_PATH / 5);
    let too_long = vec![b'a'; MAX_PATH + 1];
    let phases: &[Phase] =
        if thorough { &Phase::ALL } else { &[Phase::Default, Phase::BypassPermissions] };
    for context in table.contexts() {
        let _ = format!("{context:?} {}", context.is_unconfined());
        let _ = table.context(context.name());
        let _ = context.grants().chain(context.approves()).map(str::len).sum::<usize>();
        let _ = context.env().chain(context.wrappers()).map(<[u8]>::len).sum::<usize>();
        let _ = context.grants().filter(|g| context.holds(g)).count();
        let slugs = context.mounts().map(|m| context.slug(m)).collect::<Vec<_>>();
        for &phase in phases {
            let bound = Session {
                phase,
                base: b"/srv",
                home: Some(b"/home/me"),
                working_directory: None,
                params: &params,
                links: None,
            };
            let inside = Session { working_directory: Some(b"/srv/w/data"), ..bound };
            let root = Session { base: b"/", home: Some(b"/"), ..bound };
            let unbound = Session { phase, ..Session::default() };
            for session in
                [bound, inside, root, unbound].into_iter().take(if thorough { 4 } else { 2 })
            {
                let _ = context.check_binding(&session).map_err(|e| e.to_string());
                let kinds: &[Kind] = if thorough {
                    &[Kind::File, Kind::Directory, Kind::Unknown]
                } else {
                    &[Kind::Unknown]
                };
                for path in PATHS.into_iter().skip(if thorough { 0 } else { 2 }).take(if thorough {
                    18
                } else {
                    14
                }) {
                    paths(&context, &session, path, kinds);
                }
                for slug in slugs.iter().take(16) {
                    paths(&context, &session, format!("/{slug}").as_bytes(), kinds);
                    paths(&context, &session, format!("/{slug}/a/.env").as_bytes(), kinds);
                }
                if thorough {
                    for path in [&long, &climbing, &too_long] {
                        paths(&context, &session, path, kinds);
                    }
                }
                for argv in ARGVS {
                    sane(&context, context.argv(&session, argv));
                }
                for command in COMMANDS {
                    sane(&context, context.command(&session, command));
                }
            }
            for (name, requires) in TOOLS {
                sane(&context, context.tool(&bound, name, requires));
            }
            for permissions in [Permission::empty(), Permission::READ, Permission::all()] {
                sane(&context, context.permission(&bound, permissions));
            }
        }
    }
    assert!(table.context("no such context, surely").is_none());
}

/// Reads bytes as a table and, if they are one, asks it everything. Gives
/// whether they were.
pub fn read(bytes: &[u8], thorough: bool) -> bool {
    match Table::from_bytes(bytes) {
        Ok(table) => {
            exercise(&table, thorough);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}
