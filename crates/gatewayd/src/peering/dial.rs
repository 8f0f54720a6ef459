//! Dialling of a peer: the times, the addresses and the transports.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// The timeout of an attempt (a handshake over a satellite takes 2 s).
pub(super) const ATTEMPT: Duration = Duration::from_secs(10);
/// Without an answer over UDP for this time, TLS over TCP is tried in parallel.
const NO_UDP: Duration = Duration::from_secs(3);
const SHORTEST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(10);
/// Pauses between trials of QUIC while TLS is in use.
const TRIAL_SHORTEST: Duration = Duration::from_secs(10);
const TRIAL_LONGEST: Duration = Duration::from_secs(600);

/// The dialling of one peer: rounds with growing pauses between them.
#[derive(Debug)]
pub(super) struct Dial {
    /// The address of the peer, as configured.
    pub(super) address: Option<String>,
    /// The time of the next round.
    pub(super) next: Instant,
    pub(super) round: Option<Round>,
    pub(super) looking_up: bool,
    addresses: Vec<SocketAddr>,
    turn: usize,
    pause: Duration,
    jitter: u64,
}

/// One round: an address, over QUIC, TLS, or both.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) address: SocketAddr,
    /// The time at which TLS begins; none if it is not wanted, or has begun.
    pub(super) tls_at: Option<Instant>,
    /// The errors of failed attempts.
    pub(super) failures: Vec<String>,
}

impl Dial {
    /// Creates the state of a peer whose first round begins at once. The seed makes the pauses of two gateways differ.
    pub(super) fn new(address: Option<String>, seed: u64, now: Instant) -> Dial {
        Dial {
            address,
            next: now,
            round: None,
            looking_up: false,
            addresses: Vec::new(),
            turn: 0,
            pause: SHORTEST,
            jitter: seed,
        }
    }

    /// Begins a round with the next of the addresses that were found.
    pub(super) fn begin(
        &mut self,
        addresses: Vec<SocketAddr>,
        quic: bool,
        tls: bool,
        now: Instant,
    ) -> Option<SocketAddr> {
        if self.addresses != addresses {
            self.addresses = addresses;
            self.turn = 0;
        }
        let address = *self.addresses.get(self.turn % self.addresses.len().max(1))?;
        self.turn += 1;
        let tls_at = tls.then(|| if quic { now + NO_UDP } else { now });
        self.round = Some(Round { address, tls_at, failures: Vec::new() });
        Some(address)
    }

    /// Returns true if `address` is one of those to which the peer's name last resolved.
    pub(super) fn means(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|one| one.ip().to_canonical() == address)
    }

    /// Ends a round that has failed. Returns the errors.
    pub(super) fn failed(&mut self, now: Instant) -> String {
        let failures = self.round.take().map(|round| round.failures.join("; ")).unwrap_or_default();
        self.wait(now, LONGEST);
        failures
    }

    /// Records that the peer is up. `trials` schedules trials of QUIC.
    pub(super) fn reached(&mut self, now: Instant) {
        self.round = None;
        self.pause = TRIAL_SHORTEST;
        self.wait(now, TRIAL_LONGEST);
    }

    /// Records that the peer is down again.
    pub(super) fn lost(&mut self, now: Instant) {
        self.round = None;
        self.pause = SHORTEST;
        self.wait(now, LONGEST);
    }

    /// Records the end of a trial.
    pub(super) fn tried(&mut self, now: Instant) {
        self.wait(now, TRIAL_LONGEST);
    }

    /// Schedules the next round after 0.75 to 1.25 times the pause, and doubles the pause.
    fn wait(&mut self, now: Instant, longest: Duration) {
        // splitmix64 (Steele, Lea and Flood 2014).
        self.jitter = self.jitter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut random = self.jitter;
        random = (random ^ (random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        random ^= random >> 31;
        let part = 0.75 + (random >> 11) as f64 / (1_u64 << 53) as f64 / 2.0;
        self.next = now + self.pause.mul_f64(part);
        self.pause = (self.pause * 2).min(longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_ten_seconds_and_begin_anew() {
        let mut now = Instant::now();
        let mut dial = Dial::new(Some("far:1".into()), 7, now);
        let mut pauses = Vec::new();
        for _ in 0..12 {
            dial.failed(now);
            pauses.push((dial.next - now).as_secs_f64());
            now = dial.next;
        }
        assert!(pauses[0] >= 0.15 && pauses[0] <= 0.25, "{pauses:?}");
        assert!(pauses[..6].windows(2).all(|pair| pair[1] > pair[0]), "{pauses:?}");
        assert!(pauses[8..].iter().all(|pause| (7.5..=12.5).contains(pause)), "{pauses:?}");
        assert!(pauses[8..].windows(2).any(|pair| pair[0] != pair[1]), "{pauses:?}");
        dial.lost(now);
        assert!((dial.next - now).as_secs_f64() <= 0.25);
    }

    #[test]
    fn every_address_has_its_turn() {
        let now = Instant::now();
        let mut dial = Dial::new(None, 1, now);
        let all: Vec<SocketAddr> = vec!["10.0.0.1:1".parse().unwrap(), "[2001:db8::1]:1".parse().unwrap()];
        let turns: Vec<_> = (0..4).filter_map(|_| dial.begin(all.clone(), true, true, now)).collect();
        assert_eq!(turns, [all[0], all[1], all[0], all[1]]);
        assert_eq!(dial.begin(Vec::new(), true, true, now), None);
    }
}
