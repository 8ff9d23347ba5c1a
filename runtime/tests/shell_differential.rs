//! Command strings at random, given to real shells: what runs and what files
//! appear must be among what the splitter reports, or the string is opaque.
//!
//! `MERO_DIFF_STRINGS` sets how many strings, `MERO_DIFF_SEED` where to begin.
//! Needs `bash`, `dash` and `cc`; as root it steps down to nobody with
//! `setpriv`, and refuses where it cannot unless `MERO_DIFF_AS_ROOT=1`.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod support;

use mero_runtime::shell::split;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use support::generator::{Generator, STUBS};

/// What one shell did with one string.
struct Observed {
    killed: bool,
    syntax: bool,
    ran: Vec<Vec<u8>>,
    files: Vec<Vec<u8>>,
}

struct Runner {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
}

impl Runner {
    fn number(&mut self) -> usize {
        let mut bytes = [0; 4];
        self.stdout.read_exact(&mut bytes).expect("the runner answers");
        u32::from_le_bytes(bytes) as usize
    }

    fn block(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; self.number()];
        self.stdout.read_exact(&mut bytes).expect("the runner answers");
        bytes
    }

    fn run(&mut self, script: &[u8]) -> [Observed; 2] {
        self.stdin.write_all(&(script.len() as u32).to_le_bytes()).expect("the runner listens");
        self.stdin.write_all(script).expect("the runner listens");
        core::array::from_fn(|_| {
            let flags = self.number();
            let report = self.block();
            let files = self.block();
            let mut ran = Vec::new();
            let mut rest = &report[..];
            while let Some((length, tail)) = rest.split_first_chunk::<4>() {
                let length = (u32::from_le_bytes(*length) as usize).min(tail.len());
                ran.push(tail[..length].to_vec());
                rest = &tail[length..];
            }
            let files = files.split(|b| *b == 0).filter(|f| !f.is_empty());
            Observed {
                killed: flags & 1 != 0,
                syntax: flags & 2 != 0,
                ran,
                files: files.map(<[u8]>::to_vec).collect(),
            }
        })
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|d| d.join(program)).find(|p| p.is_file())
}

/// A directory of stubs, and one working directory for each runner.
struct Place {
    root: PathBuf,
    step_down: Vec<String>,
    bash: PathBuf,
    dash: PathBuf,
}

impl Place {
    fn new() -> Option<Place> {
        let (bash, dash) = (found("bash")?, found("dash")?);
        let cc = found("cc")?;
        let id = Command::new("id").arg("-u").output().ok()?;
        let mut step_down = Vec::new();
        if id.stdout.trim_ascii() == b"0" {
            let setpriv = found("setpriv").unwrap_or_default().display().to_string();
            let setpriv = [&setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"];
            if works(&setpriv) {
                step_down.extend(setpriv.map(str::to_owned));
            } else if std::env::var_os("MERO_DIFF_AS_ROOT").is_none() {
                return None;
            }
            let unshare = found("unshare").unwrap_or_default().display().to_string();
            if works(&[&unshare, "--net"]) {
                step_down.splice(0..0, [unshare, "--net".to_owned()]);
            }
        }
        let root = std::env::temp_dir().join(format!("mero-differential-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(root.join("bin")).ok()?;
        open(&root, 0o755);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/runner.c");
        let runner = root.join("runner");
        let built = Command::new(cc).args(["-O1", "-o"]).arg(&runner).arg(source).status().ok()?;
        assert!(built.success(), "the runner compiles");
        for stub in STUBS {
            std::fs::hard_link(&runner, root.join("bin").join(stub)).ok()?;
        }
        Some(Place { root, step_down, bash, dash })
    }

    fn runner(&self, number: usize) -> Runner {
        let directory = self.root.join(format!("w{number}"));
        let errors = self.root.join(format!("e{number}"));
        for made in [&directory, &errors] {
            std::fs::create_dir_all(made).expect("a directory is made");
            open(made, 0o777);
        }
        for name in ["p1", "p2", "-n", "o"] {
            std::fs::write(directory.join(name), "p\n").expect("a file is made");
        }
        let runner = self.root.join("runner").display().to_string();
        let mut all: Vec<&str> = self.step_down.iter().map(String::as_str).collect();
        all.push(&runner);
        let mut child = Command::new(all[0])
            .args(&all[1..])
            .args([&self.bash, &self.dash])
            .arg(errors.join("stderr"))
            .current_dir(&directory)
            .env_clear()
            .env("PATH", self.root.join("bin"))
            .env("HOME", "/nowhere")
            .env("LC_ALL", "C.UTF-8")
            .env("X", "p q")
            .env("Y", "")
            .env("Z", "*")
            .env("W", "a")
            .env("N", "-n $(rm)")
            .env("BASH_FUNC_command_not_found_handle%%", "() { notfound \"$@\"\n}")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the runner starts");
        let stdin = child.stdin.take().expect("it is piped");
        let stdout = child.stdout.take().expect("it is piped");
        Runner { child, stdin, stdout }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

fn works(command: &[&str]) -> bool {
    let status =
        Command::new(command[0]).args(&command[1..]).arg("true").stderr(Stdio::null()).status();
    status.is_ok_and(|s| s.success())
}

fn open(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
}

#[derive(Default, Debug, Clone, Copy)]
struct Counts {
    strings: usize,
    opaque: usize,
    syntax_in_both: usize,
    compared: usize,
    /// Not opaque, and something ran.
    telling: usize,
    /// A syntax error in neither shell.
    valid: usize,
    valid_opaque: usize,
    killed: usize,
    unsound: usize,
}

/// What speaks against a string: something that no reported command covers.
fn complaint(script: &[u8], observed: &[Observed; 2]) -> Option<String> {
    let taken = split(script);
    if !taken.opaque.is_empty() {
        return None;
    }
    // What these run is for whoever reads their words to find, and so is a
    // command word that may turn out to be one of them.
    const RUNNERS: [&str; 19] = [
        ".", "source", "eval", "exec", "command", "builtin", "trap", "alias", "compgen", "bind",
        "complete", "let", "printf", "test", "[", "read", "declare", "typeset", "shopt",
    ];
    let runs_others = taken.commands.iter().any(|c| {
        let Some(first) = c.words.first() else { return false };
        let may_be = |name: &&str| {
            support::covers(core::slice::from_ref(first), &[name.as_bytes(), &[0]].concat())
        };
        match first.known() {
            Some(known) => RUNNERS[..8].iter().any(|r| r.as_bytes() == known),
            None => first.parts.len() > 1 && RUNNERS.iter().any(may_be),
        }
    });
    if runs_others {
        return None;
    }
    for (shell, observed) in ["bash", "dash"].iter().zip(observed) {
        for argv in &observed.ran {
            if !support::runs(&taken, argv) {
                return Some(format!("{shell} runs {:?}", String::from_utf8_lossy(argv)));
            }
        }
        for file in &observed.files {
            if !support::creates(&taken, file) {
                return Some(format!("{shell} creates {:?}", String::from_utf8_lossy(file)));
            }
        }
    }
    None
}

/// The same complaint about a shorter string.
fn shrink(runner: &mut Runner, script: &[u8]) -> Vec<u8> {
    let mut best = script.to_vec();
    let mut width = best.len() / 2;
    let mut tries = 400;
    while width > 0 && tries > 0 {
        let mut at = 0;
        let mut shorter = false;
        while at + width <= best.len() && tries > 0 {
            tries -= 1;
            let mut next = best.clone();
            next.drain(at..at + width);
            let observed = runner.run(&next);
            if complaint(&next, &observed).is_some() {
                best = next;
                shorter = true;
            } else {
                at += 1.max(width / 2);
            }
        }
        if !shorter || width > 1 {
            width /= 2;
        }
    }
    best
}

/// Scripts of the other tests that run nothing but stubs here.
fn corpus() -> Vec<Vec<u8>> {
    const NOT: [&str; 13] = [
        "/", "eval", "exec", "command", "builtin", "source", "trap", "alias", "coproc", "kill",
        ". ", "shopt", "unset",
    ];
    let fits = |s: &&str| !NOT.iter().any(|n| s.contains(n));
    support::literal().map(|c| c.0).filter(fits).map(|s| s.as_bytes().to_vec()).collect()
}

/// One of how many opaque strings is run.
const OPAQUE_SAMPLE: usize = 6;

fn work(place: &Place, number: usize, seed: u64, strings: usize) -> (Counts, Vec<String>) {
    let mut runner = place.runner(number);
    let mut counts = Counts::default();
    let mut complaints = Vec::new();
    let mut corpus = corpus();
    corpus.push(b"a; b".to_vec());
    for n in 0..strings {
        let at = seed.wrapping_mul(0x1_0000_0000).wrapping_add((n * 64 + number) as u64);
        let mut generator = Generator::new(at);
        let mut script = generator.script();
        match generator.random.below(8) {
            0 | 1 => {
                let other = corpus[generator.random.below(corpus.len())].clone();
                script = generator.damage(&script, &other);
            }
            2 | 3 => {
                let chosen = corpus[generator.random.below(corpus.len())].clone();
                let other = corpus[generator.random.below(corpus.len())].clone();
                script = generator.damage(&chosen, &other);
            }
            _ => {}
        }
        if let Some(literal) = corpus.get(n).filter(|_| number == 0) {
            script = literal.clone();
        }
        let opaque = !split(&script).opaque.is_empty();
        counts.strings += 1;
        counts.opaque += usize::from(opaque);
        // Opaque strings are run for the sake of statistics only: some of them,
        // each counted for all.
        let weight = if opaque { OPAQUE_SAMPLE } else { 1 };
        if opaque && generator.random.below(OPAQUE_SAMPLE) != 0 {
            continue;
        }
        let observed = runner.run(&script);
        if counts.strings % 5000 == 0 {
            println!("seed {seed}, worker {number}: {counts:?}");
        }
        counts.killed += usize::from(observed.iter().any(|o| o.killed));
        let errors = observed.iter().filter(|o| o.syntax).count();
        counts.syntax_in_both += weight * usize::from(errors == 2);
        counts.valid += weight * usize::from(errors == 0);
        counts.valid_opaque += weight * usize::from(errors == 0 && opaque);
        counts.compared += usize::from(!opaque);
        let ran = observed.iter().any(|o| !o.ran.is_empty());
        counts.telling += usize::from(!opaque && ran);
        if complaint(&script, &observed).is_some() {
            counts.unsound += 1;
            if complaints.len() < 12 {
                let short = shrink(&mut runner, &script);
                let observed = runner.run(&short);
                let why = complaint(&short, &observed);
                let taken = support::render(&short);
                let short = String::from_utf8_lossy(&short).into_owned();
                let line = format!("{short:?}\n  {}\n  taken as {taken}", why.unwrap_or_default());
                println!("{line}");
                complaints.push(line);
            }
        }
    }
    (counts, complaints)
}

fn setting(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn real_shells_run_nothing_else() {
    let Some(place) = Place::new() else {
        println!("skipped: needs bash, dash, cc, and an unprivileged user");
        return;
    };
    let strings = setting("MERO_DIFF_STRINGS", 2500);
    let seed = setting("MERO_DIFF_SEED", 1) as u64;
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(16);
    let begin = std::time::Instant::now();
    let results: Vec<_> = std::thread::scope(|scope| {
        let place = &place;
        let started: Vec<_> = (0..workers)
            .map(|n| scope.spawn(move || work(place, n, seed, strings / workers)))
            .collect();
        started.into_iter().map(|w| w.join().expect("a worker ends")).collect()
    });
    let mut all = Counts::default();
    let mut complaints = Vec::new();
    for (c, lines) in results {
        all.strings += c.strings;
        all.opaque += c.opaque;
        all.syntax_in_both += c.syntax_in_both;
        all.compared += c.compared;
        all.telling += c.telling;
        all.valid += c.valid;
        all.valid_opaque += c.valid_opaque;
        all.killed += c.killed;
        all.unsound += c.unsound;
        complaints.extend(lines);
    }
    println!("seed {seed}: {all:?} in {:.1?}", begin.elapsed());
    assert!(complaints.is_empty(), "{} unsound:\n{}", all.unsound, complaints.join("\n"));
    assert!(strings < 1000 || all.telling * 3 >= all.strings, "too few strings tell anything");
}
