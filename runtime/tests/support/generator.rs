//! Command strings at random: from a grammar, and by damage to others.

/// A small generator of numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// Names under which the stub is found.
pub const STUBS: [&str; 45] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "echo0", "rm", "curl", "git", "cat0", "notfound",
    "time", "[[", "]]", "{", "}", "!", "if", "then", "else", "fi", "do", "done", "in", "esac",
    "for", "case", "select", "function", "coproc", "a+=b", "x+=1", "{fd}", "{v}", "2", "10", "a[",
    "a[0]", "{a,b}", "x", "p1", "-n",
];

const COMMANDS: [&str; 22] = [
    "a",
    "b",
    "c",
    "d",
    "e",
    "f",
    "g",
    "h",
    "echo0",
    "rm",
    "curl",
    "git",
    "cat0",
    "echo",
    ":",
    "true",
    "printf",
    "test x",
    "a",
    "b",
    "c",
    "set -- p 'q r'",
];

const PLAIN: [&str; 40] = [
    "a", "b", "x", "-f", "1", "2", "10", "p1", "a=b", "a#b", "#", "]", "}", "{", "!", "in", "do",
    "then", "esac", "--o=~", "~", "~/x", "a:~", "*", "p?", "[pq]1", "{a,b}", "{1..3}", "{}", "[",
    "-n", "=", "a[0]", "\u{e9}", "^", "%", "@", "+", "done", "time",
];

const QUOTED: [&str; 22] = [
    "'a b'", "''", "\"\"", "'$(rm)'", "\"a b\"", "\"$X\"", "\"$@\"", "\"$*\"", "\\;", "\\$",
    "\\\"", "\\'", "\"\\$\"", "\"\\`\"", "$'a\\tb'", "$'x'", "$\"t\"", "\"'\"", "'\"'", "\"#\"",
    "'\n'", "\"a\nb\"",
];

const PARAMETERS: [&str; 22] = [
    "$X", "$Y", "$Z", "${X}", "$#", "$?", "$1", "$@", "$*", "$-", "${#X}", "${X%a}", "${X##*a}",
    "${X/a/b}", "${X:0:1}", "${@:1}", "$W", "${Y[0]}", "${X[@]}", "$((1+2))", "$N", "${X^^}",
];

const SPACES: [&str; 12] =
    [" ", " ", " ", " ", " ", " ", "  ", "\t", " \\\n", "\\\n ", " \\\n ", " "];

const ENDS: [&str; 12] =
    [";", ";", "\n", "\n", " && ", " || ", " & ", "; ", "\n\n", ";\n", " #c\n", "&"];

/// A grammar of scripts.
pub struct Generator {
    pub random: Random,
    out: Vec<u8>,
    pending: Vec<(String, bool)>,
    budget: usize,
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator { random: Random(seed), out: Vec::new(), pending: Vec::new(), budget: 0 }
    }

    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn choose(&mut self, from: &[&str]) {
        let text = self.random.pick(from).to_owned();
        self.put(&text);
    }

    fn space(&mut self) {
        self.choose(&SPACES);
    }

    /// The end of a line, with the documents that are due.
    fn newline(&mut self) {
        self.put("\n");
        for (delimiter, quoted) in core::mem::take(&mut self.pending) {
            for _ in 0..self.random.below(3) {
                let line = match self.random.below(9) {
                    0 => "$(rm x)",
                    1 => "`curl`",
                    2 => "${X-$(git)}",
                    3 => "\"$X\" '",
                    4 => "a \\$(b)",
                    5 => "#",
                    6 => "\t x",
                    7 if quoted => "`'\"$(",
                    _ => "text; rm",
                };
                self.put(line);
                self.put("\n");
            }
            self.put(&delimiter);
            self.put("\n");
        }
    }

    fn end(&mut self) {
        if !self.pending.is_empty() {
            if self.random.one_in(3) {
                self.put(";");
            }
            return self.newline();
        }
        self.choose(&ENDS);
    }

    pub fn script(&mut self) -> Vec<u8> {
        self.out.clear();
        self.pending.clear();
        self.budget = 6 + self.random.below(26);
        let commands = 1 + self.random.below(3);
        for n in 0..commands {
            if n > 0 {
                self.end();
            }
            self.command(0);
        }
        if !self.pending.is_empty() || self.random.one_in(8) {
            self.newline();
        }
        self.out.clone()
    }

    fn list(&mut self, depth: usize) {
        for n in 0..1 + self.random.below(2) {
            if n > 0 {
                self.end();
            }
            self.command(depth + 1);
        }
    }

    fn close(&mut self) {
        if self.pending.is_empty() {
            self.choose(&[";", "\n", "; ", " ;\n", "\n\n"]);
        } else {
            self.newline();
        }
    }

    fn command(&mut self, depth: usize) {
        self.budget = self.budget.saturating_sub(1);
        let kind = if depth > 4 || self.budget < 3 { 0 } else { self.random.below(26) };
        match kind {
            0..=12 => self.simple(depth),
            13 | 14 => {
                self.simple(depth);
                self.choose(&[" | ", "|", " |& ", "|\n", "| \\\n"]);
                self.command(depth + 1);
            }
            15 => {
                self.put("(");
                self.list(depth);
                self.put(")");
                self.tail(depth);
            }
            16 => {
                self.put("{ ");
                self.list(depth);
                self.close();
                self.put("}");
                self.tail(depth);
            }
            17 => {
                self.put("if ");
                self.list(depth);
                self.close();
                self.put("then ");
                self.list(depth);
                self.close();
                if self.random.one_in(3) {
                    self.put("elif f; then b; ");
                }
                if self.random.one_in(2) {
                    self.put("else ");
                    self.list(depth);
                    self.close();
                }
                self.put("fi");
                self.tail(depth);
            }
            18 => {
                self.choose(&["while f", "until a", "while f;rm", "until\na"]);
                self.close();
                self.put("do ");
                self.list(depth);
                self.close();
                self.put("done");
                self.tail(depth);
            }
            19 => {
                self.choose(&["for x in ", "for x\nin ", "for i in ", "for x \\\nin "]);
                for _ in 0..1 + self.random.below(2) {
                    self.word(depth);
                    self.space();
                }
                self.choose(&[";", "\n", ";\n"]);
                self.put("do ");
                self.list(depth);
                self.close();
                self.put("done");
                self.tail(depth);
            }
            20 | 21 => {
                self.put("case ");
                self.word(depth);
                self.choose(&[" in ", " in\n", "\nin "]);
                for _ in 0..1 + self.random.below(2) {
                    self.choose(&["", "(", "( "]);
                    self.choose(&["*", "a", "x|*", "[ab]*", "'a'", "\"$X\"", "esac", "$(c)"]);
                    self.choose(&[")", " )", ") "]);
                    self.list(depth);
                    if self.pending.is_empty() {
                        self.choose(&[";;", " ;;\n", ";&", ";;&", "\n;; "]);
                    } else {
                        self.newline();
                        self.put(";;");
                    }
                }
                self.put("esac");
                self.tail(depth);
            }
            22 => {
                self.put("! ");
                self.command(depth + 1);
            }
            23 => {
                self.choose(&["time ", "time -p ", "[[ x ", "[[ -n "]);
                self.word(depth);
                self.put(" ]]");
            }
            24 => {
                self.choose(&["#c\n", "\\\n", "x=1 ", "x=$(rm) ", "X=\"$X\" ", "a+=1 ", "x=~ "]);
                self.simple(depth);
            }
            _ => {
                self.redirection(depth);
                self.space();
                self.simple(depth);
            }
        }
    }

    fn tail(&mut self, depth: usize) {
        if self.random.one_in(6) {
            self.space();
            self.redirection(depth);
        }
    }

    fn simple(&mut self, depth: usize) {
        self.choose(&COMMANDS);
        for _ in 0..self.random.below(4) {
            self.space();
            if self.random.one_in(7) {
                self.redirection(depth);
            } else {
                self.word(depth);
            }
        }
    }

    fn word(&mut self, depth: usize) {
        for _ in 0..1 + self.random.below(2) * self.random.below(3) {
            match self.random.below(12) {
                0..=4 => self.choose(&PLAIN),
                5 | 6 => self.choose(&QUOTED),
                7 | 8 => self.choose(&PARAMETERS),
                9 => {
                    self.put("\\\n");
                    self.choose(&PLAIN);
                }
                _ if depth > 4 || self.budget < 2 => self.choose(&PLAIN),
                _ => self.substitution(depth),
            }
        }
    }

    fn substitution(&mut self, depth: usize) {
        let outer = core::mem::take(&mut self.pending);
        let (open, close) = match self.random.below(12) {
            0..=2 => ("$(", ")"),
            3 | 4 => ("\"$(", ")\""),
            5 => ("`", "`"),
            6 => ("\"`", "`\""),
            7 => ("<(", ")"),
            8 => ("${Y:-$(", ")}"),
            9 => ("\"${X+$(", ")}\""),
            10 => ("\"x$(", "\n)y\""),
            _ => ("$( ", " )"),
        };
        self.put(open);
        if open.contains('`') {
            self.choose(&["a", "rm x", "d", "a | b", "a; c", "echo '$(b)'", "g", "a \\$X", "a #x"]);
        } else {
            self.list(depth + 1);
            if !self.pending.is_empty() {
                self.newline();
            }
        }
        self.put(close);
        self.pending = outer;
    }

    fn redirection(&mut self, depth: usize) {
        match self.random.below(12) {
            0..=2 => {
                self.choose(&[">", ">>", ">|", "2>", "&>", "&>>", ">&", "<>", "1>", "> "]);
                self.choose(&["q1", "q2", "\"q 3\"", "q$W", "$'q4'", "q\\5", "q{1,2}", "-q"]);
            }
            3 => self.choose(&["<p1", "< p1", "0<p2", "<\\\np1", "<$W", "</dev/null"]),
            4 | 5 => self.choose(&["2>&1", ">&2", "2>&-", "<&-", ">&1", "1>&2", ">& 2", "2>&1-"]),
            6 => self.choose(&["{fd}>q6", "10>q7", "{v}<p1", "<<<x", "<<< \"$X\"", "<<<$(rm)"]),
            7 => {
                self.put("> ");
                self.word(depth);
            }
            _ => {
                let written = [
                    ("E", "E", false),
                    ("'E'", "E", true),
                    ("\"EO\"", "EO", true),
                    ("\\E", "E", true),
                    ("E\\F", "EF", true),
                    ("E.x", "E.x", false),
                ];
                let (word, line, quoted) = written[self.random.below(written.len())];
                self.choose(&["<<", "<<", "<<-", "<< ", "0<<"]);
                self.put(word);
                self.pending.push((line.to_owned(), quoted));
            }
        }
    }

    /// Something else made of a script: bytes or tokens taken out, repeated,
    /// swapped, put in.
    pub fn damage(&mut self, script: &[u8], other: &[u8]) -> Vec<u8> {
        const TOKENS: [&str; 56] = [
            "$(",
            ")",
            "`",
            "'",
            "\"",
            "\\",
            "\\\n",
            "\n",
            ";",
            "&",
            "|",
            "&&",
            "<<E",
            "\nE\n",
            "{ ",
            "; }",
            "(",
            "#",
            " #",
            "${",
            "}",
            "$",
            "[",
            "]",
            "{a,",
            "case x in ",
            "esac",
            ";;",
            "a)",
            "$'",
            "=",
            "a=",
            "a[",
            "&>q8 ",
            ">&",
            "<(",
            ">q9 ",
            "<",
            "~",
            "!",
            "time ",
            "[[ ",
            " ]]",
            "do ",
            "then ",
            "fi",
            "$((",
            "))",
            "\u{1}",
            "\u{7f}",
            "\r",
            "\t",
            "\"$@\"",
            "${X-",
            "in ",
            "-",
        ];
        let mut bytes = script.to_vec();
        for _ in 0..1 + self.random.below(3) {
            let at = self.random.below(bytes.len() + 1);
            let until = (at + 1 + self.random.below(6)).min(bytes.len());
            match self.random.below(10) {
                0 if at < bytes.len() => {
                    bytes.remove(at);
                }
                1 => {
                    bytes.drain(at..until);
                }
                2 => {
                    let piece = bytes[at..until].to_vec();
                    let to = self.random.below(bytes.len() + 1);
                    bytes.splice(to..to, piece);
                }
                3 if at + 1 < bytes.len() => bytes.swap(at, at + 1),
                4 => {
                    let byte = 1 + self.random.below(255) as u8;
                    bytes.insert(at, byte);
                }
                5 => {
                    let from = self.random.below(other.len() + 1);
                    let to = (from + 1 + self.random.below(20)).min(other.len());
                    bytes.splice(at..at, other[from..to].iter().copied());
                }
                6 => {
                    bytes.splice(at..at, b"\\\n".iter().copied());
                }
                _ => {
                    let token = self.random.pick(&TOKENS).as_bytes().to_vec();
                    bytes.splice(at..at, token);
                }
            }
        }
        bytes.retain(|b| *b != 0);
        bytes.truncate(4000);
        bytes
    }
}
