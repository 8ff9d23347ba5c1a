//! JUnit's XML, in the dialect that build servers have in common: one suite a context,
//! one case an expectation.

use super::{Counts, Line, Shown};
use crate::cli::explain;
use std::fmt::Write as _;

/// The report of all tests.
pub(super) fn xml<'l>(lines: impl Iterator<Item = &'l Line>, counts: &Counts) -> String {
    let mut suites: Vec<(&str, &str, Vec<&Line>)> = Vec::new();
    for line in lines {
        let suite = suites.iter_mut().find(|(f, c, _)| (*f, *c) == (&line.file, &line.context));
        match suite {
            Some((.., cases)) => cases.push(line),
            None => suites.push((&line.file, &line.context, vec![line])),
        }
    }
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string does not fail.
    let _ = writeln!(out, "<testsuites name=\"meroc\" {}>", numbers(counts));
    for (file, context, cases) in suites {
        let counts = Counts::of(cases.iter().copied());
        let name = escaped(context);
        let _ = writeln!(out, "  <testsuite name=\"{name}\" {}>", numbers(&counts));
        for line in cases {
            case(&mut out, file, &name, line);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn numbers(counts: &Counts) -> String {
    let Counts { failed, unproved, .. } = counts;
    let total = counts.total();
    format!("tests=\"{total}\" failures=\"{failed}\" errors=\"{unproved}\" skipped=\"0\"")
}

fn case(out: &mut String, file: &str, context: &str, line: &Line) {
    let file = escaped(file);
    // One text may be expected in several phases.
    let phase =
        line.phase.filter(|p| *p != "default").map_or_else(String::new, |p| format!("in {p}: "));
    let name = escaped(&format!("{phase}{}", line.text));
    let _ = write!(
        out,
        "    <testcase name=\"{name}\" classname=\"{context}\" file=\"{file}\" line=\"{}\" time=\"0\"",
        line.line
    );
    let _ = match &line.result {
        Shown::Passed => writeln!(out, "/>"),
        Shown::Unproved(why) => {
            let why = escaped(why);
            writeln!(
                out,
                ">\n      <error message=\"not proved: {why}\" type=\"unproved\"/>\n    </testcase>"
            )
        }
        Shown::Failed(explanation) => {
            let kind = if line.expected.is_some() { "failed-test" } else { "failed-assert" };
            let message = escaped(&line.failure(explanation));
            let told = escaped(&explain::human(explanation, true, false));
            writeln!(
                out,
                ">\n      <failure message=\"{message}\" type=\"{kind}\">{told}</failure>\n    </testcase>"
            )
        }
    };
}

/// A text as XML takes it, between tags and in attributes. What XML has no form for at
/// all (control characters, halves of pairs) is shown as a replacement character.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\t' => out.push_str("&#9;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c < ' ' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
