//! A small protocol of one's own beside the built-in CUBIC: `cargo run -p cellway-stacks --example own_stack`

use cellway_scenario::Plan;
use cellway_sim::{Control, Payload, Stack, Stacks};
use cellway_units::{Ecn, Span, Time};

/// Datagrams in flight at most, and the time after which the sender goes back to the first that is not acknowledged.
const WINDOW: u64 = 32;
const TIMEOUT: Span = Span::from_ms(200);

/// Sends datagrams that begin with their number, and goes back if no acknowledgement arrives in time.
struct Sender {
    octets: usize,
    /// The first number that is not acknowledged, the next to send, and one more than the highest sent.
    base: u64,
    next: u64,
    end: u64,
    timer: Option<Time>,
    again: u64,
}

impl Stack for Sender {
    fn receive(&mut self, now: Time, datagram: &[u8], _ecn: Ecn) {
        let Some(octets) = datagram.first_chunk() else { return };
        let acknowledged = u64::from_be_bytes(*octets);
        if acknowledged > self.base {
            (self.base, self.next) = (acknowledged, self.next.max(acknowledged));
            self.timer = Some(now + TIMEOUT);
        }
    }

    fn transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Ecn> {
        if self.next == self.base + WINDOW {
            return None;
        }
        buffer.extend(self.next.to_be_bytes());
        buffer.resize(self.octets, 0);
        self.again += u64::from(self.next < self.end);
        self.next += 1;
        self.end = self.end.max(self.next);
        self.timer.get_or_insert(now + TIMEOUT);
        Some(Ecn::NotEct)
    }

    fn deadline(&mut self) -> Option<Time> {
        self.timer
    }

    fn wake(&mut self, now: Time) {
        if self.timer.is_some_and(|at| at <= now) {
            (self.next, self.timer) = (self.base, None);
        }
    }

    fn delivered(&self) -> u64 {
        0
    }

    fn retransmissions(&self) -> Option<u64> {
        Some(self.again)
    }
}

/// Takes datagrams in order, and acknowledges each with the number that it expects next.
#[derive(Default)]
struct Receiver {
    expected: u64,
    acknowledgements: u32,
    delivered: u64,
}

impl Stack for Receiver {
    fn receive(&mut self, _now: Time, datagram: &[u8], _ecn: Ecn) {
        self.acknowledgements += 1;
        if datagram.first_chunk() == Some(&self.expected.to_be_bytes()) {
            self.expected += 1;
            self.delivered += datagram.len() as u64 - 8;
        }
    }

    fn transmit(&mut self, _now: Time, buffer: &mut Vec<u8>) -> Option<Ecn> {
        self.acknowledgements = self.acknowledgements.checked_sub(1)?;
        buffer.extend(self.expected.to_be_bytes());
        Some(Ecn::NotEct)
    }

    fn deadline(&mut self) -> Option<Time> {
        None
    }

    fn wake(&mut self, _now: Time) {}

    fn delivered(&self) -> u64 {
        self.delivered
    }
}

pub(crate) fn stacks() -> Stacks {
    Stacks::new().with("other", Payload::Udp, |setup| {
        let octets = setup.max_datagram;
        let sender = Sender { octets, base: 0, next: 0, end: 0, timer: None, again: 0 };
        Ok([Box::new(sender) as Box<dyn Stack>, Box::new(Receiver::default())])
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = include_str!("beside/beside_cubic.toml");
    let plan = Plan::parse_with(text, "beside_cubic.toml", &[], None)?;
    let scenario = plan.base();
    let mut workloads = Vec::new();
    for group in &scenario.traffic {
        workloads.push(cellway_sim::workload(group, None)?);
    }
    let control = Control { stacks: Some(&stacks()), ..Control::new(&|| false) };
    let record = cellway_sim::run(scenario, &workloads, 1, control)?;
    for row in &record.summary {
        if row.metric == "goodput" || row.metric == "retransmissions" {
            println!("{:<8} {:<16} {:>9.0}", row.subject, row.metric.to_string(), row.value);
        }
    }
    Ok(())
}
