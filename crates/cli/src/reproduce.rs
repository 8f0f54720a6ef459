//! `cellway reproduce` and `cellway report`.

use std::path::Path;

use cellway_lab::Settings;
use cellway_lab::reproduce::{Paper, ReproduceOptions, Reproduced, Verdict, reproduce};
use serde_json::json;

use crate::args::Reproduce;
use crate::progress::Bar;
use crate::{FAILED, Face, Failure, WRONG_INPUT, output};

/// What to do about a report outside the Python package.
const NO_REPORT: &str = "reports are drawn by the Python package: pip install cellway (or `make run` in the source tree), then cellway report";

pub(crate) fn run(options: &Reproduce, face: &mut Face<'_>) -> Result<(), Failure> {
    let paper = Paper::find(&options.paper)?;
    let bar = Bar::new();
    let mut settings = Settings {
        threads: options.threads.map(usize::from),
        progress: &mut |progress| bar.show(progress),
        stop: &mut face.interrupted,
    };
    let wanted = ReproduceOptions { quick: options.quick, out: options.out.as_deref(), force: options.force };
    let done = reproduce(paper, &wanted, &mut settings)?;
    drop(bar);
    let drawn = match (&options.out, &mut face.report) {
        (Some(out), Some(draw)) => Some(draw(out).map_err(|message| Failure { message, code: FAILED })?),
        _ => None,
    };
    if options.json {
        output::json(&json!(done.claims));
    } else {
        show(&done);
    }
    for warning in &done.warnings {
        output::say(&format!("warning: {warning}"));
    }
    tell(&done, options, drawn.as_deref());
    Ok(())
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Shape => "shape",
        Verdict::Undecided => "undecided",
        Verdict::NotReproduced => "NOT REPRODUCED",
        Verdict::NotMeasured => "not measured",
    }
}

fn show(done: &Reproduced) {
    let header = ["section", "claim", "expected", "measured [95 % interval]", "verdict"].map(str::to_owned);
    let mut table = output::table(&header, |_| false);
    for row in &done.claims {
        let place =
            if row.figure.is_empty() { row.section.clone() } else { format!("{}, {}", row.section, row.figure) };
        table.add_row([&place, &row.id, &row.expected, &row.measured_text, verdict(row.verdict)]);
    }
    output::print(&table);
}

fn tell(done: &Reproduced, options: &Reproduce, report: Option<&Path>) {
    let [reproduced, shape, undecided, not, absent] = done.tally();
    output::say(&format!(
        "\n{} claims: {reproduced} reproduced, {shape} shape, {undecided} undecided, {not} not reproduced{}",
        done.claims.len(),
        if absent == 0 { String::new() } else { format!(", {absent} not measured") },
    ));
    output::say(&format!(
        "{} runs in {:.1} s, {:.1} million cell-hops/s{}",
        done.runs,
        done.wall_seconds,
        done.counts.cell_hops as f64 / done.wall_seconds.max(1e-9) / 1e6,
        if options.quick { " (quick: few seeds, wide intervals)" } else { "" },
    ));
    match (&options.out, report) {
        (Some(out), Some(report)) => {
            output::say(&format!("tables in {}", out.join("tables").display()));
            output::say(&format!("report in {}", report.display()));
        }
        (Some(out), None) => {
            output::say(&format!("tables in {}", out.join("tables").display()));
            output::say(NO_REPORT);
        }
        (None, _) => output::say("nothing was written; --out DIR keeps tables and report"),
    }
}

pub(crate) fn report(folder: &Path, face: &mut Face<'_>) -> Result<(), Failure> {
    let Some(draw) = &mut face.report else {
        return Err(Failure { message: NO_REPORT.to_owned(), code: FAILED });
    };
    // Nothing is drawn from a folder that is not whole.
    cellway_lab::Manifest::read(folder).map_err(cellway_lab::Error::from)?;
    if !folder.join("study.json").is_file() {
        let message = format!("{} was not written by `cellway reproduce`: it has no study.json", folder.display());
        return Err(Failure { message, code: WRONG_INPUT });
    }
    let path = draw(folder).map_err(|message| Failure { message, code: FAILED })?;
    output::line(&path.display().to_string());
    Ok(())
}
