//! `cellway report` and `cellway plot`, and the pages that other commands open.

use std::path::{Path, PathBuf};

use crate::args::{Plot, Report};
use crate::table::Table;
use crate::{FAILED, Face, Failure, Figure, WRONG_INPUT, output};

/// The advice about a report outside the Python package.
pub(crate) const NO_REPORT: &str = "reports are drawn by the Python package: pip install cellway (or `make run` in the source tree), then cellway report";

pub(crate) fn report(options: &Report, face: &mut Face<'_>) -> Result<(), Failure> {
    let folder = &options.folder;
    let Some(draw) = &mut face.report else {
        return Err(no_report());
    };
    // Nothing is drawn from an incomplete folder.
    cellway_lab::Manifest::read(folder).map_err(cellway_lab::Error::from)?;
    let page = draw(folder, options.seed).map_err(|message| Failure { message, code: FAILED })?;
    output::line(&page.display().to_string());
    if options.open {
        open(&page, face);
    }
    Ok(())
}

pub(crate) fn plot(options: &Plot, face: &mut Face<'_>) -> Result<(), Failure> {
    let folder = &options.folder;
    cellway_lab::Manifest::read(folder).map_err(cellway_lab::Error::from)?;
    let wrong = |message| Failure { message, code: WRONG_INPUT };
    let Some(metric) = &options.metric else {
        let Some(list) = &mut face.figures else { return Err(no_report()) };
        let header = ["metric", "form", "unit", "subjects"].map(str::to_owned);
        let mut table = Table::with_numbers(&header, |_| false);
        for row in list(folder).map_err(wrong)? {
            table.add_row(row);
        }
        table.print();
        output::say("sweep: along the axes of the sweep; time: over time; cdf: a distribution (--form)");
        return Ok(());
    };
    let Some(draw) = &mut face.figure else { return Err(no_report()) };
    let figure = Figure {
        folder,
        metric,
        form: options.form.map(|form| form.word()),
        at: &options.at,
        x: options.x.as_deref(),
        by: options.by.as_deref(),
        chosen: &options.chosen,
        seed: options.seed,
        out: options.out.as_deref(),
    };
    output::line(&draw(&figure).map_err(wrong)?.display().to_string());
    Ok(())
}

fn no_report() -> Failure {
    Failure { message: NO_REPORT.to_owned(), code: FAILED }
}

/// Returns the folder for results that are opened and not kept: `given`, or a new one among the temporary files.
pub(crate) fn folder_to_open(given: Option<&Path>, name: &str, face: &Face<'_>) -> Result<PathBuf, Failure> {
    if face.report.is_none() {
        return Err(no_report());
    }
    let letters = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let temporary = || {
        let name: String = name.chars().map(letters).collect();
        std::env::temp_dir().join(format!("cellway-{name}-{}", std::process::id()))
    };
    Ok(given.map_or_else(temporary, Path::to_path_buf))
}

/// Draws the report of a folder that has just been written, and opens it. Returns its path.
pub(crate) fn draw_and_open(folder: &Path, face: &mut Face<'_>) -> Result<PathBuf, Failure> {
    let Some(draw) = &mut face.report else { return Err(no_report()) };
    let page = draw(folder, None).map_err(|message| Failure { message, code: FAILED })?;
    open(&page, face);
    Ok(page)
}

/// Opens a page; its path is printed in any case.
pub(crate) fn open(page: &Path, face: &mut Face<'_>) {
    let opened = face.open.as_mut().is_some_and(|open| open(page));
    let how = if opened { "report in" } else { "no browser was found; the report is in" };
    output::say(&format!("{how} {}", page.display()));
}
