//! The state of a sweep in words and as JSON: points, failures by their message, damage.

use std::path::Path;

use cellway_lab::sweep::{FailureKind, PointStatus, Sweep};
use cellway_lab::{Error, Store};
use serde_json::json;

use super::{page, reason, unfinished};
use crate::table::Table;
use crate::{FAILED, Failure, output, store};

/// Messages of failed runs that are listed.
const MOST_KINDS: usize = 20;

pub(super) fn status(folder: &Path, html: Option<&Path>, as_json: bool) -> Result<(), Failure> {
    let (sweep, opened) = (Sweep::open(folder)?, Store::read(folder).map_err(Error::from)?);
    sweep.check(&opened, None)?;
    let rows = sweep.status(&opened);
    show_status(&sweep, &opened, &rows, as_json)?;
    store::warn(&opened);
    if let Some(path) = html {
        let kinds = FailureKind::of(&sweep.failures(&opened)?);
        let text = page::of(
            &sweep.plan().base().name,
            &rows,
            &kinds,
            opened.damage().len() as u64,
            unfinished(&sweep, &opened)?,
        );
        let failed = |e| Failure { message: format!("cannot write {}: {e}", path.display()), code: FAILED };
        std::fs::write(path, text).map_err(failed)?;
        output::say(&format!("the page is {}", path.display()));
    }
    Ok(())
}

pub(super) fn show_status(sweep: &Sweep, opened: &Store, rows: &[PointStatus], as_json: bool) -> Result<(), Failure> {
    let sum = |of: fn(&PointStatus) -> u64| rows.iter().map(of).sum::<u64>();
    let (planned, finished, failed) = (sweep.runs(), sum(|row| row.finished), sum(|row| row.failed));
    let totals = opened.totals().map_err(Error::from)?;
    let (kinds, damage) = (FailureKind::of(&sweep.failures(opened)?), opened.damage().len() as u64);
    if as_json {
        let points: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({ "axes": row.axes, "planned": row.planned, "finished": row.finished, "failed": row.failed,
                        "reason": row.reason.map(reason) })
            })
            .collect();
        let failures: Vec<_> = kinds
            .iter()
            .map(|kind| json!({ "message": kind.message, "runs": kind.runs, "run": kind.run, "seed": kind.seed }))
            .collect();
        output::json(&json!({ "name": sweep.plan().base().name, "runs": planned, "finished": finished,
            "failed": failed, "missing": planned - finished - failed, "damaged": damage, "octets": totals.octets,
            "until": sweep.search(), "points": points, "failures": failures }));
        return Ok(());
    }
    const MOST: usize = 40;
    let titles = ["point", "planned", "finished", "failed", "missing"].map(str::to_owned);
    let mut table = Table::with_numbers(&titles, |column| column > 0);
    // Points with work left come first, if there are too many to show.
    let mut shown: Vec<&PointStatus> = rows.iter().collect();
    if shown.len() > MOST {
        shown.sort_by_key(|row| row.finished == row.planned);
        shown.truncate(MOST);
    }
    for row in shown {
        let missing = row.planned - row.finished - row.failed;
        let axes = if row.axes.is_empty() { "all".to_owned() } else { row.axes.join(", ") };
        let numbers = [row.planned, row.finished, row.failed, missing].map(|number| number.to_string());
        table.add_row([axes].into_iter().chain(numbers));
    }
    table.lines(output::width().unwrap_or(usize::MAX)).iter().for_each(|line| output::line(line));
    if rows.len() > MOST {
        output::line(&format!("and {} more points; --json has all", rows.len() - MOST));
    }
    let (count, missing) = (output::count(planned, "run"), planned - finished - failed);
    output::line(&format!("{count}: {finished} finished, {failed} failed, {missing} missing"));
    lines(&kinds).iter().for_each(|text| output::line(text));
    unfinished(sweep, opened)?.iter().for_each(|text| output::line(text));
    if damage > 0 {
        let places = output::count(damage, "place");
        output::line(&format!("{places} of the store do not read back; the runs there count as missing"));
    }
    Ok(())
}

/// Returns a line for each message of failed runs.
pub(super) fn lines(kinds: &[FailureKind]) -> Vec<String> {
    let line = |kind: &FailureKind| {
        let FailureKind { message, runs, run, seed } = kind;
        match runs {
            1 => format!("run {run}, seed {seed} failed: {message}"),
            _ => format!("{runs} runs failed, the first is run {run}, seed {seed}: {message}"),
        }
    };
    let mut lines: Vec<String> = kinds.iter().take(MOST_KINDS).map(line).collect();
    if kinds.len() > MOST_KINDS {
        lines.push(format!("and {} more messages of failed runs", kinds.len() - MOST_KINDS));
    }
    lines
}
