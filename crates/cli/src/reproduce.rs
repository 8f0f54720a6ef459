//! `cellway reproduce`.

use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use cellway_lab::reproduce::needs_namespaces;
use cellway_lab::reproduce::{
    ClaimRow, Live, Paper, ReproduceOptions, Reproduced, Source, markdown, reproduce, short, tally_text,
};
use cellway_lab::{Settings, check_free};
use serde_json::json;

use crate::args::Reproduce;
use crate::draw::{self, NO_REPORT};
use crate::progress::Bar;
use crate::table::{Kind, LeftOut, Table};
use crate::{DONE, FAILED, Face, Failure, figures, output, store};

/// The least that is left of the name of a claim: enough to find it with --only.
const LEAST_ID: usize = 10;

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
    for paper in &papers {
        output::detail(&format!("runs the studies of {}: {}", paper.name, paper.description()));
    }
    let store = store::open(options.cache.as_deref())?;
    let bar = Bar::new();
    let mut settings = Settings {
        threads: options.threads.map(usize::from),
        progress: &mut |progress| bar.show(progress),
        stop: &mut face.interrupted,
        store: store.as_ref(),
    };
    let done = reproduce(&papers, &wanted, &mut settings)?;
    drop(bar);
    store::report(store.as_ref(), done.runs);
    let drawn = options.out.as_deref().map_or(Ok(None), |out| draw::draw_if_possible(out, face));
    let page = options.markdown.as_deref().map(|page| {
        let failed = |e| Failure { message: format!("cannot write {}: {e}", page.display()), code: FAILED };
        std::fs::write(page, markdown(&done)).map_err(failed).map(|()| page)
    });
    let page = page.transpose();
    if options.json {
        output::json(&json!(done.claims().collect::<Vec<_>>()));
    } else {
        show(&done);
    }
    output::warn(&done.warnings());
    summarise(&done, options, &drawn, page.as_ref().ok().copied().flatten());
    Failure::of_both(drawn.map(drop), page.map(drop))
}

/// Returns the cells of a row. `sources` is true if rows have a column for their source.
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
        row.place.replace("Figure", "Fig.").replace("Equation", "Eq."),
        row.id.clone(),
        published,
        value(row.predicted),
        measured,
        if sources { row.source.word().to_owned() } else { String::new() },
        row.deviation.map_or_else(String::new, |d| format!("{:+.1} %", 100.0 * d)),
        row.verdict.words().to_owned(),
    ]
}

/// The columns of the table, with their content.
const COLUMNS: [(&str, Kind); 9] = [
    ("paper", Kind::Text),
    ("place", Kind::Text),
    ("claim", Kind::Name(LEAST_ID)),
    ("published", Kind::Text),
    ("predicted", Kind::Number),
    ("simulated [95 % CI]", Kind::Number),
    ("source", Kind::Text),
    ("deviation", Kind::Number),
    ("verdict", Kind::Text),
];

/// The place of the measured value among the columns.
const MEASURED: usize = 5;

/// The columns that a narrow table leaves out, the last first; they follow from others or are in --json.
const SPARE: [usize; 3] = [4, 7, 1];

fn show(done: &Reproduced) {
    // If nothing is emulated or measured that column is the simulation's.
    let sources = done.claims().any(|row| matches!(row.source, Source::Emulate | Source::Measure));
    let rows: Vec<[String; 9]> = done.claims().map(|row| cells(row, sources)).collect();
    // An empty column wastes space.
    let shown: Vec<usize> = (0..COLUMNS.len()).filter(|&c| rows.iter().any(|row| !row[c].is_empty())).collect();
    let title = |c: usize| if c == MEASURED && sources { "measured [95 % CI]" } else { COLUMNS[c].0 };
    let titles: Vec<String> = shown.iter().map(|&c| title(c).to_owned()).collect();
    let mut table = Table::new(&titles, |column| COLUMNS[shown[column]].1);
    let spare = SPARE.iter().filter_map(|spare| shown.iter().position(|c| c == spare));
    table.may_leave_out(LeftOut::Last, spare.collect());
    for row in rows {
        table.add_row(shown.iter().map(|&c| row[c].clone()));
    }
    table.print();
}

fn summarise(done: &Reproduced, options: &Reproduce, report: &Result<Option<PathBuf>, Failure>, page: Option<&Path>) {
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
    let speed =
        if done.reuses_runs { String::new() } else { format!(", {}", figures::speed(done.counts, done.wall_seconds)) };
    output::say(&format!(
        "{} in {:.1} s{speed}{}",
        output::count(done.runs, "run"),
        done.wall_seconds,
        if options.quick { " (quick: few seeds, wide intervals)" } else { "" },
    ));
    if let Some(page) = page {
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
        Ok(Some(report)) => output::say(&format!("report in {}", report.display())),
        Ok(None) => output::say(NO_REPORT),
        Err(_) => {}
    }
}
