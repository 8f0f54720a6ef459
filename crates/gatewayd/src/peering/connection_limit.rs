//! A bound on the connections that one verified peer opens here.
//!
//! A working peer has one connection, for a short time up to four: QUIC and TLS that it dials, and the same of an
//! attempt whose end was lost in the network. Connections beyond these bounds are ended and counted.

use std::time::{Duration, Instant};

/// Most connections of a peer that wait for its hello; a further one replaces the oldest.
pub(super) const GREETING: usize = 4;
/// Most connections that a peer may open at once ...
const BURST: u32 = 8;
/// ... and the interval of further ones. A gateway dials at intervals that grow from 0.2 to 10 s.
const INTERVAL: Duration = Duration::from_secs(1);

/// The connections that a peer has opened.
#[derive(Debug)]
pub(super) struct ConnectionLimit {
    /// Connections that it may open now.
    left: u32,
    /// The end of the interval that adds one to `left`.
    next: Option<Instant>,
    /// Connections that were ended because there were too many.
    pub(super) surplus: u64,
}

impl Default for ConnectionLimit {
    fn default() -> ConnectionLimit {
        ConnectionLimit { left: BURST, next: None, surplus: 0 }
    }
}

impl ConnectionLimit {
    /// Counts a connection that the peer has opened. Returns false if it opens them too often.
    pub(super) fn may_enter(&mut self, now: Instant) -> bool {
        if let Some(next) = self.next.filter(|&next| next <= now) {
            let whole = 1 + ((now - next).as_secs_f64() / INTERVAL.as_secs_f64()) as u32;
            self.left = self.left.saturating_add(whole).min(BURST);
            self.next = (self.left < BURST).then(|| next + INTERVAL * whole);
        }
        if self.left == 0 {
            self.surplus += 1;
            return false;
        }
        self.left -= 1;
        self.next.get_or_insert(now + INTERVAL);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_at_once_and_then_one_a_second() {
        let mut connection_limit = ConnectionLimit::default();
        let begin = Instant::now();
        let entered = |connection_limit: &mut ConnectionLimit, at: Duration| {
            (0..100).filter(|_| connection_limit.may_enter(begin + at)).count()
        };
        assert_eq!(entered(&mut connection_limit, Duration::ZERO), 8);
        assert_eq!(entered(&mut connection_limit, Duration::from_millis(999)), 0);
        assert_eq!(entered(&mut connection_limit, Duration::from_millis(1000)), 1);
        assert_eq!(entered(&mut connection_limit, Duration::from_millis(1900)), 0);
        assert_eq!(entered(&mut connection_limit, Duration::from_millis(4100)), 3);
        assert_eq!(entered(&mut connection_limit, Duration::from_secs(3600)), 8, "no more than a burst is saved up");
        assert_eq!(connection_limit.surplus, 600 - 20);
    }
}
