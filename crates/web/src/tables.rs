//! The tables of a run as octets: what they contain as JSON, then all numbers.

use std::collections::BTreeMap;

use cellway_record::{Counts, Row, RunRecord};
use serde_json::{Map, Value, json};

/// The rows of one subject and metric over time.
struct Series<'a> {
    row: &'a Row,
    values: Vec<(f64, f64)>,
}

/// Returns the tables of a run, `about` first; [`crate::exports`] has the form.
pub(crate) fn octets(about: &Map<String, Value>, record: &RunRecord) -> Vec<u8> {
    let series = series(&record.series);
    let Counts { events, cell_hops, packet_hops, packets, simulated } = record.counts;
    let mut contents = about.clone();
    let counts = json!({
        "events": events, "cell_hops": cell_hops, "packet_hops": packet_hops, "packets": packets,
        "simulated_s": simulated.as_secs_f64(),
    });
    let summary: Vec<Value> = record.summary.iter().map(|row| described(row, None)).collect();
    let over_time: Vec<Value> = series.iter().map(|series| described(series.row, Some(series.values.len()))).collect();
    contents.insert("counts".to_owned(), counts);
    contents.insert("summary".to_owned(), summary.into());
    contents.insert("series".to_owned(), over_time.into());
    let mut octets = vec![0; 8];
    octets.extend_from_slice(Value::Object(contents).to_string().as_bytes());
    // JSON may end with blanks, and the numbers begin at a multiple of their length.
    octets.resize(octets.len().next_multiple_of(8), b' ');
    let length = (octets.len() - 8) as u64;
    octets[..8].copy_from_slice(&length.to_le_bytes());
    let mut put = |value: f64| {
        // One bit pattern for every not-a-number, as in the tables of the command line.
        let value = if value.is_nan() { f64::NAN } else { value };
        octets.extend_from_slice(&value.to_le_bytes());
    };
    record.summary.iter().for_each(|row| put(row.value));
    for series in &series {
        series.values.iter().for_each(|(t, _)| put(*t));
        series.values.iter().for_each(|(_, value)| put(*value));
    }
    octets
}

/// Returns the subject and the metric of a row, and the number of `rows` of a series.
fn described(row: &Row, rows: Option<usize>) -> Value {
    let (subject, metric, unit) = (&*row.subject, row.metric.name(), row.metric.unit());
    match rows {
        None => json!([subject, metric, unit]),
        Some(rows) => json!([subject, metric, unit, rows]),
    }
}

/// Collects rows by subject and metric, in the order of their first ones.
fn series(rows: &[Row]) -> Vec<Series<'_>> {
    let mut places = BTreeMap::new();
    let mut all: Vec<Series<'_>> = Vec::new();
    for row in rows {
        let place = *places.entry((&*row.subject, row.metric.name())).or_insert_with(|| {
            all.push(Series { row, values: Vec::new() });
            all.len() - 1
        });
        all[place].values.push((row.t.unwrap_or(f64::NAN), row.value));
    }
    all
}
