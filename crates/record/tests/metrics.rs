//! The registry of metrics, and the tables of the reference page that are made from it.
//! `UPDATE_GOLDEN=1 cargo test -p cellway-record` writes the page anew; read the difference.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use cellway_record::metric::{self, Definition, QueueUnit, Recorded, Subject, port, slot};
use cellway_record::stats::Bounds;
use cellway_record::{Quantity, Rows, Source};

const PAGE: &str = "../../docs/reference/tables.md";

fn sources(metric: &Definition) -> String {
    metric.sources().iter().map(|source| source.word()).collect::<Vec<_>>().join(", ")
}

/// Returns the table of the metrics that one kind of subject has in the summary.
fn summary(subject: Subject) -> String {
    let mut table = "| metric | unit | from | definition |\n|---|---|---|---|\n".to_owned();
    let of_subject = |metric: &&Definition| metric.subjects().contains(&subject);
    for metric in metric::all().filter(of_subject).filter(|metric| metric.recorded().contains(&Recorded::Summary)) {
        let (name, unit, meaning) = (metric.name(), metric.unit().symbol(), metric.meaning());
        writeln!(table, "| `{name}` | {unit} | {} | {meaning} |", sources(metric)).unwrap();
    }
    table
}

/// Returns the table of the metrics of the series, of all subjects.
fn series() -> String {
    let mut table = "| subject | metric | unit | rows | from | definition |\n|---|---|---|---|---|---|\n".to_owned();
    for metric in metric::all() {
        let rows = match metric.recorded() {
            recorded if recorded.contains(&Recorded::Bins) => "bins",
            recorded if recorded.contains(&Recorded::Changes) => "changes",
            _ => continue,
        };
        let subjects = metric.subjects().iter().map(|subject| subject.word()).collect::<Vec<_>>().join(", ");
        let (name, unit, meaning) = (metric.name(), metric.unit().symbol(), metric.meaning());
        writeln!(table, "| {subjects} | `{name}` | {unit} | {rows} | {} | {meaning} |", sources(metric)).unwrap();
    }
    table
}

/// Returns the page with each table between `<!-- metrics: NAME -->` and the next empty line regenerated.
fn generated(page: &str) -> String {
    let mut tables: BTreeMap<&str, String> =
        Subject::ALL.into_iter().map(|subject| (subject.word(), summary(subject))).collect();
    tables.insert("series", series());
    let mut parts = page.split("<!-- metrics: ");
    let mut made = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n\n").expect("a marker, an empty line and a table");
        let (_, after) = rest.split_once("\n\n").unwrap_or((rest, ""));
        let table =
            tables.remove(name).unwrap_or_else(|| panic!("{name}: no kind of subject, or a second table of it"));
        write!(made, "<!-- metrics: {name} -->\n\n{table}\n{after}").unwrap();
    }
    assert!(tables.is_empty(), "tables.md has no marker for {:?}", tables.keys());
    made
}

#[test]
fn the_reference_page_has_every_metric() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let made = generated(&page);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &made).unwrap();
        return;
    }
    let differing = page.lines().zip(made.lines()).find(|(now, then)| now != then);
    assert!(
        page == made,
        "docs/reference/tables.md is not up to date (UPDATE_GOLDEN=1 writes it anew); first difference: {differing:?}"
    );
}

#[test]
fn a_name_has_one_unit_and_each_subject_has_it_once() {
    let mut units = BTreeMap::new();
    let mut known = Vec::new();
    for metric in metric::all() {
        let name = metric.name();
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{name}");
        assert!(!metric.meaning().is_empty() && !metric.meaning().contains(['|', '\n']), "{name}");
        assert!(!metric.sources().is_empty() && !metric.sources().contains(&Source::Published), "{name}");
        assert_eq!(*units.entry(name).or_insert(metric.unit()), metric.unit(), "{name} has two units");
        for subject in metric.subjects() {
            assert!(!known.contains(&(name, *subject)), "{name} of a {} is declared twice", subject.word());
            known.push((name, *subject));
        }
    }
    assert!(known.len() > 100, "{}", known.len());
}

#[test]
fn rows_leave_out_what_their_source_cannot_observe() {
    let subject: Arc<str> = "ftp-1".into();
    let seen = |source| {
        let mut rows = Rows::new(source);
        rows.put(&subject, &slot::TIMEOUTS, 3.0);
        rows.put(&subject, &slot::RETRANSMISSIONS, 4.0);
        rows.put(&subject, port::QUEUE_MEAN.counted_in(QueueUnit::Packet), 5.0);
        rows.put(&subject, Quantity::own("mean_opinion", "1"), 4.5);
        rows.put_at(&subject, &slot::GOODPUT, 1.5, 6.0);
        rows.finish().iter().map(|row| (row.metric.name(), row.metric.unit(), row.t)).collect::<Vec<_>>()
    };
    let all = [
        ("timeouts", "1", None),
        ("retransmissions", "segment", None),
        ("queue_mean", "packet", None),
        ("mean_opinion", "1", None),
        ("goodput", "bit/s", Some(1.5)),
    ];
    assert_eq!(seen(Source::Simulate), all);
    assert_eq!(seen(Source::Emulate), all[1..]);
    assert_eq!(seen(Source::Predict), all[3..4]);
}

#[test]
fn units_have_bounds_and_other_metrics_none() {
    assert_eq!(["jain", "lateness_within_1ms", "rwnd_limited"].map(Bounds::of), [Bounds::SHARE; 3]);
    let measured = ["earliness_max", "lateness_p99", "steal", "window_mean", "sent_rate"];
    assert_eq!(measured.map(Bounds::of), [Bounds::NON_NEGATIVE; 5]);
    assert_eq!(Bounds::of("temperature"), Bounds::NONE);
}

#[test]
fn labels_are_words() {
    assert_eq!([slot::GOODPUT.label(), slot::DELAY_P95.label()], ["Goodput", "Delay, 95th percentile"]);
    assert_eq!(port::DROPPED_CELLS.label(), "Dropped cells");
}
