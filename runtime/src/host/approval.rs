//! Who says yes where a policy says `ask`.

use super::request::{Action, Requester};
use crate::decision::Phase;
