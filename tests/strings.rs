//! Command strings: what is allowed, asked for, denied, and not understood.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod common;

use mero_runtime::{Phase, Session, Table};
use meroc::table::{Options, compile};

/// `rules` stand in `commands`; each line is an answer, then `|`, then a command
/// (`\n` is a line break).
fn check(rules: &str, cases: &str) {
    check_with(rules, Phase::Default, None, None, cases);
}

fn check_with(rules: &str, phase: Phase, cwd: Option<&[u8]>, home: Option<&[u8]>, cases: &str) {
    let text = format!(
        "edition 1\ncontext w {{\n phases plan, default, accept_edits, trusted, bypass_permissions\n mount root at \"/work\" {{ allow read | write  hide \".env\"  ask delete\n on \"/ask\" {{ ask write }}\n mount data at \"d\" {{ allow read }} }}\n commands {{\n{rules}\n}}\n}}\n"
    );
    let bytes = compile(&common::policy(&text), Options::default()).unwrap().bytes;
    let table = Table::from_bytes(&bytes).unwrap();
    let context = table.context("w").unwrap();
    let session =
        Session { phase, base: b"/work", working_directory: cwd, home, ..Session::default() };
    let mut wrong = Vec::new();
    for line in cases.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (expected, command) = line.split_once(" | ").unwrap_or_else(|| panic!("{line}"));
        let command = command.replace("\\n", "\n");
        let got = context.command(&session, &command);
        let got = format!("{} {}", got.effect, got.reason);
        let expected = expected.trim();
        if got != expected
            && got.split(' ').next_back() != Some(expected)
            && got.split(' ').next() != Some(expected)
        {
            wrong.push(format!("{command:?}: expected {expected}, got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_of_a_list_counts() {
    check(
        r#"allow "git status ..." allow "echo ..." ask "npm ..." deny "rm ...""#,
        r#"
        allow | git status
        allow | git status && echo ok || echo no; echo x & echo y
        ask | git status | npm x
        command-denied | git status; rm -rf /
        command-denied | git status\nrm x
        command-denied | echo $(rm x)
        command-denied | echo "`rm x`"
        command-denied | (echo a; rm b)
        command-denied | { echo a; rm b; }
        command-denied | if echo a; then rm b; fi
        command-denied | while echo a; do rm b; done
        command-denied | case x in a) rm b;; esac
        command-denied | ! rm b
        command-denied | echo a # comment\nrm b
        allow | echo a # ; rm b
        allow | echo 'a; rm b' "c; rm d" e\;rm
        command-denied | cat <<E\n$(rm x)\nE
        command-not-allowed | git statusx
        command-not-allowed | ./git status
        command-not-allowed | git stash
        command-denied | /bin/rm x
        command-denied | r\m x
        command-denied | 'r'm x
        command-denied | r""m x
        command-denied | $'\x72m' x
        invalid | # nothing
        invalid | ''
        "#,
    );
}

#[test]
fn unknown_words_stand_for_every_value() {
    check(
        r#"allow "echo ..." allow "git log ..." allow "rg ..." deny "rg --pre*" deny "rg * --pre*" allow "one *" allow "two * x" ask "two y *" allow "cat {read...}""#,
        r#"
        allow | echo "$(git log -1)"
        allow | echo $x ${y:-z} "$@" *.rs ~ {a,b}
        command-denied | rg "$x"
        command-denied | rg $x
        command-denied | rg x${IFS}--pre=./p
        allow | rg "x$y"
        command-denied | rg x$y
        allow | one "$x"
        command-not-allowed | one $x
        ask | two "$x" x
        allow | two "z$x" x
        command-denied | $x
        command-opaque | "$x" y
        command-not-allowed | cat "$x"
        command-not-allowed | cat *.txt
        allow | cat a.txt b/c
        "#,
    );
}

#[test]
fn text_rules_see_what_is_known() {
    check(
        r#"otherwise allow deny re"\bsudo\b" deny text"rm -rf" deny glob"*--force*""#,
        r#"
        allow | echo "$x"
        allow | cat "$file" $rest
        command-denied | echo $(sudo x)
        command-denied | s''udo x
        command-denied | rm $flags x
        command-denied | git push "--force"
        allow | rm -r x
        "#,
    );
}

#[test]
fn redirections_are_decided_by_the_mounts() {
    check(
        r#"allow "echo ..." allow "cat ..." opaque ask"#,
        r#"
        allow | echo x > out.txt
        allow | echo x 2>&1 >/dev/null 2>/dev/stderr
        allow | cat < in.txt
        outside | echo x > /etc/passwd
        outside | echo x >> ../y
        outside | cat < /etc/passwd
        hidden | cat < .env
        hidden | echo x > sub/.env
        not-granted | echo x > d/y
        allow | cat < d/y
        not-granted | cat <> d/y
        approval-required | echo x > ask
        invalid | echo x > ~/y
        ask command-opaque | echo x > "$f"
        ask command-opaque | echo x > *.txt
        outside | { echo x; } > /tmp/y
        outside | for i in a; do echo x; done > /tmp/y
        outside | echo x &> /tmp/y
        outside | echo x >& /tmp/y
        outside | echo x >| /tmp/y
        outside | > /tmp/y
        allow | > y
        ask command-opaque | echo x > /dev/tcp/1.2.3.4/80
        "#,
    );
}

/// Other shells read scripts in their own way: what a POSIX shell would do with one says
/// nothing about them, but for what is denied.
#[test]
fn other_shells_vouch_for_nothing() {
    check(
        r#"allow "git log ..." deny "rm ...""#,
        r#"
        allow | sh -c 'git log'
        allow | dash -c 'git log'
        command-not-allowed | zsh -c 'git log'
        command-not-allowed | zsh -c 'git log >! x'
        command-not-allowed | ksh -c 'git log'
        command-not-allowed | mksh -c 'git log'
        command-not-allowed | fish -c 'git log'
        command-not-allowed | fish -c "git log '\\' '; ls; echo '"
        command-denied | zsh -c 'rm x'
        command-denied | fish -c 'git log; rm x'
        "#,
    );
}

#[test]
fn cd_moves_relative_paths() {
    check(
        r#"allow "cd ..." allow "echo ..." allow "cat {read...}" allow "ls" opaque ask"#,
        r#"
        allow | cd sub && ls
        allow | cd sub && cat x
        outside | cd /etc && cat passwd
        outside | cd / ; echo x > y
        not-granted | cd d && echo x > y
        hidden | cd sub; cat .env
        ask command-opaque | cd "$d" && echo x > y
        allow | cd "$d" && ls
        allow | cd "$d" && echo x > /work/y
        ask command-opaque | cd - ; echo x > y
        ask command-opaque | for i in a b; do cat x; cd ..; done; echo x > y
        "#,
    );
    check_with(
        r#"allow "cat {read...}" allow "cd ...""#,
        Phase::Default,
        Some(b"/work/sub"),
        Some(b"/home/u"),
        r#"
        allow | cat ../x
        outside | cat ../../x
        outside | cat ~/x
        outside | cd && cat x
        hidden | cat ../.env
        "#,
    );
}

#[test]
fn runners_are_looked_through() {
    check(
        r#"allow "git status" allow "find ..." allow "xargs ..." allow "command -v ..." deny "rm ..." otherwise ask"#,
        r#"
        allow | timeout -k 5 10s git status
        allow | nice -n 19 git status
        allow | nohup git status
        allow | stdbuf -oL git status
        allow | time git status
        allow | timeout 5 nice git status
        ask | env git status
        ask | sudo git status
        allow | bash -c 'git status'
        allow | sh -ec "git status && git status"
        allow | eval git status
        ask | /tmp/bash -c 'git status'
        command-denied | timeout 5 rm x
        command-denied | timeout -s KILL --preserve-status 5 rm x
        command-denied | env -i A=b rm x
        command-denied | env -u X rm x
        command-opaque | env -S 'rm x'
        command-denied | sudo -u root rm x
        command-denied | find . -name y -exec rm {} +
        command-denied | find . -exec ls {} \; -execdir rm {} \;
        command-denied | echo x | xargs -0 -n1 rm
        command-denied | xargs -I{} rm {}
        command-denied | bash -lc 'echo a; rm x'
        command-denied | sh -c "sh -c 'rm x'"
        command-denied | eval 'rm x'
        command-denied | busybox rm x
        command-denied | nohup setsid nice rm x
        command-denied | command rm x
        command-denied | exec rm x
        command-denied | trap 'rm x' EXIT
        command-denied | watch rm x
        command-denied | su -c 'rm x'
        command-denied | ssh host rm x
        command-denied | parallel rm ::: a b
        command-denied | /lib64/ld-linux-x86-64.so.2 /bin/rm x
        allow | command -v rm
        command-opaque | timeout --unknown 5 rm x
        command-denied | bash -c "$x"
        command-denied | eval "$x"
        command-opaque | find . $x
        command-opaque | source "$x"
        command-opaque | alias ls=rm
        "#,
    );
}

#[test]
fn assignments_need_a_listed_name() {
    check(
        r#"allow "ls ..." allow "echo ..." allow "read ..." allow "printf ..." env "MY_VAR", "APP_*" opaque ask"#,
        r#"
        allow | NODE_ENV=test ls
        allow | LC_ALL=C CI=1 TZ=UTC ls
        allow | MY_VAR="$x" ls
        allow | APP_X=1 ls
        ask command-opaque | PATH=/tmp ls
        ask command-opaque | LD_PRELOAD=x ls
        ask command-opaque | env PATH=/tmp ls
        allow | export CI=1; ls
        ask command-opaque | export PATH=/tmp; ls
        allow | x=1; echo "$x"
        ask command-opaque | PATH=/tmp; ls
        ask command-opaque | for PATH in /tmp; do ls; done
        allow | for f in a b; do ls "$f"; done
        ask command-opaque | read PATH
        allow | read line
        ask command-opaque | printf -v PATH x
        allow | printf '%s\\n' x
        ask command-opaque | a[0]=x ls
        ask command-opaque | : ${PATH:=x}
        "#,
    );
}

#[test]
fn where_no_command_may_run_no_string_is_granted() {
    let nothing = r#"
        command-not-allowed | x=1
        command-not-allowed | export CI=1
        command-not-allowed | declare x
        command-not-allowed | > out
        command-not-allowed | < in
        command-not-allowed | x=1; ls
        command-not-allowed | sh -c 'x=1'
        "#;
    check("", nothing);
    check(r#"env "CI""#, nothing);
    check(r#"deny re"mkfs""#, &format!("{nothing}\n command-denied | x=mkfs"));
    let assigned = "allow | x=1\n allow | export CI=1\n allow | > out";
    check(r#"allow "ls""#, assigned);
    check("otherwise ask", assigned);
    check("opaque ask", &format!("{assigned}\n ask | $x"));
    check_with("", Phase::BypassPermissions, None, None, "allow | x=1\n allow | ls");
}

#[test]
fn what_is_not_understood_is_opaque_and_still_searched() {
    check(
        r#"allow "echo ..." allow "ls ..." deny "rm ..." deny text"secret""#,
        r#"
        command-opaque | f() { echo x; }
        command-opaque | function f { echo x; }
        command-opaque | echo ${x@P}
        command-opaque | echo ${!x}
        command-opaque | echo $((x))
        allow | echo $((1 + 2 * (3)))
        command-opaque | echo $[1]
        command-opaque | ((1))
        command-opaque | echo 'x
        command-opaque | echo "x
        command-opaque | echo $(ls
        command-opaque | echo `ls
        command-opaque | echo a |
        command-opaque | && echo a
        command-opaque | echo a )
        command-opaque | coproc ls
        command-opaque | echo a(b)
        command-opaque | echo =(ls)
        command-opaque | [[ a < b ]]
        command-opaque | [[ $x -eq 1 ]]
        command-opaque | [[ a && b ]]
        command-opaque | ls\recho x
        command-denied | f() { echo x; }; rm y
        command-denied | echo 'x; secret
        command-denied | echo ${x@P}; rm y
        "#
        .replace("\\r", "\r")
        .as_str(),
    );
}

#[test]
fn phases_hold_for_strings() {
    let rules = r#"allow readonly "git status" allow "echo ..." ask readonly "git log ..." ask "npm ..." opaque ask"#;
    check_with(
        rules,
        Phase::Plan,
        None,
        None,
        "allow | git status\nask | git log\nphase | echo x\nphase | git status; echo x\nphase | npm x\nphase | git status > x\ncommand-not-allowed | export CI=1\ncommand-not-allowed | ls\nphase | $x",
    );
    check_with(rules, Phase::AcceptEdits, None, None, "ask | npm x\nask | echo x > ask\nask | $x");
    check_with(
        rules,
        Phase::Trusted,
        None,
        None,
        "allow | npm x\nallow | echo x > ask\nallow | $x\ncommand-not-allowed | ls",
    );
    check_with(
        rules,
        Phase::BypassPermissions,
        None,
        None,
        "allow | npm x\nallow | ls\noutside | echo x > /etc/y",
    );
    check_with(
        r#"allow "ls""#,
        Phase::BypassPermissions,
        None,
        None,
        "command-opaque | $x\nallow | ls | wc",
    );
}
