//! `cellway reproduce`.

use std::path::Path;

#[cfg(target_os = "linux")]
use cellway_lab::reproduce::needs_namespaces;
use cellway_lab::reproduce::{
    ClaimRow, Live, Paper, ReproduceOptions, Reproduced, Source, markdown, reproduce, short, tally_text,
};
use cellway_lab::{Settings, check_free};
use serde_json::json;

use crate::args::Reproduce;
use crate::draw::NO_REPORT;
use crate::progress::Bar;
use crate::{DONE, FAILED, Face, Failure, figures, output};

/// The largest width of a table, in characters, if the columns allow it.
const WIDTH: usize = 120;

/// The least that is left of the name of a claim: enough to find it with --only.
const LEAST_ID: usize = 10;

/// The most of a place and of a published number as it is printed; both are whole in --json.
const LONGEST: [usize; 2] = [15, 16];

/// A unit that is longer is left to --json.
const LONGEST_UNIT: usize = 8;

pub(crate) fn run(options: &Reproduce, face: &mut Face<'_>) -> Result<(), Failure> {
    let papers = Paper::find_all(&options.papers)?;
    if let Some(page) = &options.markdown {
        check_free(page, options.force)?;
    }
    let only: Vec<String> = options.only.iter().flat_map(|ids| ids.split(',')).map(|id| id.trim().to_owned()).collect();
    let live = match (options.emulate, options.no_emulate) {
        (_, true) => Live::Never,
        (true, false) => Live::Always,
        (false, false) => Live::Unless,
    };
    let (quick, out, force) = (options.quick, options.out.as_deref(), options.force);
    let wanted = ReproduceOptions { only: &only, quick, live, out, force };
    #[cfg(target_os = "linux")]
    if needs_namespaces(&papers, &wanted)?
        && let Some(code) = cellway_lab::emulate::enter()?
    {
        return if code == DONE { Ok(()) } else { Err(Failure { message: String::new(), code }) };
    }
    let bar = Bar::new();
    let mut settings = Settings {
        threads: options.threads.map(usize::from),
        progress: &mut |progress| bar.show(progress),
        stop: &mut face.interrupted,
    };
    let done = reproduce(&papers, &wanted, &mut settings)?;
    drop(bar);
    let drawn = match (&options.out, &mut face.report) {
        (Some(out), Some(draw)) => Some(draw(out, None).map_err(|message| Failure { message, code: FAILED })?),
        _ => None,
    };
    if let Some(page) = &options.markdown {
        let failed = |e| Failure { message: format!("cannot write {}: {e}", page.display()), code: FAILED };
        std::fs::write(page, markdown(&done)).map_err(failed)?;
    }
    if options.json {
        output::json(&json!(done.claims().collect::<Vec<_>>()));
    } else {
        show(&done);
    }
    for warning in done.warnings() {
        output::say(&format!("warning: {warning}"));
    }
    summarise(&done, options, drawn.as_deref());
    Ok(())
}

/// Returns the cells of a row; the name of the claim, at [`ID`], is cut to the remaining width. `sources` is true if
/// rows have a column for their source.
fn cells(row: &ClaimRow, sources: bool) -> [String; 9] {
    let value = |value: Option<f64>| value.map_or_else(String::new, short);
    let measured = match (row.measured, row.ci_low.zip(row.ci_high)) {
        (Some(value), Some((low, high))) if low < high => format!("{} [{}, {}]", short(value), short(low), short(high)),
        (Some(value), _) => short(value),
        // "not measured", or a crossing that was never reached.
        (None, _) => row.measured_text.split(" [").next().unwrap_or_default().to_owned(),
    };
    let published = match row.published {
        Some(_) => row.published_text.clone(),
        None => {
            let words = row.expected.trim_start_matches("change of the ").trim_start_matches("difference ");
            words.trim_start_matches("ratio ").replace("at least ", ">= ").replace("at most ", "<= ")
        }
    };
    let long_unit = row.unit.chars().count() > LONGEST_UNIT;
    let published = if long_unit { published.trim_end_matches(&row.unit).trim_end().to_owned() } else { published };
    [
        row.paper.clone(),
        output::cut(&row.place.replace("Figure", "Fig.").replace("Equation", "Eq."), LONGEST[0]),
        row.id.clone(),
        output::cut(&published, LONGEST[1]),
        value(row.predicted),
        measured,
        if sources { row.source.word().to_owned() } else { String::new() },
        row.deviation.map_or_else(String::new, |d| format!("{:+.1} %", 100.0 * d)),
        row.verdict.words().to_owned(),
    ]
}

/// Place of the name of the claim among the cells.
const ID: usize = 2;

/// The cells that are aligned to the right: numbers.
const RIGHT: [usize; 3] = [4, 5, 7];

fn show(done: &Reproduced) {
    // If nothing is emulated or measured that column is the simulation's.
    let sources = done.claims().any(|row| matches!(row.source, Source::Emulate | Source::Measure));
    let measured = if sources { "measured [95 % CI]" } else { "simulated [95 % CI]" };
    let header = ["paper", "place", "claim", "published", "predicted", measured, "source", "deviation", "verdict"];
    let mut rows: Vec<[String; 9]> = done.claims().map(|row| cells(row, sources)).collect();
    // An empty column wastes space.
    let shown: Vec<usize> = (0..header.len()).filter(|&c| rows.iter().any(|row| !row[c].is_empty())).collect();
    let wide = |column: &usize| {
        let widths = rows.iter().map(|row| row[*column].chars().count());
        widths.chain([header[*column].chars().count()]).max().unwrap_or_default()
    };
    let others: usize = shown.iter().filter(|&&c| c != ID).map(wide).sum();
    let left = WIDTH.saturating_sub(others + output::GAP * shown.len().saturating_sub(1)).max(LEAST_ID);
    for row in &mut rows {
        row[ID] = output::cut(&row[ID], left);
    }
    let names: Vec<String> = shown.iter().map(|&c| header[c].to_owned()).collect();
    let mut table = output::table(&names, |column| RIGHT.contains(&shown[column]));
    for row in rows {
        table.add_row(shown.iter().map(|&c| row[c].clone()));
    }
    output::print(&table);
}

fn summarise(done: &Reproduced, options: &Reproduce, report: Option<&Path>) {
    let count = |n: usize| output::count(n as u64, "claim");
    output::say(&format!("\n{}: {}", count(done.claims().count()), tally_text(&done.tally())));
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for row in done.claims().filter(|row| !row.not_run.is_empty()) {
        match reasons.iter_mut().find(|(reason, _)| *reason == row.not_run) {
            Some((_, times)) => *times += 1,
            None => reasons.push((&row.not_run, 1)),
        }
    }
    for (reason, times) in reasons {
        output::say(&format!("{} not run: {reason}", count(times)));
    }
    if done.papers.len() > 1 {
        for paper in &done.papers {
            let tally = cellway_lab::reproduce::tally(&paper.claims);
            output::say(&format!("  {}: {}", paper.paper, tally_text(&tally)));
        }
    }
    output::say(&format!(
        "{} in {:.1} s, {}{}",
        output::count(done.runs, "run"),
        done.wall_seconds,
        figures::speed(done.counts, done.wall_seconds),
        if options.quick { " (quick: few seeds, wide intervals)" } else { "" },
    ));
    if let Some(page) = &options.markdown {
        output::say(&format!("page in {}", page.display()));
    }
    let Some(out) = &options.out else {
        let nothing = if options.markdown.is_none() { "nothing was written; " } else { "" };
        return output::say(&format!("{nothing}--out DIR keeps tables and report"));
    };
    let one = out.join("study.json").is_file();
    let tables = if one { out.join("tables") } else { out.join("PAPER").join("tables") };
    output::say(&format!("tables in {}", tables.display()));
    match report {
        Some(report) => output::say(&format!("report in {}", report.display())),
        None => output::say(NO_REPORT),
    }
}
