//! Stacks of others in a study: all its points and seeds, on several threads, into the same tables.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use cellway_lab::{Own, Plan, Settings, simulate, simulate_with};
use cellway_sim::{Payload, Stack, Stacks};
use cellway_units::{Ecn, Span, Time};

const STUDY: &str = r#"version = 1
name = "study"
node = [{ name = "a", kind = "host" }, { name = "r", kind = "router" }, { name = "b", kind = "host" }]
run = { duration = "5 s", warmup = "1 s", seeds = 2 }
buffer = { size = "1 MiB", per = "port" }
link = [
    { between = ["a", "r"], rate = "10 Mbit/s", delay = "1 ms" },
    { name = "line", between = ["r", "b"], rate = "1 Mbit/s", delay = "20 ms", loss = "5%" },
]
sweep = { axes = { "link.line.rate" = ["1 Mbit/s", "50 kbit/s"] } }

[[traffic]]
name = "voice"
from = "a"
to = "b"
jitter = "20 ms"
udp = { packet = "200 B", rate = "80 kbit/s" }
"#;

/// Sends a datagram of 172 octets each 20 ms, or counts those that arrive.
#[derive(Default)]
struct Voice {
    next: Option<Time>,
    sends: bool,
    due: bool,
    delivered: u64,
}

impl Stack for Voice {
    fn receive(&mut self, _: Time, datagram: &[u8], _: Ecn) {
        self.delivered += datagram.len() as u64;
    }

    fn transmit(&mut self, _: Time, buffer: &mut Vec<u8>) -> Option<Ecn> {
        buffer.resize(172, 0);
        std::mem::take(&mut self.due).then_some(Ecn::NotEct)
    }

    fn deadline(&mut self) -> Option<Time> {
        self.next
    }

    fn wake(&mut self, now: Time) {
        if self.sends {
            (self.due, self.next) = (true, Some(now + Span::from_ms(20)));
        }
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }
}

/// The tables are those of the built-in source that sends the same; only a note says that a stack has driven the group.
fn own(stacks: Stacks) -> Own {
    Own { stacks, ..Own::default() }
}

#[test]
fn a_study_with_stacks_fills_the_same_tables() {
    let plan = Plan::parse_with(STUDY, "study.toml", &[], None).unwrap();
    let stacks = Stacks::new().with("voice", Payload::Udp, |_| {
        Ok([Box::new(Voice { sends: true, ..Voice::default() }) as Box<dyn Stack>, Box::new(Voice::default())])
    });
    let mut settings = Settings { threads: Some(2), progress: &mut |_| {}, stop: &mut || false, store: None };
    let source = simulate(&plan, Path::new("."), None, &mut settings).unwrap();
    let stack = simulate_with(&plan, Path::new("."), None, &own(stacks), &mut settings).unwrap();
    assert_eq!(stack.results.runs.num_rows(), 4, "two rates, two seeds");
    assert!(stack.results.summary.num_rows() > 100);
    assert_eq!(stack.results.summary, source.results.summary);
    assert_eq!(stack.results.series, source.results.series);
    let note = "traffic \"voice\": a stack of others drove it; its application and TCP had no effect".to_owned();
    assert!(stack.warnings.contains(&note) && !source.warnings.contains(&note));
    assert_eq!(stack.warnings.len(), source.warnings.len() + 1);
    let unknown = Stacks::new().with("speech", Payload::Udp, |_| Err(String::new()));
    let error = simulate_with(&plan, Path::new("."), None, &own(unknown), &mut settings).err().unwrap();
    assert!(error.is_input() && error.to_string().ends_with("it has \"voice\""), "{error}");
}
