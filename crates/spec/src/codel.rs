//! Controlled delay (CoDel) at the packet queues of routers and gateways.

use cellway_settings::section;
use cellway_units::Span;

use crate::{Problem, QueueParameters, UnlikeFifo};

section! {
    /// Controlled delay: a queue with `queue = "codel"` drops or marks packets once all packets of an interval have waited
    /// longer than a target.
    #[derive(Copy, Eq)]
    pub struct Codel, CodelKeys {
        /// The time that packets may wait for good.
        #[range(above = "0 s", max = "1 h")]
        pub target: Span = Span::from_ms(5),
        /// The time for which packets may wait longer: a round trip of the slowest flows. Not below `target`.
        #[range(above = "0 s", max = "1 h")]
        pub interval: Span = Span::from_ms(100),
        /// True: packets of flows with ECN are marked instead of dropped.
        pub ecn: bool = false,
    }
}

impl QueueParameters for Codel {
    fn rule(&self) -> Option<Problem> {
        above_interval(self.target, self.interval)
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn unlike_fifo(&self) -> Option<UnlikeFifo> {
        Some(UnlikeFifo {
            name: "controlled delay (CoDel)",
            effect: "drops packets that wait too long, before the buffer is full",
        })
    }
}

/// Returns the problem of a target above the interval.
pub(crate) fn above_interval(target: Span, interval: Span) -> Option<Problem> {
    let message = format!("target is {target}, which is above interval, {interval}");
    (target > interval)
        .then(|| Problem::new(&["target", "interval"], message, "a target of at most interval, like 5 % of it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Queue;

    fn problem(codel: Codel) -> Option<Problem> {
        Queue::Codel(codel).problem()
    }

    #[test]
    fn a_target_is_at_most_the_interval() {
        let codel = CodelKeys::NONE.resolve().expect("every key has a default");
        assert_eq!((codel.target, codel.interval, codel.ecn), (Span::from_ms(5), Span::from_ms(100), false));
        assert_eq!(problem(codel), None);
        assert_eq!(problem(Codel { target: codel.interval, ..codel }), None);
        let found = problem(Codel { interval: Span::from_ms(4), ..codel }).expect("the target is longer");
        assert_eq!(
            (found.keys, &*found.message),
            (vec!["target".to_owned(), "interval".to_owned()], "target is 5 ms, which is above interval, 4 ms")
        );
        assert_eq!(problem(Codel { target: Span::ZERO, ..codel }).expect("out of range").keys, ["target"]);
    }
}
