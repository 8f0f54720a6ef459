//! Log lines about connections of unauthenticated clients: the first of each reason, then one summary a minute.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ipnet::IpNet;

use super::handshake_slots::network;

/// The interval of summaries.
const INTERVAL: Duration = Duration::from_secs(60);
/// Most reasons that are counted separately.
const REASONS: usize = 16;
/// Most networks that are counted separately.
const NETWORKS: usize = 256;

/// Returns a reason without the time in its text, which differs each time.
pub(super) fn kind(why: &str) -> &str {
    why.split(" (the clock here says").next().unwrap_or(why)
}

/// Failed connections since the last summary.
#[derive(Debug, Default)]
pub(super) struct FailureLog {
    due: Option<Instant>,
    /// Counts without the first of each reason, which is logged on its own.
    reasons: BTreeMap<String, u64>,
    other: u64,
    networks: BTreeMap<IpNet, u64>,
}

impl FailureLog {
    /// Counts a connection from `address` that failed because of `why`. Returns true if it gets a line of its own.
    pub(super) fn add(&mut self, address: IpAddr, why: &str, now: Instant) -> bool {
        let why = kind(why);
        self.due.get_or_insert(now + INTERVAL);
        let first = !self.reasons.contains_key(why);
        if first && self.reasons.len() < REASONS {
            self.reasons.insert(why.to_owned(), 0);
            return true;
        }
        match self.reasons.get_mut(why) {
            Some(count) => *count += 1,
            None => self.other += 1,
        }
        let network = network(address);
        if self.networks.len() < NETWORKS || self.networks.contains_key(&network) {
            *self.networks.entry(network).or_default() += 1;
        }
        false
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// Returns the summary, if it is due and there is something to report. After an interval without failures each
    /// reason gets a line of its own again.
    pub(super) fn summary(&mut self, now: Instant) -> Option<String> {
        self.due.filter(|&at| at <= now)?;
        let total = self.other + self.reasons.values().sum::<u64>();
        if total == 0 {
            *self = FailureLog::default();
            return None;
        }
        let mut counts: Vec<(u64, &str)> =
            self.reasons.iter().map(|(why, &count)| (count, &**why)).filter(|(count, _)| *count > 0).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let mut reasons: Vec<String> = counts.iter().map(|(count, why)| format!("{count}: {why}")).collect();
        if self.other > 0 {
            reasons.push(format!("{}: other reasons", self.other));
        }
        let most = self.networks.iter().max_by_key(|(_, count)| **count);
        let most = most.map_or_else(String::new, |(network, count)| format!(", {count} of them from {network}"));
        let at_least = if self.networks.len() == NETWORKS { "at least " } else { "" };
        let text = format!(
            "{total} more connections of unauthenticated clients failed within {} s, from {at_least}{} networks{most} ({})",
            INTERVAL.as_secs(),
            self.networks.len(),
            reasons.join("; ")
        );
        self.due = Some(now + INTERVAL);
        self.reasons.values_mut().for_each(|count| *count = 0);
        self.other = 0;
        self.networks.clear();
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustls::CertificateError;
    use rustls::pki_types::UnixTime;

    use super::super::identity::tls_message;
    use super::*;

    fn at(seconds: u32) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds.into()))
    }

    #[test]
    fn the_first_of_each_reason_is_logged_and_the_rest_summarised() {
        let mut failure_log = FailureLog::default();
        let begin = Instant::now();
        let (one, other) = ("192.0.2.1".parse().unwrap(), "198.51.100.1".parse().unwrap());
        let logged = (0..1000).filter(|_| failure_log.add(one, "it left", begin)).count();
        assert_eq!(logged, 1);
        assert!(failure_log.add(other, "it lied", begin) && !failure_log.add(other, "it lied", begin));
        assert_eq!(failure_log.summary(begin), None, "too early");
        let due = failure_log.deadline().unwrap();
        assert_eq!(due, begin + INTERVAL);
        let text = "1000 more connections of unauthenticated clients failed within 60 s, from 2 networks, 999 of them from \
                    192.0.2.0/24 (999: it left; 1: it lied)";
        assert_eq!(failure_log.summary(due).as_deref(), Some(text));
        // Further failures have no lines of their own, and an interval without failures has no summary.
        assert!(!failure_log.add(one, "it left", due));
        assert!(failure_log.summary(due + INTERVAL).unwrap().starts_with("1 more "));
        assert_eq!(failure_log.summary(due + 2 * INTERVAL), None);
        assert_eq!(failure_log.deadline(), None);
        assert!(failure_log.add(one, "it left", due + 3 * INTERVAL), "news after a quiet time");
        let expired = |second: u32| {
            let error = CertificateError::ExpiredContext { time: at(1_000_000 + second), not_after: at(7) };
            tls_message(&error.into(), Path::new("a.pem"))
        };
        assert_ne!(expired(1), expired(2));
        let logged = (0..50).filter(|&second| failure_log.add(one, &expired(second), due + 3 * INTERVAL)).count();
        assert_eq!(logged, 1, "the clock in a reason makes no other one of it");
    }

    #[test]
    fn no_flood_of_reasons_or_networks_grows_it() {
        let mut failure_log = FailureLog::default();
        let now = Instant::now();
        let mut logged = 0;
        for n in 0..100_000_u32 {
            let address = std::net::Ipv4Addr::from_bits(n << 8);
            logged += u32::from(failure_log.add(address.into(), &format!("reason {n}"), now));
        }
        assert_eq!(
            (logged as usize, failure_log.reasons.len(), failure_log.networks.len()),
            (REASONS, REASONS, NETWORKS)
        );
        let text = failure_log.summary(now + INTERVAL).unwrap();
        assert!(text.starts_with("99984 more ") && text.contains("at least 256 networks"), "{text}");
    }
}
