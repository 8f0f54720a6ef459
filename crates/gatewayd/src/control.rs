//! What people look at: status and metrics.

mod snapshot;

pub use snapshot::{ConnectionStatus, Counters, PeerStatus, Snapshot};
