//! Word patterns in parts, to write commands that they match.
//!
//! This reading only proposes: whether a command is matched is for the automata.

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    Literal(char),
    /// `*`.
    Star,
    /// `?` or a class, with a character that is likely in it.
    One(char),
    Choice(Vec<Vec<Atom>>),
}

/// A word of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Word {
    pub(super) atoms: Vec<Atom>,
    /// It ends in a path.
    pub(super) hole: bool,
    /// It stands for any number of arguments.
    pub(super) rest: bool,
}

/// Most spellings that are written out.
const MAX_SPELLINGS: usize = 32;

/// The words of a pattern that is well formed.
pub(super) fn parse(pattern: &str) -> Vec<Word> {
    let mut chars = pattern.chars().peekable();
    let mut out = Vec::new();
    loop {
        while chars.next_if(|c| matches!(c, ' ' | '\t' | '\n' | '\r')).is_some() {}
        if chars.peek().is_none() {
            return out;
        }
        let mut word = Word { atoms: sequence(&mut chars, true), ..Word::default() };
        if chars.next_if_eq(&'{').is_some() {
            let hole = chars.by_ref().take_while(|c| *c != '}').collect::<String>();
            word.hole = true;
            word.rest = hole.ends_with("...");
        }
        let dots = [const { Atom::Literal('.') }; 3];
        if word.atoms == dots && !word.hole {
            word = Word { rest: true, ..Word::default() };
        }
        out.push(word);
        // What no pattern has outside of parentheses; never stand still.
        while chars.next_if(|c| matches!(c, '|' | ')')).is_some() {}
    }
}

fn sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, outer: bool) -> Vec<Atom> {
    let mut atoms = Vec::new();
    while let Some(&next) = chars.peek() {
        match next {
            '|' | ')' => break,
            '{' | ' ' | '\t' | '\n' | '\r' if outer => break,
            _ => {}
        }
        chars.next();
        atoms.push(match next {
            '*' => Atom::Star,
            '?' => Atom::One('x'),
            '\\' => Atom::Literal(chars.next().unwrap_or('\\')),
            '(' => {
                let mut choices = vec![sequence(chars, false)];
                while chars.next_if_eq(&'|').is_some() {
                    choices.push(sequence(chars, false));
                }
                chars.next_if_eq(&')');
                Atom::Choice(choices)
            }
            '[' => class(chars),
            literal => Atom::Literal(literal),
        });
    }
    atoms
}

fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Atom {
    let negated = chars.next_if(|c| matches!(c, '!' | '^')).is_some();
    let first = chars.next().unwrap_or('x');
    while chars.next().is_some_and(|c| c != ']') {}
    Atom::One(if negated { 'x' } else { first })
}

impl Word {
    /// Its text, if it has one spelling only.
    pub(super) fn literal(&self) -> Option<String> {
        if self.hole || self.rest {
            return None;
        }
        self.atoms.iter().map(|a| if let Atom::Literal(c) = a { Some(*c) } else { None }).collect()
    }

    /// Whether it is alternatives of literals at most: no wildcard, no path.
    pub(super) fn fixed(&self) -> bool {
        fn plain(atoms: &[Atom]) -> bool {
            atoms.iter().all(|a| match a {
                Atom::Literal(_) => true,
                Atom::Choice(choices) => choices.iter().all(|c| plain(c)),
                Atom::Star | Atom::One(_) => false,
            })
        }
        !self.hole && !self.rest && plain(&self.atoms)
    }

    /// Its spellings, with `star` for each `*`, and `path` for a path.
    pub(super) fn spellings(&self, star: &str, path: &str) -> Vec<String> {
        let mut out = spell(&self.atoms, star);
        if self.hole {
            out.iter_mut().for_each(|s| s.push_str(path));
        }
        out
    }
}

fn spell(atoms: &[Atom], star: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    for atom in atoms {
        let tails = match atom {
            Atom::Literal(c) | Atom::One(c) => vec![c.to_string()],
            Atom::Star => vec![star.to_owned()],
            Atom::Choice(choices) => choices.iter().flat_map(|c| spell(c, star)).collect(),
        };
        out = out
            .iter()
            .flat_map(|head| tails.iter().map(move |tail| format!("{head}{tail}")))
            .take(MAX_SPELLINGS)
            .collect();
    }
    out
}

/// Commands that the words match, without what `...` stands for.
pub(super) fn commands(words: &[Word], star: &str, path: &str) -> Vec<Vec<String>> {
    let mut out = vec![Vec::new()];
    for word in words.iter().filter(|w| !w.rest) {
        let spellings = word.spellings(star, path);
        out = out
            .iter()
            .flat_map(|head: &Vec<String>| {
                spellings.iter().map(move |w| {
                    let mut command = head.clone();
                    command.push(w.clone());
                    command
                })
            })
            .take(MAX_SPELLINGS)
            .collect();
    }
    out
}

/// A command as one would type it.
pub(super) fn typed<W: AsRef<str>>(words: &[W]) -> String {
    let quoted = words.iter().map(|w| {
        let w = w.as_ref();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
        if w == "{}" || (!w.is_empty() && w.chars().all(plain)) {
            w.to_owned()
        } else {
            format!("'{}'", w.replace('\'', "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// A command's name without its directory.
pub(super) fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
