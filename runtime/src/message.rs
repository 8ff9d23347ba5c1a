//! Denials in words. They are handed to models and shown to people: they say what was
//! asked for and why not, and nothing that the agent may not know.

use crate::decision::{Phase, Reason};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

/// Why a request is denied, as a clause. `mount` is the slug of the mount that decided.
#[must_use]
pub fn because(reason: Reason, mount: Option<&str>, context: &str, phase: Phase) -> String {
    let on = mount.map_or(String::new(), |m| format!(" on the mount `{m}`"));
    match reason {
        Reason::Granted | Reason::ApprovalRequired => "it needs an approval".to_owned(),
        Reason::Outside => "no mount covers it".to_owned(),
        Reason::Hidden => "it is hidden".to_owned(),
        Reason::Denied => format!("it is forbidden{on}"),
        Reason::NotGranted => format!("it is not granted{on}"),
        Reason::CommandDenied => "a rule forbids the command".to_owned(),
        Reason::CommandNotAllowed => "no rule allows the command".to_owned(),
        Reason::CommandOpaque => "the command cannot be understood before it runs".to_owned(),
        Reason::ToolDenied => "a rule forbids the tool".to_owned(),
        Reason::ToolNotAllowed => "no rule allows the tool".to_owned(),
        Reason::GrantMissing => "a grant that it requires is not held".to_owned(),
        Reason::Phase => format!("not in the phase `{phase}` of `{context}`"),
        Reason::Invalid => "the request is malformed".to_owned(),
    }
}

/// A text with what cannot be seen, or reorders what can, written out: who approves
/// reads what the machine will do.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => out.push(c),
            // Letters without a shape, and a quote that ends what is quoted here.
            '`' | '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' => {
                out.extend(c.escape_unicode());
            }
            _ => out.extend(c.escape_debug()),
        }
    }
    out
}
