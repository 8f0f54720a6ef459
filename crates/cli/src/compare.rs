//! `cellway compare`.

use cellway_lab::compare::{
    self, CompareOptions, Compared, ComparedPoint, ComparedRow, Emulation, Measured, Published,
};
use cellway_lab::reproduce::short;
use cellway_lab::{Error, Settings};
use serde_json::json;

use crate::args::Compare;
use crate::check::{folder_of, plan, runs};
use crate::draw::{self, NO_REPORT};
use crate::progress::Bar;
use crate::table::{LeftOut, Table};
use crate::{FAILED, Face, Failure, figures, output, store};

pub(crate) fn run(options: &Compare, face: &mut Face<'_>) -> Result<(), Failure> {
    let file = &options.scenario.file;
    let plan = plan(&options.scenario)?;
    if let Some(out) = &options.out {
        cellway_lab::check_target(out, options.force).map_err(Error::from)?;
    }
    let published = options.published.as_deref().map(Published::read).transpose()?;
    #[cfg(target_os = "linux")]
    if !options.no_emulate && compare::cannot_emulate(&plan)?.is_none() {
        // Before the simulation: the command starts again inside a user namespace.
        if let Some(code) = cellway_lab::emulate::enter()? {
            return if code == crate::DONE { Ok(()) } else { Err(Failure { message: String::new(), code }) };
        }
    }
    runs("simulates", &plan, options.seeds);
    if !options.no_emulate {
        runs("emulates", &plan, Some(options.repeat));
    }
    let store = store::open(options.cache.as_deref())?;
    let bar = Bar::new();
    let mut settings = Settings {
        threads: options.threads.map(usize::from),
        progress: &mut |progress| bar.show(progress),
        stop: &mut face.interrupted,
        store: store.as_ref(),
    };
    let asked = CompareOptions {
        seeds: options.seeds,
        repeats: Some(options.repeat),
        no_emulation: options.no_emulate,
        published: published.as_ref(),
    };
    let compared = compare::compare(&plan, folder_of(file), &asked, &mut settings)?;
    drop(bar);
    let simulated = plan.point_count() as u64 * options.seeds.unwrap_or(plan.base().run.seeds);
    store::report(store.as_ref(), simulated);
    let mut folder = None;
    let drawn = options.out.as_deref().map_or(Ok(None), |out| {
        output::written_files(out, &compared.write(out, options.force)?);
        folder = Some(out);
        draw::draw_if_possible(out, face)
    });
    let report = drawn.as_ref().ok().and_then(Option::as_ref);
    if options.scenario.json {
        let mut document = compared.to_json();
        document["folder"] = json!(folder);
        document["report"] = json!(report);
        document["wall_seconds"] = json!(compared.tables.about.wall_seconds);
        output::json(&document);
    } else {
        show(&compared, options.wide);
        if let Some(out) = &options.out {
            match &drawn {
                Ok(Some(report)) => {
                    output::say(&format!("tables in {}\nfigure in {}", out.display(), report.display()));
                }
                Ok(None) => output::say(&format!("tables in {}\n{NO_REPORT}", out.display())),
                Err(_) => {}
            }
        }
    }
    output::warn(&compared.tables.warnings);
    let run = match compared.emulation {
        Emulation::Invalid => {
            let message = "the emulation was too late: its numbers are not those of the network".to_owned();
            Err(Failure { message, code: FAILED })
        }
        _ => Ok(()),
    };
    Failure::of_both(drawn.map(drop), run)
}

/// The columns behind those of the axes; those from the third on are numbers.
const COLUMNS: [&str; 7] =
    ["subject", "metric", "predicted", "simulated", "emulated", "published", "emulated -\nsimulated"];

/// Prints one row for each point, subject and metric; an empty column is left out.
fn show(compared: &Compared, wide: bool) {
    let axes = compared.points.first().map(|point| &point.axes[..]).unwrap_or_default();
    let fixed = axes.len() + 2;
    let mut header: Vec<String> = axes.iter().map(|(name, _)| figures::axis_name(name)).collect();
    header.extend(COLUMNS.map(str::to_owned));
    let rows: Vec<Vec<String>> = compared.points.iter().flat_map(|point| rows(point, wide)).collect();
    if rows.is_empty() {
        return output::say("nothing to compare: no figure has two sources; see --json and the tables");
    }
    let filled = |column: &usize| *column < fixed || rows.iter().any(|row| !row[*column].is_empty());
    let shown: Vec<usize> = (0..header.len()).filter(filled).collect();
    let header: Vec<String> = shown.iter().map(|column| header[*column].clone()).collect();
    let mut table = Table::with_numbers(&header, |column| shown[column] >= fixed);
    for row in &rows {
        table.add_row(shown.iter().map(|column| row[*column].clone()));
    }
    // The difference follows from the others.
    let difference = header.iter().position(|name| name == COLUMNS[6]);
    table.may_leave_out(LeftOut::Last, difference.into_iter().collect());
    table.print();
    let all: usize = compared.points.iter().map(|point| point.rows.len()).sum();
    if rows.len() < all {
        output::say(&format!("not shown: {} rows; --wide shows them", all - rows.len()));
    }
    if compared.points.iter().flat_map(|point| &point.rows).any(|row| row.predicted.is_some_and(|p| p.bound)) {
        output::say("<= an upper bound: the application does not always have data to send");
    }
    compared
        .caveats
        .iter()
        .filter(|c| !c.ends_with("an upper bound"))
        .for_each(|c| output::say(&format!("caveat: {c}")));
}

fn rows(point: &ComparedPoint, wide: bool) -> Vec<Vec<String>> {
    let axes = || point.axes.iter().map(|(_, value)| figures::axis_text(value));
    let shown = point.rows.iter().filter(|row| wide || row.main);
    shown.map(|row| axes().chain(cells(row)).collect()).collect()
}

/// Returns the cells of a row, all numbers in the same unit.
fn cells(row: &ComparedRow) -> [String; 7] {
    let (scale, unit) = scaled(row);
    let measured = |value: Option<Measured>| {
        value.map_or_else(String::new, |m| {
            output::with_interval(m.mean / scale, m.interval.map(|ends| ends.map(|end| end / scale)))
        })
    };
    let predicted = row
        .predicted
        .map_or_else(String::new, |p| format!("{}{}", if p.bound { "<= " } else { "" }, short(p.value / scale)));
    [
        row.subject.clone(),
        if unit.is_empty() { row.metric.clone() } else { format!("{} [{unit}]", row.metric) },
        predicted,
        measured(row.simulated),
        measured(row.emulated),
        row.published.map_or_else(String::new, |value| short(value / scale)),
        row.difference.map_or_else(String::new, share),
    ]
}

/// Formats a difference in per cent; as a factor if it is large.
fn share(difference: f64) -> String {
    if difference >= 10.0 { format!("x {:.0}", 1.0 + difference) } else { format!("{:+.1} %", 100.0 * difference) }
}

/// Returns the factor and prefix that make the measured values short, with the unit.
fn scaled(row: &ComparedRow) -> (f64, String) {
    let measured = row.simulated.or(row.emulated).map(|m| m.mean);
    let value = measured.or(row.published).or(row.predicted.map(|p| p.value)).unwrap_or_default().abs();
    let (scale, prefix) = match (&row.unit[..], value) {
        ("bit/s", v) if v >= 1e9 => (1e9, "G"),
        ("bit/s", v) if v >= 1e6 => (1e6, "M"),
        ("bit/s", v) if v >= 1e3 => (1e3, "k"),
        ("s", v) if v < 1.0 && v > 0.0 => (1e-3, "m"),
        _ => (1.0, ""),
    };
    let unit = if row.unit == "1" { String::new() } else { format!("{prefix}{}", row.unit) };
    (scale, unit)
}
