//! The entry point of fuzzing: octets as a file, through all that a derivation does. The target is in `fuzz/`; a test
//! runs its inputs again.

use std::io::Cursor;

use cellway_workload::{MAX_KNOTS, WorkloadFile};

use crate::classes::{Classes, Naming};
use crate::collect::Collector;
use crate::conversations::{Conversations, Limits};
use crate::octets::Octets;
use crate::path::Connections;
use crate::reader::{MAX_RECORD, Reader};

/// A capture: read to a fault or to its end, and its conversations with small tables.
///
/// # Panics
/// An invariant does not hold.
pub fn capture(data: &[u8]) {
    let mut reader = match Reader::new(Octets::new(Cursor::new(data.to_vec()))) {
        Ok(reader) => reader,
        Err(fault) => {
            assert!(fault.offset <= data.len() as u64 && !fault.to_string().is_empty());
            return;
        }
    };
    let limits = Limits { open: 3, pending: 4, messages: 40, ..Limits::default() };
    let mut conversations = Conversations::new(limits);
    let mut collector = Collector::new(Classes::new(Naming::Port));
    let mut connections = Connections::default();
    loop {
        match reader.read() {
            Ok(Some(record)) => {
                assert!(
                    record.octets.len() <= MAX_RECORD.min(data.len()) && record.wire as usize >= record.octets.len()
                );
                conversations.record(&record, &mut collector);
                connections.record(&record);
            }
            Ok(None) => break,
            Err(fault) => {
                assert!(fault.offset <= data.len() as u64 && !fault.to_string().is_empty());
                break;
            }
        }
    }
    if let Some(path) = connections.estimate() {
        let numbers = [path.rate.value, path.rtt.value, path.queue, path.loss.value, path.dispersion];
        assert!(numbers.iter().all(|number| number.is_finite() && *number >= 0.0), "{path:?}");
    }
    conversations.finish(&mut collector);
    let records = conversations.totals().records;
    let workload = collector.finish();
    for class in &workload.classes {
        assert!(class.conversations + class.left_out.total() <= records, "{class:?}");
        for (name, distribution) in &class.distributions {
            let knots = distribution.model.knots();
            assert!(knots.len() <= MAX_KNOTS && knots.last().is_some_and(|last| last.probability == 1.0), "{name}");
            assert!(knots.windows(2).all(|pair| pair[0].probability < pair[1].probability), "{name}");
            assert!(knots.windows(2).all(|pair| pair[0].value <= pair[1].value && pair[0].value >= 0.0), "{name}");
        }
    }
    let file = workload.file();
    if !file.classes.is_empty() {
        let text = file.to_toml("");
        assert!(WorkloadFile::parse(&text, "workload.toml").is_ok_and(|read| read == file), "{text}");
    }
}
