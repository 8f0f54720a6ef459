//! `cellway report` and `cellway plot`, and the pages that other commands open.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::args::{Plot, Report};
use crate::table::Table;
use crate::{DrawnFigure, FAILED, Face, Failure, NotDrawn, WRONG_INPUT, output};

/// The advice about a report outside the Python package.
pub(crate) const NO_REPORT: &str = "reports are drawn by the Python package: pip install cellway (or `make run` in the source tree), then cellway report";

/// The most letters of the name of a scenario in that of a temporary folder.
const LONGEST_NAME: usize = 40;

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
    if let Some(out) = &options.out {
        cellway_lab::check_free(out, options.force)?;
    }
    let figure = DrawnFigure {
        folder,
        metric,
        form: options.form.map(|form| form.word()),
        at: &options.at,
        x: options.x.as_deref(),
        by: options.by.as_deref(),
        chosen: &options.chosen,
        seed: options.seed,
        words: [&options.title, &options.xlabel, &options.ylabel].map(|text| text.as_deref()),
        width: options.width,
        out: options.out.as_deref(),
    };
    let path = draw(&figure).map_err(|not_drawn| match not_drawn {
        NotDrawn::WrongInput(message) => wrong(message),
        NotDrawn::Failed(message) => Failure { message, code: FAILED },
    })?;
    output::line(&path.display().to_string());
    Ok(())
}

pub(crate) fn no_report() -> Failure {
    Failure { message: NO_REPORT.to_owned(), code: FAILED }
}

/// Checks that reports can be drawn, before a long run.
pub(crate) fn check_report(face: &Face<'_>) -> Result<(), Failure> {
    if face.report.is_some() { Ok(()) } else { Err(no_report()) }
}

/// The folder for the results of a command, if they are written at all.
pub(crate) struct Target {
    folder: Option<PathBuf>,
    /// A new folder around it, until the results are complete: dropped before, it is removed.
    around: Option<TempDir>,
}

impl Target {
    /// Returns `given`; a new folder among the temporary files, which no other user can read, if there is none and the
    /// results are to be opened.
    pub(crate) fn new(given: Option<&Path>, open: bool, name: &str) -> Result<Target, Failure> {
        if given.is_some() || !open {
            return Ok(Target { folder: given.map(Path::to_path_buf), around: None });
        }
        let letters = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let name: String = name.chars().take(LONGEST_NAME).map(letters).collect();
        let around = temporary_folder(&format!("cellway-{name}-"))?;
        Ok(Target { folder: Some(around.path().join("results")), around: Some(around) })
    }

    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Keeps the results, which are complete.
    pub(crate) fn keep(&mut self) {
        self.around.take().map(TempDir::keep);
    }
}

/// Makes a new folder among the temporary files, which no other user can read; it is removed when dropped.
pub(crate) fn temporary_folder(prefix: &str) -> Result<TempDir, Failure> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir().map_err(|e| Failure { message: format!("cannot make a temporary folder: {e}"), code: FAILED })
}

/// Draws the report of a folder that has just been written. Returns its path.
pub(crate) fn draw(folder: &Path, face: &mut Face<'_>) -> Result<PathBuf, Failure> {
    let Some(draw) = &mut face.report else { return Err(no_report()) };
    draw(folder, None).map_err(|message| {
        let message = format!("the results are in {}, but their report cannot be drawn: {message}", folder.display());
        Failure { message, code: FAILED }
    })
}

/// Draws that report, unless this is outside the Python package.
pub(crate) fn draw_if_possible(folder: &Path, face: &mut Face<'_>) -> Result<Option<PathBuf>, Failure> {
    if face.report.is_none() { Ok(None) } else { draw(folder, face).map(Some) }
}

/// Draws the report of such a folder, prints its path below the results, and opens it.
pub(crate) fn draw_and_open(folder: &Path, face: &mut Face<'_>) -> Result<(), Failure> {
    let page = draw(folder, face)?;
    output::line("");
    output::line(&page.display().to_string());
    open(&page, face);
    Ok(())
}

/// Opens the page of a report whose path has been printed.
pub(crate) fn open(page: &Path, face: &mut Face<'_>) {
    open_or_say(page, face, &format!("the report is in {}", page.display()));
}

/// Opens a page; prints `instead` after the reason if no browser can show it.
pub(crate) fn open_or_say(page: &Path, face: &mut Face<'_>, instead: &str) {
    // A browser would start inside the namespace as well: as its root, and without a network.
    #[cfg(target_os = "linux")]
    let reachable = !cellway_lab::is_reentered();
    #[cfg(not(target_os = "linux"))]
    let reachable = true;
    let opened = reachable && face.open.as_mut().is_some_and(|open| open(page));
    if !opened {
        let why = if reachable { "no browser was found" } else { "no browser can be reached from the user namespace" };
        output::say(&format!("{why}; {instead}"));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    /// Two commands in one process had the same folder.
    #[test]
    fn a_temporary_folder_is_new_and_removed_unless_kept() {
        let target = || Target::new(None, true, "a study/of mine").unwrap();
        let (mut first, second) = (target(), target());
        let [kept, dropped] = [&first, &second].map(|target| target.folder().unwrap().to_owned());
        assert_ne!(kept, dropped);
        let around = kept.parent().unwrap().to_owned();
        let name = around.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with("cellway-a-study-of-mine-"), "{name}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(around.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
        first.keep();
        drop((first, second));
        assert!(around.is_dir() && !dropped.parent().unwrap().exists());
        std::fs::remove_dir(around).unwrap();
    }
}
