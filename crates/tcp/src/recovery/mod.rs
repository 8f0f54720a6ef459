//! Repair directed by selective acknowledgements. RFC 6675.

mod sack;
mod scoreboard;

pub(crate) use sack::{NextSegment, SackRecovery};
