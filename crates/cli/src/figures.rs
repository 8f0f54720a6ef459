//! The tables that `cellway simulate` prints: lines, and the traffic over them.

use std::collections::{HashMap, HashSet};

use cellway_lab::{AxisValueRecord, Cell, Counts, Overview, PointFigures};

use crate::output;
use crate::table::{LeftOut, Table};

/// The columns of a table: the figures that are printed if a study has them, the main ones first. The others are in the
/// tables on disk.
struct Columns {
    figures: &'static [&'static str],
    /// Those of `figures` that subjects of other tables have too. A subject that has no others has no row.
    shared: &'static [&'static str],
}

/// The tables of links, of traffic, of datagrams, and of sets of flows. Groups of datagrams are in two of them, and so are
/// sets, whose goodput and fairness are with those of groups.
const SHOWN: [Columns; 4] = [
    Columns {
        figures: &[
            "utilisation",
            "queue_mean",
            "dropped_packets",
            "loss_ratio",
            "dropped_frames",
            "lost_frames",
            "queue_max",
            "sojourn_p99",
            "dropped_cells",
            "marked",
            "early_drops",
        ],
        shared: &["loss_ratio"],
    },
    Columns {
        figures: &[
            "goodput_total",
            // Before the share of the line, which is of no interest for short answers.
            "response_time_p50",
            "response_time_p99",
            "page_time_p50",
            "page_time_p95",
            "fct_p50",
            "fct_p99",
            "throughput_mean",
            "jain",
            "item_rate_mean",
            "item_time_mean",
            "delay_mean_rtt",
            "delay_sd_rtt",
            "collapses_mean",
            "timeouts_mean",
        ],
        shared: &[],
    },
    Columns {
        figures: &[
            "packets_sent",
            "packets_lost",
            "delay_max",
            "jitter_mean",
            "jitter_max",
            "loss_ratio",
            "delay_mean",
            "delay_p50",
            "delay_p95",
            "delay_p99",
        ],
        shared: &["loss_ratio", "delay_mean", "delay_p50", "delay_p95", "delay_p99"],
    },
    Columns {
        figures: &[
            "loss_ratio",
            "rtt_p50",
            "rtt_p95",
            "rtt_p99",
            "one_way_delay_p50",
            "one_way_delay_p95",
            "one_way_delay_p99",
        ],
        shared: &["loss_ratio"],
    },
];

/// The same of measurements.
#[cfg(target_os = "linux")]
const MEASURED: [Columns; 1] = [Columns {
    figures: &[
        "goodput",
        "sent_rate",
        "retransmissions",
        "rtt_mean",
        "rtt_min",
        "cwnd_max",
        "rwnd_limited",
        "delivery_rate",
    ],
    shared: &[],
}];

/// Prints one row for each point and subject, one column for each main figure. Where there is a width to fit, and unless
/// the table may be `wide`, columns that do not fit are left out, the last first, and so are idle lines; a note below has
/// their names.
pub(crate) fn show(overview: &Overview, wide: bool) {
    show_sets(overview, wide, &SHOWN);
}

/// Prints the same for a measurement.
#[cfg(target_os = "linux")]
pub(crate) fn show_measured(overview: &Overview, wide: bool) {
    show_sets(overview, wide, &MEASURED);
}

fn show_sets(overview: &Overview, wide: bool, sets: &[Columns]) {
    let width = output::width().filter(|_| !wide);
    let idle = if width.is_some() { overview.idle_lines() } else { Vec::new() };
    let mut left_out = Vec::new();
    let mut first = true;
    for shown in sets {
        let (header, rows) = rows(overview, shown);
        if rows.is_empty() {
            continue;
        }
        if !std::mem::take(&mut first) {
            output::line("");
        }
        let fixed = axes(overview) + 1;
        let mut table = Table::with_numbers(&header, |column| column >= fixed);
        rows.into_iter().filter(|row| !idle.contains(&&*row[fixed - 1])).for_each(|row| table.add_row(row));
        // One figure is always printed.
        table.may_leave_out(LeftOut::First, (fixed + 1..header.len()).collect());
        table.hide_empty_rows(fixed);
        left_out.extend(table.print_within(width));
    }
    if !left_out.is_empty() {
        output::say(&format!("not shown: {}; --wide shows them, --json everything", left_out.join(", ")));
    }
    if !idle.is_empty() {
        output::say(&format!("idle lines left out (busy for less than 5 %): {}; --wide shows them", some(&idle)));
    }
}

/// Lists at most three names, and the number of the others.
fn some(names: &[&str]) -> String {
    let more = names.len().saturating_sub(3);
    let shown = names[..names.len() - more].join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn axes(overview: &Overview) -> usize {
    overview.points.first().map_or(0, |(axes, _)| axes.len())
}

/// Returns header and rows of a table.
fn rows<'a>(overview: &'a Overview, shown: &Columns) -> (Vec<String>, Vec<Vec<String>>) {
    let in_table = |(_, cells): &'a PointFigures| {
        let subjects: HashSet<&str> = subjects(cells, shown).into_iter().collect();
        cells.iter().filter(move |cell| subjects.contains(cell.subject.as_str()))
    };
    let cells: Vec<&Cell> = overview.points.iter().flat_map(in_table).collect();
    let is_given = |metric: &&str| cells.iter().any(|cell| cell.metric == *metric);
    let metrics: Vec<&str> = shown.figures.iter().copied().filter(is_given).collect();
    // A queue counts cells at some lines and packets at others.
    let heading = |metric: &&str| {
        let mut units: Vec<&str> = Vec::new();
        for cell in cells.iter().filter(|c| c.metric == **metric && c.unit != "1") {
            if !units.contains(&cell.unit.as_str()) {
                units.push(&cell.unit);
            }
        }
        if units.is_empty() { (*metric).to_owned() } else { format!("{metric}\n[{}]", units.join(", ")) }
    };
    let names = overview.points.first().map(|(axes, _)| axes.iter().map(|(name, _)| axis_name(name)));
    let mut header: Vec<String> = names.into_iter().flatten().collect();
    header.push("subject".to_owned());
    header.extend(metrics.iter().map(heading));
    (header, overview.points.iter().flat_map(|point| rows_of(point, shown, &metrics)).collect())
}

/// Returns the subjects that have a figure of this table alone, in the order of their figures.
fn subjects<'a>(cells: &'a [Cell], shown: &Columns) -> Vec<&'a str> {
    let mut known: HashSet<&str> = HashSet::new();
    let own = |metric: &str| shown.figures.contains(&metric) && !shown.shared.contains(&metric);
    let all = cells.iter().filter(|cell| own(&cell.metric)).map(|cell| cell.subject.as_str());
    all.filter(|subject| known.insert(subject)).collect()
}

fn rows_of((axes, cells): &PointFigures, shown: &Columns, metrics: &[&str]) -> Vec<Vec<String>> {
    let figures: HashMap<(&str, &str), &Cell> =
        cells.iter().map(|c| ((c.subject.as_str(), c.metric.as_str()), c)).collect();
    let row = |subject: &str| {
        let figure = |metric: &&str| {
            figures.get(&(subject, metric)).map(|c| output::with_interval(c.mean, c.interval)).unwrap_or_default()
        };
        let axes = axes.iter().map(|(_, value)| axis_text(value));
        axes.chain([subject.to_owned()]).chain(metrics.iter().map(figure)).collect()
    };
    subjects(cells, shown).into_iter().map(row).collect()
}

/// Formats the cell-hops and packet-hops per second, each if there were any: "12.3 million cell-hops/s".
pub(crate) fn speed(counts: Counts, seconds: f64) -> String {
    let rate = |(hops, unit): (u64, &str)| {
        let rate = hops as f64 / seconds.max(1e-9);
        let number = if rate < 1e5 { format!("{rate:.0}") } else { format!("{:.1} million", rate / 1e6) };
        format!("{number} {unit}-hops/s")
    };
    let known = [(counts.cell_hops, "cell"), (counts.packet_hops, "packet")];
    let rates: Vec<String> = known.into_iter().filter(|&(hops, _)| hops > 0).map(rate).collect();
    if rates.is_empty() { "nothing was sent".to_owned() } else { rates.join(", ") }
}

/// Returns the last two parts of the path of an axis, which distinguish axes, each on its own line.
pub(crate) fn axis_name(path: &str) -> String {
    let parts: Vec<&str> = path.rsplit('.').take(2).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join(".\n")
}

pub(crate) fn axis_text(value: &AxisValueRecord) -> String {
    match value {
        AxisValueRecord::Text(text) => text.clone(),
        AxisValueRecord::Number(number) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shown_metric_is_one_of_the_tables() {
        for name in SHOWN.iter().flat_map(|columns| columns.figures.iter().chain(columns.shared)) {
            assert!(cellway_lab::metrics::metrics(Some(name)).is_ok(), "{name}");
        }
        #[cfg(target_os = "linux")]
        for name in MEASURED.iter().flat_map(|columns| columns.figures) {
            assert!(cellway_lab::metrics::metrics(Some(name)).is_ok(), "{name}");
        }
    }

    /// A port, a group of datagrams, one of TELNET, and a set.
    #[test]
    fn subjects_are_in_the_table_of_their_own_figures() {
        let cell = |(subject, metric): (&str, &str)| Cell {
            subject: subject.to_owned(),
            metric: metric.to_owned(),
            unit: "1".to_owned(),
            mean: 1.0,
            interval: None,
            runs: 1,
        };
        let cells = [
            ("port/a>b", "utilisation"),
            ("port/a>b", "marked"),
            ("group/voice", "packets_sent"),
            ("group/voice", "loss_ratio"),
            ("group/voice", "delay_mean"),
            ("group/telnet", "delay_mean"),
            ("group/telnet", "delay_mean_rtt"),
            ("set/both", "loss_ratio"),
            ("set/both", "rtt_p50"),
        ];
        let overview = Overview { points: vec![(Vec::new(), cells.into_iter().map(cell).collect())] };
        let tables = SHOWN.iter().map(|columns| rows(&overview, columns));
        let told: Vec<(String, Vec<String>)> =
            tables.map(|(header, rows)| (header.join(" "), rows.iter().map(|row| row[0].clone()).collect())).collect();
        let expected = [
            ("subject utilisation marked", "port/a>b"),
            ("subject delay_mean_rtt", "group/telnet"),
            ("subject packets_sent loss_ratio delay_mean", "group/voice"),
            ("subject loss_ratio rtt_p50", "set/both"),
        ];
        assert_eq!(told, expected.map(|(header, row)| (header.to_owned(), vec![row.to_owned()])));
    }
}
