//! Tables: built from runs, stored as Parquet, read back.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use bytes::Bytes;
use cellway_record::{AxisValue, Counts, Quantity, Row, RunKey, RunRecord, Source};
use cellway_tables::{Error, Observation, Results, ResultsBuilder, Table};
use cellway_units::Span;
use proptest::prelude::*;

const METRICS: [(&str, &str); 3] = [("goodput", "bit/s"), ("queue_mean", "cell"), ("jain", "1")];

fn key(run: u32) -> RunKey {
    RunKey { run, point: run / 2, seed: u64::from(run % 2) + 1, axes: Vec::new() }
}

fn axis(name: &str, value: AxisValue) -> (String, AxisValue) {
    (name.to_owned(), value)
}

fn text(value: &str) -> AxisValue {
    AxisValue::Text(value.to_owned())
}

fn row(subject: &str, which: usize, t: Option<f64>, value: f64) -> Row {
    let (metric, unit) = METRICS[which];
    Row { subject: Arc::from(subject), metric: Quantity::read(metric, unit), t, value }
}

fn record(summary: Vec<Row>, series: Vec<Row>) -> RunRecord {
    let counts = Counts { events: 10, cell_hops: 7, packet_hops: 5, packets: 3, simulated: Span::from_secs(2) };
    RunRecord { summary, series, counts }
}

fn stored(table: &Table) -> Vec<u8> {
    table.write_parquet(Vec::new()).unwrap()
}

/// Checks an observation against its row and run.
fn agree(found: &Observation<'_>, run: u32, row: &Row) -> bool {
    let same_value = found.value == row.value || (found.value.is_nan() && row.value.is_nan());
    (found.run, found.source, found.subject, found.metric, found.unit, found.t)
        == (run, "simulate", &*row.subject, row.metric.name(), row.metric.unit(), row.t)
        && same_value
}

fn rows(t: bool) -> impl Strategy<Value = Vec<Row>> {
    let time = if t { (0.0..1e6).prop_map(Some).boxed() } else { Just(None).boxed() };
    let one = ("[a-z]{1,3}(-[0-9])?(>[a-z]{2})?", 0..METRICS.len(), time, any::<f64>());
    let rows = prop::collection::vec(one.prop_map(|(subject, which, t, value)| row(&subject, which, t, value)), 0..40);
    rows.prop_map(move |mut rows| {
        // A figure of a summary has a single value.
        let mut known = std::collections::BTreeSet::new();
        rows.retain(|row| t || known.insert((row.subject.clone(), row.metric.name())));
        rows
    })
}

/// Two items with one subject would be averaged like two replications.
#[test]
fn a_run_has_one_value_of_a_figure() {
    let twice = record(vec![row("a>b", 0, None, 0.5), row("a>b", 1, None, 1.0), row("a>b", 0, None, 0.7)], Vec::new());
    let refused = Results::from_runs(Source::Simulate, [(key(0), twice.clone())]).unwrap_err();
    let told = "run 0 has two values of goodput of \"a>b\" from simulate; each subject of a run must have its own name";
    assert_eq!(refused.to_string(), told);
    // The same figure of other sources, runs and metrics is accepted, and so is another instant of a series.
    let once =
        record(vec![row("a>b", 0, None, 0.5)], vec![row("a>b", 0, Some(1.0), 0.5), row("a>b", 0, Some(1.0), 0.6)]);
    let mut builder = ResultsBuilder::new(Source::Simulate);
    builder.push(key(0), &once).unwrap();
    builder.add(Source::Published, &once).unwrap();
    assert!(matches!(builder.add(Source::Published, &once), Err(Error::Twice { run: 0, .. })));
    builder.push(key(1), &once).unwrap();
    // Merging two studies does not hide the duplicate.
    let [first, second] = [0, 1].map(|run| Results::from_runs(Source::Simulate, [(key(run), once.clone())]).unwrap());
    let mut joined = ResultsBuilder::new(Source::Simulate);
    joined.append(&first, |key| key).unwrap();
    joined.append(&second, |key| key).unwrap();
    assert_eq!(joined.finish().unwrap().summary.num_rows(), 2);
}

fn runs() -> impl Strategy<Value = Vec<(RunKey, RunRecord)>> {
    let number = prop_oneof![Just(0.0), Just(5.0), -1e9..1e9];
    let axes = (prop::option::of(number), prop::option::of("[a-z/ ]{0,8}"));
    let one = (any::<u32>(), any::<u64>(), axes, rows(false), rows(true));
    prop::collection::vec(one, 0..6).prop_map(|list| {
        let runs = list.into_iter().zip(0u32..).map(|((point, seed, (count, policy), summary, series), i)| {
            let axes = count.map(|c| axis("traffic.ftp.count", AxisValue::Number(c))).into_iter();
            let axes = axes.chain(policy.map(|p| axis("multiplexing.channel", AxisValue::Text(p)))).collect();
            (RunKey { run: 3 * i, point, seed, axes }, record(summary, series))
        });
        runs.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_are_read_back_from_parquet_and_equal_rows_are_equal_bytes(runs in runs()) {
        let results = Results::from_runs(Source::Simulate, runs.clone()).unwrap();
        let again = Results::from_runs(Source::Simulate, runs.clone()).unwrap();
        for (table, same) in results.tables().into_iter().zip(again.tables()) {
            let bytes = stored(table);
            prop_assert_eq!(&bytes, &stored(same));
            let back = Table::read_parquet(&table.name, Bytes::from(bytes)).unwrap();
            prop_assert_eq!(&back.schema, &table.schema);
            prop_assert_eq!(back.num_rows(), table.num_rows());
        }
        let back = |table: &Table| Table::read_parquet(&table.name, Bytes::from(stored(table))).unwrap();
        let back = Results {
            runs: back(&results.runs),
            summary: back(&results.summary),
            series: back(&results.series),
            counts: results.counts,
        };
        let (keys, given): (Vec<_>, Vec<_>) = (back.run_keys().unwrap(), runs.iter().map(|(k, _)| k.clone()).collect());
        for (found, given) in keys.iter().zip(&given) {
            prop_assert_eq!((found.run, found.point, found.seed), (given.run, given.point, given.seed));
            prop_assert_eq!(found.axes.len(), given.axes.len());
            prop_assert!(given.axes.iter().all(|a| found.axes.contains(a)));
        }
        prop_assert_eq!(keys.len(), given.len());
        for (table, of) in [(&back.summary, 0), (&back.series, 1)] {
            let rows = |r: &RunRecord| if of == 0 { r.summary.clone() } else { r.series.clone() };
            let expected: Vec<_> = runs.iter().flat_map(|(k, r)| rows(r).into_iter().map(|row| (k.run, row))).collect();
            let found: Vec<_> = table.observations().unwrap().collect();
            prop_assert_eq!(found.len(), expected.len());
            for (found, (run, row)) in found.iter().zip(&expected) {
                prop_assert!(agree(found, *run, row), "{:?} is not {:?} of run {}", found, row, run);
            }
        }
    }
}

/// More rows than a batch and a row group hold.
#[test]
fn a_long_series_is_read_back_complete() {
    let many = 300_000;
    let mut builder = ResultsBuilder::new(Source::Simulate);
    for run in 0..3 {
        let series = (0..many / 3).map(|i| row("r1>s1", 1, Some(f64::from(i)), f64::from(i * run))).collect();
        builder.push(key(run as u32), &record(Vec::new(), series)).unwrap();
    }
    let results = builder.finish().unwrap();
    assert!(results.series.batches.len() > 1);
    let bytes = stored(&results.series);
    let back = Table::read_parquet("series", Bytes::from(bytes)).unwrap();
    assert!(back.observations().unwrap().eq(results.series.observations().unwrap()));
    assert_eq!((back.num_rows(), results.counts.cell_hops), (many as usize, 21));
}

/// Only the data are in the file: the same table written a moment later is the same.
#[test]
fn columns_and_their_types() {
    let policy = |name: &str, count: f64| {
        vec![axis("multiplexing.channel", text(name)), axis("traffic.ftp.count", AxisValue::Number(count))]
    };
    let runs = [("per-type", 0.0), ("per-destination", 5.0)].into_iter().zip(0..).map(|((name, count), run)| {
        (RunKey { axes: policy(name, count), ..key(run) }, record(vec![row("ftp-1", 0, None, 1.5)], Vec::new()))
    });
    let results = Results::from_runs(Source::Simulate, runs).unwrap();
    let describe = |table: &Table| {
        let fields = table.schema.fields().iter();
        fields.map(|f| format!("{}: {}", f.name(), f.data_type())).collect::<Vec<_>>()
    };
    let text = "Dictionary(Int32, Utf8)";
    let observations = ["source", "subject", "metric", "unit"].map(|n| format!("{n}: {text}"));
    let mut expected = vec!["run: UInt32".to_owned()];
    expected.extend(observations);
    expected.extend(["t: Float64".to_owned(), "value: Float64".to_owned()]);
    assert_eq!(describe(&results.summary), expected);
    assert_eq!(describe(&results.series), expected);
    let runs =
        ["run: UInt32", "point: UInt32", "seed: UInt64", "multiplexing.channel: Utf8", "traffic.ftp.count: Float64"];
    assert_eq!(describe(&results.runs), runs);
    assert_eq!(results.run_keys().unwrap()[1], RunKey { axes: policy("per-destination", 5.0), ..key(1) });
}

/// A reader that lists the categories of a column gets that column's words and no others.
#[test]
fn each_text_column_has_its_own_dictionary() {
    let rows = vec![row("ftp-1", 0, None, 1.0), row("ftp-2", 0, None, 2.0), row("ftp-1", 2, None, 3.0)];
    let results = Results::from_runs(Source::Simulate, [(key(0), record(rows, Vec::new()))]).unwrap();
    let batch = &results.summary.batches[0];
    let words = |column: &str| {
        let column = batch.column_by_name(column).unwrap().as_dictionary::<Int32Type>();
        column.values().as_string::<i32>().iter().map(|w| w.unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (words("source"), words("subject")),
        (vec!["simulate".to_owned()], vec!["ftp-1".into(), "ftp-2".into()])
    );
    assert_eq!(
        (words("metric"), words("unit")),
        (vec!["goodput".to_owned(), "jain".into()], vec!["bit/s".into(), "1".into()])
    );
}

#[test]
fn an_axis_with_a_string_anywhere_is_text() {
    let runs = [AxisValue::Number(8.0), text("off"), AxisValue::Number(0.5)].into_iter().zip(0..);
    let runs =
        runs.map(|(value, run)| (RunKey { axes: vec![axis("window", value)], ..key(run) }, RunRecord::default()));
    let keys = Results::from_runs(Source::Simulate, runs).unwrap().run_keys().unwrap();
    let values: Vec<_> = keys.into_iter().flat_map(|k| k.axes).map(|(_, value)| value).collect();
    assert_eq!(values, [text("8"), text("off"), text("0.5")]);
}

#[test]
fn runs_out_of_order_and_bad_axes_are_refused() {
    let mut builder = ResultsBuilder::new(Source::Simulate);
    builder.push(key(4), &RunRecord::default()).unwrap();
    for run in [4, 3] {
        let refused = builder.push(key(run), &RunRecord::default());
        assert!(matches!(refused, Err(Error::RunOrder { run: r, last: 4 }) if r == run));
    }
    let taken = RunKey { axes: vec![axis("seed", AxisValue::Number(1.0))], ..key(5) };
    assert!(matches!(builder.push(taken, &RunRecord::default()), Err(Error::AxisName { .. })));
    assert_eq!(builder.finish().unwrap().runs.num_rows(), 1);
}

/// Two studies in one set of tables: runs renumbered, an axis that distinguishes them, rows unchanged.
#[test]
fn studies_are_combined() {
    let study = |value: f64| {
        let runs = (0..2).map(|run| {
            let rows = vec![row("ftp", 2, None, value + f64::from(run))];
            (key(run), record(rows, vec![row("ftp", 0, Some(1.0), value)]))
        });
        Results::from_runs(Source::Simulate, runs).unwrap()
    };
    let mut both = ResultsBuilder::new(Source::Published);
    for (name, first, value) in [("figures", 0, 10.0), ("sensitivity", 2, 20.0)] {
        let axes = vec![axis("study", text(name))];
        both.append(&study(value), |k| RunKey { run: k.run + first, axes: axes.clone(), ..k }).unwrap();
    }
    let both = both.finish().unwrap();
    let summary: Vec<_> = both.summary.observations().unwrap().map(|o| (o.run, o.source, o.value)).collect();
    let s = "simulate";
    assert_eq!(summary, [(0, s, 10.0), (1, s, 11.0), (2, s, 20.0), (3, s, 21.0)]);
    let studies: Vec<_> = both.run_keys().unwrap().into_iter().map(|k| k.axes[0].1.clone()).collect();
    assert_eq!(studies, [text("figures"), text("figures"), text("sensitivity"), text("sensitivity")]);
    assert_eq!((both.series.num_rows(), both.counts.events), (4, 40));
}

#[test]
fn another_table_or_no_table_at_all_is_refused() {
    let results = Results::from_runs(Source::Simulate, [(key(0), RunRecord::default())]).unwrap();
    assert!(matches!(results.runs.observations().map(|_| ()), Err(Error::Column { .. })));
    let whole = stored(&results.runs);
    for cut in [0, 3, 10, whole.len() / 2, whole.len() - 1] {
        let half = Table::read_parquet("runs", Bytes::copy_from_slice(&whole[..cut]));
        assert!(matches!(half, Err(Error::Parquet { .. })), "{cut} bytes of {} were read", whole.len());
    }
}
