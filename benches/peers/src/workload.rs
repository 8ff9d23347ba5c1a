//! The rules and requests that every engine is given: drawn by a fixed generator, so that
//! two runs, and two machines, decide the same.
//!
//! Half of the rules are mounts, nested up to four deep; three tenths are hide patterns of
//! six shapes; two tenths are command rules, which only Mero is asked about. A mount may
//! be read or not; what lies in one that may not be read may not be read either, so that
//! engines without nesting can say the same with prefixes.

use std::fmt::Write;

/// A shape of hide pattern, with the word that tells it from others.
#[derive(Clone, Debug)]
pub enum Hide {
    /// `word`: anything of this name.
    Name(String),
    /// `*.word`: anything with this extension.
    Extension(String),
    /// `word*`: any name that begins so.
    Prefix(String),
    /// `/word/`: a directory at the top.
    Top(String),
    /// `word/**/*.bak`: such files below a directory at the top.
    Backups(String),
    /// `word/`: any directory of this name.
    Directory(String),
}

/// Rules and requests.
#[derive(Debug)]
pub struct Workload {
    /// How many rules.
    pub rules: usize,
    /// Directories without a leading `/`, and whether they may be read; parents first.
    pub mounts: Vec<(String, bool)>,
    /// What is hidden.
    pub hides: Vec<Hide>,
    /// Command patterns with their effects.
    pub commands: Vec<(&'static str, String)>,
    /// Absolute paths of files, each once.
    pub paths: Vec<String>,
}

/// A small generator (xorshift): what it draws is part of the workload.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const WORDS: [&str; 24] = [
    "src",
    "lib",
    "components",
    "deeply",
    "nested",
    "docs",
    "guide",
    "section",
    "keys",
    "utils",
    "test",
    "internal",
    "api",
    "v2",
    "models",
    "views",
    "build",
    "assets",
    "main",
    "index",
    "cache",
    "tmp",
    "secret",
    "module",
];
const EXTENSIONS: [&str; 10] =
    ["rs", "tsx", "md", "pem", "json", "py", "toml", "txt", "bak", "ext"];

impl Workload {
    /// Draws `rules` rules and `requests` requests.
    pub fn new(rules: usize, requests: usize) -> Workload {
        let mut draw = Draw(0x9E37_79B9_7F4A_7C15);
        let mut mounts: Vec<(String, bool)> = Vec::new();
        for i in 0..(rules / 2).max(2) {
            let parent = (i > 0 && draw.below(4) == 0).then(|| draw.below(i));
            let parent = parent.map(|p| mounts[p].clone());
            let parent = parent.filter(|(d, _)| d.matches('/').count() < 4);
            mounts.push(match parent {
                Some((directory, readable)) => {
                    (format!("{directory}/sub{i}"), readable && draw.below(3) > 0)
                }
                None => (format!("pkg{}/module{i}", draw.below(20)), draw.below(3) > 0),
            });
        }
        let hides = (0..(rules * 3 / 10).max(1)).map(|i| match i % 6 {
            0 => Hide::Extension(format!("ext{i}")),
            1 => Hide::Name(format!("secret{i}")),
            2 => Hide::Top(format!("build{i}")),
            3 => Hide::Prefix(format!("tmp{i}x")),
            4 => Hide::Backups(format!("docs{i}")),
            _ => Hide::Directory(format!("cache{i}")),
        });
        let hides = hides.collect::<Vec<_>>();
        let commands = (0..rules / 5).map(|i| {
            let effect = ["allow", "ask", "deny"][i % 3];
            (effect, format!("tool{i} (run|test) --flag{} ...", i % 7))
        });
        let commands = commands.collect();
        let mut paths = Vec::with_capacity(requests);
        let mut seen = std::collections::HashSet::new();
        while paths.len() < requests {
            let path = Workload::path(&mut draw, &mounts, &hides);
            if seen.insert(path.clone()) {
                paths.push(path);
            }
        }
        Workload { rules, mounts, hides, commands, paths }
    }

    /// Half of the paths lie in a mount, one in seven meets a pattern.
    fn path(draw: &mut Draw, mounts: &[(String, bool)], hides: &[Hide]) -> String {
        let hide = (draw.below(7) == 0).then(|| &hides[draw.below(hides.len())]);
        let mut path = String::new();
        match hide {
            Some(Hide::Top(d)) if draw.below(2) == 0 => write!(path, "/{d}").unwrap(),
            Some(Hide::Backups(d)) => write!(path, "/{d}").unwrap(),
            _ => match draw.below(4) {
                0 | 1 => write!(path, "/{}", mounts[draw.below(mounts.len())].0).unwrap(),
                2 => write!(path, "/pkg{}", draw.below(25)).unwrap(),
                _ => {}
            },
        }
        let middle = 2 + draw.below(3);
        let at = draw.below(middle);
        for i in 0..middle {
            match hide {
                Some(Hide::Name(n) | Hide::Directory(n)) if i == at => {
                    write!(path, "/{n}").unwrap();
                }
                Some(Hide::Prefix(n)) if i == at => {
                    write!(path, "/{n}{}", draw.of(&WORDS)).unwrap();
                }
                _ => write!(path, "/{}", draw.of(&WORDS)).unwrap(),
            }
            if draw.below(4) == 0 {
                write!(path, "{}", draw.below(100)).unwrap();
            }
        }
        let extension = match hide {
            Some(Hide::Extension(e)) => e,
            Some(Hide::Backups(_)) => "bak",
            _ => draw.of(&EXTENSIONS),
        };
        let (word, number) = (draw.of(&WORDS), draw.below(10_000));
        write!(path, "/{word}_{number}.{extension}").unwrap();
        path
    }

    /// The policy in Mero's language.
    pub fn mero(&self) -> String {
        let mut text = String::from(
            "edition 1\ncontext w {\n    grants core:fs.read, core:fs.write, acme:widget\n    \
             mount root at \"./ws\" {\n        allow read | write\n        hide \"*.never\"",
        );
        for hide in &self.hides {
            write!(text, ", \"{}\"", pattern(hide)).unwrap();
        }
        text.push('\n');
        for (i, (directory, readable)) in self.mounts.iter().enumerate() {
            let right = if *readable { "read" } else { "write" };
            writeln!(text, "        mount m{i} at \"{directory}\" {{ allow {right} }}").unwrap();
        }
        text.push_str("    }\n    commands {\n        allow \"git (status|log|diff) ...\"\n");
        for (effect, command) in &self.commands {
            writeln!(text, "        {effect} \"{command}\"").unwrap();
        }
        text + "    }\n}\n"
    }

    /// What is right, read off the rules one by one.
    pub fn right(&self, path: &str) -> bool {
        let path = path.trim_start_matches('/');
        let segments = path.split('/').collect::<Vec<_>>();
        let hidden = self.hides.iter().any(|hide| match hide {
            Hide::Name(n) => segments.iter().any(|s| s == n),
            Hide::Extension(e) => segments
                .iter()
                .any(|s| s.strip_suffix(e.as_str()).is_some_and(|r| r.ends_with('.'))),
            Hide::Prefix(p) => segments.iter().any(|s| s.starts_with(p.as_str())),
            Hide::Top(d) => segments.len() > 1 && segments[0] == d,
            Hide::Backups(d) => {
                segments[0] == d && segments[1..].iter().any(|s| s.ends_with(".bak"))
            }
            Hide::Directory(d) => segments[..segments.len() - 1].iter().any(|s| s == d),
        });
        let inside = |d: &str| path.strip_prefix(d).is_some_and(|r| r.starts_with('/'));
        let deepest = self.mounts.iter().filter(|(d, _)| inside(d)).max_by_key(|(d, _)| d.len());
        !hidden && deepest.is_none_or(|(_, readable)| *readable)
    }
}

/// A pattern as in a `.gitignore`.
pub fn pattern(hide: &Hide) -> String {
    match hide {
        Hide::Name(n) => n.clone(),
        Hide::Extension(e) => format!("*.{e}"),
        Hide::Prefix(p) => format!("{p}*"),
        Hide::Top(d) => format!("/{d}/"),
        Hide::Backups(d) => format!("{d}/**/*.bak"),
        Hide::Directory(d) => format!("{d}/"),
    }
}
