//! Log lines about a peer that cannot be reached: each reason once, then summaries at growing intervals.

use std::time::{Duration, Instant};

use super::failure_log::kind;

/// The time until the first summary, and between it and the second; each further interval is twice the one before ...
const FIRST: Duration = Duration::from_secs(60);
/// ... up to this one.
const LONGEST: Duration = Duration::from_secs(3600);
/// Most reasons that are logged on their own.
const REASONS: usize = 4;

/// Attempts since the peer went down, or since the start.
#[derive(Debug, Default)]
pub(super) struct UnreachableLog {
    logged: Vec<String>,
    attempts: u64,
    since: Option<Instant>,
    next: Option<Instant>,
    pause: Duration,
}

/// A line for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// A reason that was not logged before.
    Reason,
    /// The number of failed attempts, and the time since the first.
    Summary(u64, Duration),
}

impl UnreachableLog {
    /// Counts an attempt that failed because of `why`, and returns the line to log, if any.
    pub(super) fn add(&mut self, why: &str, now: Instant) -> Option<Report> {
        self.attempts += 1;
        let since = *self.since.get_or_insert(now);
        let next = *self.next.get_or_insert(now + FIRST);
        let why = kind(why);
        if self.logged.len() < REASONS && !self.logged.iter().any(|known| known == why) {
            self.logged.push(why.to_owned());
            return Some(Report::Reason);
        }
        if now < next {
            return None;
        }
        self.pause = (self.pause * 2).clamp(FIRST, LONGEST);
        self.next = Some(now + self.pause);
        Some(Report::Summary(self.attempts, now - since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_logged_once_and_then_summaries() {
        let mut of = UnreachableLog::default();
        let begin = Instant::now();
        let mut lines = Vec::new();
        // A day of attempts 10 s apart, with two reasons in turn.
        for attempt in 0..8640_u64 {
            let now = begin + Duration::from_secs(10 * attempt);
            if let Some(report) = of.add(if attempt % 2 == 0 { "no answer" } else { "refused" }, now) {
                lines.push(report);
            }
        }
        assert_eq!(lines[..2], [Report::Reason, Report::Reason]);
        assert_eq!(lines[2], Report::Summary(7, Duration::from_secs(60)));
        assert!(lines[2..].iter().all(|line| matches!(line, Report::Summary(..))), "{lines:?}");
        // After 1, 2, 4, ... 32 min, then each hour.
        assert!((26..=34).contains(&lines.len()), "{}", lines.len());
    }
}
