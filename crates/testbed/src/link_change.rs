//! Changes of links by a caller, while the network runs.

use cellway_net::RandomBits;
use cellway_scenario::{Framing, Link, LinkDirection, LinkIndex};
use cellway_units::{Probability, Rate, Span, Time};

use crate::bed::Testbed;
use crate::direction::stream_name;
use crate::error::Error;

/// A new value of a link. That of a packet link holds until the next change of the scenario, if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// The rate: of packets also for the rest of the one on the line, of cells from the next one on. Outages stay as they are.
    Rate(Rate),
    /// The delay of the packets that leave the line from now on, without its random part. They do not overtake those before
    /// them unless the link has `reorder`.
    Delay(Span),
    /// The probability with which packets, or cells, that leave the line from now on are lost, independently of each other.
    Loss(Probability),
}

impl LinkChange {
    /// Checks that a link can have the change.
    ///
    /// # Errors
    /// A rate of zero, a quantity that follows a recording, the delay of an ATM link, the loss of one whose losses come in
    /// bursts.
    pub fn check(self, link: &Link, direction: LinkDirection) -> Result<(), Error> {
        const RECORDED: &str = "it follows a recording; accepted: a direction that does not";
        let trace = |end: usize| link.traces[end].as_deref();
        let any = |is: &dyn Fn(usize) -> bool| direction.ports().iter().any(|&end| is(end));
        let (what, why) = match self {
            LinkChange::Rate(rate) if rate.as_bps() == 0 => ("rate", "a link has one above zero, like \"1 Mbit/s\""),
            LinkChange::Rate(_) if any(&|end| trace(end).is_some_and(|trace| trace.rate.is_some())) => {
                ("rate", RECORDED)
            }
            LinkChange::Delay(_) if link.framing == Framing::Atm => {
                ("delay", "its cells have one delay; accepted: a link of packets")
            }
            LinkChange::Delay(_)
                if any(&|end| trace(end).is_some_and(|trace| trace.delay.is_some() || trace.light.is_some())) =>
            {
                ("delay", RECORDED)
            }
            LinkChange::Loss(_) if any(&|end| trace(end).is_some_and(|trace| trace.loss.is_some())) => {
                ("loss", RECORDED)
            }
            LinkChange::Loss(_) if any(&|end| link.directions[end].burst.is_some()) => {
                ("loss", "its losses come in bursts; accepted: a direction without `burst`")
            }
            LinkChange::Rate(_) | LinkChange::Delay(_) | LinkChange::Loss(_) => return Ok(()),
        };
        Err(Error::Unchangeable { link: link.name.clone(), what, why })
    }
}

impl<B: Clone> Testbed<B> {
    /// Makes a change that [`LinkChange::check`] accepts.
    pub fn change_link(&mut self, now: Time, link: LinkIndex, direction: LinkDirection, change: LinkChange) {
        for &end in direction.ports() {
            let port = self.ports[link.0][end];
            match change {
                LinkChange::Rate(rate) => self.fabric.set_line_rate(now, port, rate),
                LinkChange::Delay(delay) => self.fabric.set_link_delay(now, port, delay),
                LinkChange::Loss(chance) => {
                    let source = self.losses_of(link, end);
                    self.fabric.set_link_loss(now, port, chance, source);
                }
            }
        }
    }

    /// Returns the random numbers of the losses of a direction, from the first.
    fn losses_of(&self, link: LinkIndex, direction: usize) -> impl RandomBits + use<B> {
        let link = &self.scenario.links[link.0];
        let names = [link.a, link.b].map(|node| self.scenario.nodes[node.0].name.as_str());
        let mut stream = self.streams.stream(&stream_name(link, names, direction, "loss"));
        move || stream.bits()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cellway_apps::random::Streams;
    use cellway_net::Packet;
    use cellway_record::Source;
    use cellway_scenario::{LinkTrace, Plan, Recorded, Scenario};
    use cellway_units::Ecn;

    use super::*;

    /// 1000 octets take 1 ms on the line.
    const PATH: &str = r#"version = 1
name = "path"
buffer = { size = "64 KiB", per = "port" }
node = [
  { name = "a", kind = "host" },
  { name = "r", kind = "router" },
  { name = "s", kind = "router" },
  { name = "b", kind = "host" },
]
link = [
  { between = ["a", "r"], rate = "100 Gbit/s", delay = "0 s" },
  { name = "line", between = ["r", "s"], rate = "8 Mbit/s", delay = "5 ms" KEYS },
  { between = ["s", "b"], rate = "100 Gbit/s", delay = "0 s" },
]
run = { duration = "60 s" }
traffic = [{ name = "bulk", app = "bulk", from = "a", to = "b" }]
"#;

    const LINE: LinkIndex = LinkIndex(1);

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn scenario(keys: &str) -> Scenario {
        Plan::parse_with(&PATH.replace("KEYS", keys), "t.toml", &[], None).unwrap().base().clone()
    }

    /// Sends packets of 1000 octets at instants (ms) from the first host, makes the changes (at ms), and returns the arrivals
    /// in whole ms.
    fn arrivals(scenario: &Scenario, sends: &[u64], changes: &[(u64, LinkDirection, LinkChange)]) -> Vec<u64> {
        let mut bed: Testbed<()> = Testbed::new(scenario, &Streams::new(1), Source::Simulate).unwrap();
        let hosts = bed.slots[0].hosts;
        let segment = bed.segments(hosts, 0).unwrap().remove(0);
        let conversation = bed.open(Time::ZERO, &segment, 0).unwrap();
        let (mut delivered, mut arrivals) = (Vec::new(), Vec::new());
        let mut sends = sends.iter().peekable();
        let mut changes = changes.iter().peekable();
        loop {
            let given =
                [sends.peek().map(|at| ms(**at)), changes.peek().map(|(at, ..)| ms(*at)), bed.fabric.deadline()];
            let Some(now) = given.into_iter().flatten().min() else { return arrivals };
            bed.fabric.advance(now, &mut delivered);
            arrivals.extend(delivered.drain(..).map(|_| (now - Time::ZERO).as_ps() / 1_000_000_000));
            while sends.next_if(|at| ms(**at) == now).is_some() {
                let [from, to] = hosts;
                let packet =
                    Packet { conversation, from, to, flow: 0, octets: 1000, ecn: Ecn::NotEct, dscp: 0, body: () };
                bed.fabric.send(now, packet);
            }
            bed.fabric.serve(now);
            while let Some(&(_, direction, change)) = changes.next_if(|(at, ..)| ms(*at) == now) {
                bed.change_link(now, LINE, direction, change);
            }
        }
    }

    fn rate(mbit: u64) -> LinkChange {
        LinkChange::Rate(Rate::from_bps(mbit * 1_000_000))
    }

    const BOTH: LinkDirection = LinkDirection::Both;

    /// The line is out from 2 to 3 s and from 12 to 13 s.
    #[test]
    fn outages_go_on_after_a_change_of_the_rate() {
        const OUTAGES: &str = r#", both.outage = { first = "2 s", every = "10 s", length = "1 s" }"#;
        let sends = [100, 2100, 12_100];
        let changed = arrivals(&scenario(OUTAGES), &sends, &[(1000, BOTH, rate(4))]);
        assert_eq!(changed, [106, 3007, 13_007]);
    }

    #[test]
    fn the_packet_on_a_line_that_is_too_slow_goes_at_the_new_rate() {
        let changes = [(0, BOTH, LinkChange::Rate(Rate::from_bps(1))), (5000, BOTH, rate(8))];
        assert_eq!(arrivals(&scenario(""), &[1, 2], &changes), [5005, 5006]);
        let back_only = [(0, LinkDirection::Back, LinkChange::Rate(Rate::from_bps(1)))];
        assert_eq!(arrivals(&scenario(""), &[1, 2], &back_only), [7, 8]);
    }

    /// A change of the file comes after one of the caller.
    #[test]
    fn a_change_of_the_file_still_comes() {
        let mut with_change = PATH.replace("KEYS", "");
        with_change.push_str("[[change]]\nat = \"1 s\"\nlink = \"line\"\nrate = \"1 Mbit/s\"\n");
        let scenario = Plan::parse_with(&with_change, "t.toml", &[], None).unwrap().base().clone();
        assert_eq!(arrivals(&scenario, &[600, 1500], &[(500, BOTH, rate(4))]), [607, 1513]);
    }

    #[test]
    fn a_delay_changes_for_packets_that_leave_the_line_later() {
        let delay = |ms| LinkChange::Delay(Span::from_ms(ms));
        let changes = [(20, BOTH, delay(500)), (30, BOTH, delay(0))];
        // The third would come at 41 ms, before the second.
        assert_eq!(arrivals(&scenario(""), &[10, 25, 40, 600], &changes), [16, 526, 526, 601]);
    }

    /// Of 2000 packets each half is within four standard errors of its loss; the streams are those of the file.
    #[test]
    fn a_loss_begins_changes_and_ends() {
        let sends: Vec<u64> = (0..3000).map(|number| 2 * number).collect();
        let loss = |text: &str| LinkChange::Loss(text.parse().unwrap());
        let changes = [(1999, BOTH, loss("30 %")), (3999, BOTH, loss("0 %"))];
        let came = arrivals(&scenario(""), &sends, &changes);
        let count = |from: u64, to: u64| came.iter().filter(|&&at| (from..to).contains(&at)).count();
        assert_eq!((count(0, 2006), count(4006, 7000)), (1000, 1000));
        let lost = 1000 - count(2006, 4006);
        assert!((242..358).contains(&lost), "{lost}");
        let from_the_file = arrivals(&scenario(r#", loss = "30 %""#), &sends, &[]);
        let from_the_start = arrivals(&scenario(""), &sends, &[(0, BOTH, loss("30 %"))]);
        assert_eq!(from_the_start, from_the_file);
    }

    #[test]
    fn what_a_link_cannot_change_is_refused() {
        let plain = scenario("").links[LINE.0].clone();
        let refusal =
            |link: &Link, direction, change: LinkChange| change.check(link, direction).map_err(|e| e.to_string());
        let delay = LinkChange::Delay(Span::from_ms(1));
        let loss = LinkChange::Loss(Probability::ZERO);
        for change in [rate(1), delay, loss] {
            assert_eq!(refusal(&plain, BOTH, change), Ok(()));
        }
        let zero = refusal(&plain, BOTH, rate(0)).unwrap_err();
        assert_eq!(zero, "the rate of link \"line\" cannot be changed: a link has one above zero, like \"1 Mbit/s\"");
        let mut recorded = plain.clone();
        fn always<T>(value: T) -> Option<Recorded<T>> {
            Some(Recorded { changes: vec![(Time::ZERO, value)], length: Span::from_secs(1) })
        }
        let trace = LinkTrace {
            rate: always(Rate::from_bps(1)),
            delay: always(Span::ZERO),
            loss: always(Probability::ZERO),
            ..LinkTrace::default()
        };
        recorded.traces[0] = Some(Arc::new(trace));
        for (what, change) in [("rate", rate(1)), ("delay", delay), ("loss", loss)] {
            for direction in [BOTH, LinkDirection::Forward] {
                let message = refusal(&recorded, direction, change).unwrap_err();
                let expected = format!("the {what} of link \"line\" cannot be changed: it follows a recording");
                assert!(message.starts_with(&expected), "{message}");
            }
            assert_eq!(refusal(&recorded, LinkDirection::Back, change), Ok(()));
        }
        let bursts = scenario(r#", loss = "1 %", forward.burst = 4"#).links[LINE.0].clone();
        assert!(refusal(&bursts, BOTH, loss).unwrap_err().contains("bursts"));
        assert_eq!(refusal(&bursts, LinkDirection::Back, loss), Ok(()));
        let atm = Link { framing: Framing::Atm, ..plain };
        assert!(refusal(&atm, BOTH, delay).unwrap_err().contains("one delay"));
        assert_eq!(refusal(&atm, BOTH, loss), Ok(()));
    }
}
