//! The outcome of a run as octets: the rows as columns, names once each, compressed.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_record::{Counts, Quantity, Row, RunRecord};
use cellway_units::Span;
use serde::{Deserialize, Serialize};

/// The level of zstd: the fastest of the usual ones.
const LEVEL: i32 = 1;

#[derive(Serialize, Deserialize)]
struct Stored {
    /// Events, cell hops, packet hops, packets, and picoseconds simulated.
    counts: [u64; 5],
    subjects: Vec<String>,
    /// Names with units.
    metrics: Vec<(String, String)>,
    summary: Columns,
    series: Columns,
}

#[derive(Default, Serialize, Deserialize)]
struct Columns {
    subject: Vec<u32>,
    metric: Vec<u32>,
    t: Vec<Option<f64>>,
    value: Vec<f64>,
}

impl Columns {
    fn of<'a>(rows: &'a [Row], subjects: &mut Names<&'a str>, metrics: &mut Names<(&'a str, &'a str)>) -> Columns {
        Columns {
            subject: rows.iter().map(|row| subjects.number(&row.subject)).collect(),
            metric: rows.iter().map(|row| metrics.number((row.metric.name(), row.metric.unit()))).collect(),
            t: rows.iter().map(|row| row.t).collect(),
            value: rows.iter().map(|row| row.value).collect(),
        }
    }
}

/// Returns a record as octets: the length before compression, then the compressed text.
pub(crate) fn encode(record: &RunRecord) -> Vec<u8> {
    let (mut subjects, mut metrics) = (Names::default(), Names::default());
    let summary = Columns::of(&record.summary, &mut subjects, &mut metrics);
    let series = Columns::of(&record.series, &mut subjects, &mut metrics);
    let Counts { events, cell_hops, packet_hops, packets, simulated } = record.counts;
    let stored = Stored {
        counts: [events, cell_hops, packet_hops, packets, simulated.as_ps()],
        subjects: subjects.list.into_iter().map(str::to_owned).collect(),
        metrics: metrics.list.into_iter().map(|(name, unit)| (name.to_owned(), unit.to_owned())).collect(),
        summary,
        series,
    };
    let plain = postcard::to_stdvec(&stored).expect("vectors of numbers and texts can be written to memory");
    let packed = zstd::bulk::compress(&plain, LEVEL).expect("memory takes what is compressed");
    [&(plain.len() as u64).to_le_bytes()[..], &packed].concat()
}

/// Returns the record that [`encode`] was given.
pub(crate) fn decode(octets: &[u8]) -> Result<RunRecord, String> {
    let (length, packed) = octets.split_first_chunk::<8>().ok_or("too short")?;
    // Zstd makes a text at most some thousand times shorter; a wrong length takes no memory.
    let length = usize::try_from(u64::from_le_bytes(*length)).ok().filter(|length| length / 65_536 <= packed.len());
    let plain = zstd::bulk::decompress(packed, length.ok_or("a wrong length")?).map_err(|error| error.to_string())?;
    let stored: Stored = postcard::from_bytes(&plain).map_err(|error| error.to_string())?;
    let subjects: Vec<Arc<str>> = stored.subjects.into_iter().map(Arc::from).collect();
    let metrics: Vec<Quantity> = stored.metrics.iter().map(|(name, unit)| Quantity::read(name, unit)).collect();
    let rows = |columns: Columns| {
        let lengths = [columns.metric.len(), columns.t.len(), columns.value.len()];
        if lengths != [columns.subject.len(); 3] {
            return Err("columns of unequal lengths".to_owned());
        }
        let numbers = columns.subject.into_iter().zip(columns.metric);
        let values = columns.t.into_iter().zip(columns.value);
        let row = |((subject, metric), (t, value)): ((u32, u32), (Option<f64>, f64))| {
            let subject = subjects.get(subject as usize).ok_or("a subject without a name")?.clone();
            Ok(Row { subject, metric: *metrics.get(metric as usize).ok_or("a metric without a name")?, t, value })
        };
        numbers.zip(values).map(row).collect::<Result<Vec<Row>, &str>>().map_err(str::to_owned)
    };
    let [events, cell_hops, packet_hops, packets, simulated] = stored.counts;
    let counts = Counts { events, cell_hops, packet_hops, packets, simulated: Span::from_ps(simulated) };
    Ok(RunRecord { summary: rows(stored.summary)?, series: rows(stored.series)?, counts })
}

/// Names in the order of their first use.
struct Names<T> {
    list: Vec<T>,
    numbers: BTreeMap<T, u32>,
}

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names { list: Vec::new(), numbers: BTreeMap::new() }
    }
}

impl<T: Ord + Copy> Names<T> {
    fn number(&mut self, name: T) -> u32 {
        *self.numbers.entry(name).or_insert_with(|| {
            self.list.push(name);
            u32::try_from(self.list.len() - 1).expect("a run has fewer names than memory holds")
        })
    }
}

#[cfg(test)]
mod tests {
    use cellway_record::metric::{Source, port};
    use proptest::prelude::*;

    use super::*;

    fn record(values: &[(u8, bool, Option<f64>, f64)]) -> RunRecord {
        let row = |(subject, own, t, value): &(u8, bool, Option<f64>, f64)| Row {
            subject: format!("r{subject}>s").into(),
            metric: if *own { Quantity::own("score", "points") } else { (&port::UTILISATION).into() },
            t: *t,
            value: *value,
        };
        let counts = Counts { events: 7, cell_hops: u64::MAX, simulated: Span::from_ms(60), ..Counts::default() };
        let rows: Vec<Row> = values.iter().map(row).collect();
        let (series, summary) = rows.into_iter().partition(|row| row.t.is_some());
        RunRecord { summary, series, counts }
    }

    /// The bits of values, so that not-a-number and negative zero count.
    fn bits(record: &RunRecord) -> Vec<(String, String, Option<u64>, u64)> {
        let rows = record.summary.iter().chain(&record.series);
        let row =
            |row: &Row| (row.subject.to_string(), row.metric.to_string(), row.t.map(f64::to_bits), row.value.to_bits());
        rows.map(row).collect()
    }

    proptest! {
        #[test]
        fn a_record_comes_back(values in prop::collection::vec((any::<u8>(), any::<bool>(), any::<Option<f64>>(), any::<f64>()), 0..200)) {
            let before = record(&values);
            let after = decode(&encode(&before)).unwrap();
            prop_assert_eq!(bits(&before), bits(&after));
            prop_assert_eq!((before.counts, before.summary.len()), (after.counts, after.summary.len()));
            prop_assert!(after.summary.iter().all(|row| row.metric.seen_by(Source::Published)));
        }

        #[test]
        fn other_octets_are_refused_without_a_panic(octets in prop::collection::vec(any::<u8>(), 0..300), at in any::<prop::sample::Index>()) {
            let _ = decode(&octets);
            let mut damaged = encode(&record(&[(1, false, Some(0.5), 2.0), (2, true, None, f64::NAN)]));
            let at = at.index(damaged.len());
            damaged[at] ^= 0x55;
            let _ = decode(&damaged);
        }
    }
}
