//! Records of qlog that cannot be written.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::io::{self, Write};

use cellway_scenario::Scenario;
use cellway_sim::{Control, Error, Payload, Qlog, QlogEnd, Stack, Stacks};
use cellway_units::{Ecn, Time};
use common::{hosts_at_a_line, scenario, workloads};

fn bulk() -> Scenario {
    scenario(&hosts_at_a_line("[[traffic]]\nname = \"bulk\"\napp = \"bulk\"\nfrom = \"a\"\nto = \"b\"\n"), &[])
}

/// Has room for so many octets.
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(octets.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(octets.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn record(disk: &mut Disk, stacks: Option<&Stacks>) -> (Result<(), Error>, u64) {
    let (scenario, mut events) = (bulk(), 0);
    let end = QlogEnd::of(&scenario, "bulk-1").unwrap();
    let control = Control { qlog: Some(Qlog::new(end, disk, &mut events)), stacks, ..Control::new(&|| false) };
    let result = cellway_sim::run(&scenario, &workloads(&scenario), 1, control).map(drop);
    (result, events)
}

#[test]
fn a_full_disk_ends_the_run() {
    let (result, events) = record(&mut Disk(usize::MAX), None);
    assert!(result.is_ok() && events > 100, "{events}");
    let (result, events) = record(&mut Disk(5_000), None);
    let error = result.unwrap_err();
    assert!(error.to_string().starts_with("cannot write the qlog: "), "{error}");
    assert_eq!(events, 0);
}

/// Sends nothing.
struct Mute;

impl Stack for Mute {
    fn receive(&mut self, _: Time, _: &[u8], _: Ecn) {}
    fn transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Ecn> {
        None
    }
    fn deadline(&mut self) -> Option<Time> {
        None
    }
    fn wake(&mut self, _: Time) {}
    fn delivered(&self) -> u64 {
        0
    }
}

#[test]
fn a_slot_of_a_stack_of_others_is_refused() {
    let stacks = Stacks::new().with("bulk", Payload::Udp, |_| Ok([Box::new(Mute), Box::new(Mute)]));
    let (result, _) = record(&mut Disk(usize::MAX), Some(&stacks));
    let expected =
        "cannot record \"bulk-1\" as qlog: a stack of others drives it; accepted: slots with the built-in TCP";
    assert_eq!(result.unwrap_err().to_string(), expected);
}
