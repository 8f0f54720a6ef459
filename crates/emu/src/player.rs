//! Plays the applications of a scenario over the TCP of real hosts, and its datagrams over their UDP
//! ([`DatagramPlayer`]).
//!
//! The conversations are those of a simulation: the same state machines, seeds and random streams, so the same sizes
//! and pauses. Both ends of every connection are nonblocking sockets of one thread; a socket belongs to the host where
//! it was made, whatever thread uses it. Bytes are counted, message boundaries are those of the state machines.
//!
//! The differences from a simulation:
//! - TCP is the kernel's: see [`HostTcp::from_spec`] and [`host_settings`] for the options that it has.
//! - Acknowledgements are polled every 200 µs, and only for applications that use them (TELNET without echo, bulk
//!   transfers that do not block); a delay without echo is too long by at most this time.
//! - A side that controls its own reading (a WWW browser with a display) leaves bytes in the kernel's buffer, whose
//!   size is then about the window, so that the window closes.
//! - A timer of an application has its nominal time for the application, so that a pace does not drift; its effects are
//!   later by the lateness of the timer ([`Played::latest`]).

mod alarm;
mod connection;
mod datagrams;
mod end;
mod error;
mod observe;
mod options;
mod pattern;
mod plan;
mod run;
mod sockets;
mod talk;
mod timers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cellway_units::Span;

pub use datagrams::{DatagramPlan, DatagramPlayer, DatagramSlot, DatagramsPlayed};
pub use error::PlayerError;
pub use observe::{Observation, Seen, TcpReport};
pub use options::{HostTcp, host_settings};
pub use plan::{MakeSocket, PlayerEnd, PlayerHost, PlayerPlan, PlayerSlot};
pub use run::Player;

/// A slot whose conversation failed begins the next one after this time: a host that refuses must not receive requests
/// as fast as it can answer them.
pub const RETRY: Span = Span::from_secs(1);

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Conversations begun.
    pub conversations: u64,
    /// Connections opened.
    pub connections: u64,
    /// The longest that anything was done after its time.
    pub latest: Span,
    /// True if the run was stopped before its end.
    pub stopped: bool,
}

/// Stops a [`Player`] from another thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    asked: Arc<AtomicBool>,
    waker: Arc<mio::Waker>,
}

impl Stopper {
    /// Requests that the player closes everything and returns. A second request has no effect.
    pub fn stop(&self) {
        self.asked.store(true, Ordering::Release);
        // Fails only if the player no longer exists.
        let _ = self.waker.wake();
    }

    fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}
