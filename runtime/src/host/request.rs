//! What is asked of a guard, and by whom, as approval backends and audit sinks see it.

use crate::decision::Permission;
use crate::message::visible;
use std::collections::BTreeMap;
use std::fmt;

/// What an agent wants to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// To use a path.
    Path {
        /// As the agent named it.
        path: String,
        /// What for.
        permissions: Permission,
        /// Where it leads on this host, where that is known: what is approved.
        host: Option<String>,
    },
    /// To use permissions, on no path.
    Permission(Permission),
    /// To run a command string.
    Command(String),
    /// To run an argument vector.
    Argv(Vec<String>),
    /// To call a tool.
    Tool {
        /// Its name.
        name: String,
        /// Grants that the call requires.
        requires: Vec<String>,
    },
    /// To hold a grant.
    Grant(String),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Where it leads is for who approves, not for who asked.
            Action::Path { path, permissions, .. } => {
                write!(f, "{permissions} on `{}`", visible(path))
            }
            Action::Permission(permissions) => write!(f, "{permissions}"),
            Action::Command(command) => write!(f, "`{}`", visible(command)),
            Action::Argv(argv) => {
                f.write_str("`")?;
                for (index, word) in argv.iter().enumerate() {
                    let blank = if index == 0 { "" } else { " " };
                    let plain = !word.is_empty()
                        && word
                            .bytes()
                            .all(|b| b.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&b));
                    if plain {
                        write!(f, "{blank}{word}")?;
                    } else {
                        write!(f, "{blank}'{}'", visible(word).replace('\'', "'\\''"))?;
                    }
                }
                f.write_str("`")
            }
            Action::Tool { name, .. } => write!(f, "the tool `{}`", visible(name)),
            Action::Grant(key) => write!(f, "the grant `{}`", visible(key)),
        }
    }
}

/// Who asks. A host fills in what it knows; approvals and audit see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Requester {
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The tool call in which this happens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<String>,
    /// Whatever else the host wants to be seen.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}
