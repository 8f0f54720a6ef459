//! The two output streams: results go to the first, messages about them to the second.

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use cellway_lab::{Manifest, printable, printable_json};
use console::Term;
use serde_json::Value;

/// The amount that a command prints.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Results and errors.
    Quiet,
    /// Also progress, notes and warnings.
    Normal,
    /// Also what runs, and the files that are read and written.
    Verbose,
}

/// The verbosity of the command that runs.
static VERBOSITY: AtomicU8 = AtomicU8::new(Verbosity::Normal as u8);

pub(crate) fn set_verbosity(verbosity: Verbosity) {
    VERBOSITY.store(verbosity as u8, Ordering::Relaxed);
}

fn prints(least: Verbosity) -> bool {
    VERBOSITY.load(Ordering::Relaxed) >= least as u8
}

/// Returns true if progress, notes and warnings are left out.
pub(crate) fn is_quiet() -> bool {
    !prints(Verbosity::Normal)
}

/// Returns true if details were requested.
pub(crate) fn is_verbose() -> bool {
    prints(Verbosity::Verbose)
}

/// Returns the width that tables on standard output must fit: `COLUMNS` if it is set, else that of the terminal. Rows that
/// a program or a file receives stay whole: there is none.
pub(crate) fn width() -> Option<usize> {
    columns().or_else(terminal_width)
}

/// Returns the width of standard error, likewise.
pub(crate) fn error_width() -> Option<usize> {
    columns().or_else(|| width_of(&Term::stderr()))
}

/// Returns the width of the terminal that standard output is, whatever `COLUMNS` says.
pub(crate) fn terminal_width() -> Option<usize> {
    width_of(&Term::stdout())
}

/// Returns the variable `COLUMNS`, if it is a width.
fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|&columns| columns > 0)
}

fn width_of(term: &Term) -> Option<usize> {
    term.size_checked().map(|(_, columns)| usize::from(columns))
}

/// The first error of standard output since the last [`finish`]. Printing goes on after an error, because a simulation
/// that has finished still writes its tables.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Keeps an error of standard output for [`finish`]. A closed pipe, as with `head`, is no error.
pub(crate) fn keep(done: io::Result<()>) {
    if let Err(error) = done
        && error.kind() != ErrorKind::BrokenPipe
    {
        LOST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// Flushes standard output. Returns the first error since the last call, if any.
pub(crate) fn finish() -> io::Result<()> {
    keep(io::stdout().flush());
    LOST.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
}

/// Prints a line of the result.
pub(crate) fn line(text: &str) {
    keep(writeln!(io::stdout(), "{}", printable(text)));
}

/// Prints the result as JSON.
pub(crate) fn json(value: &Value) {
    keep(writeln!(io::stdout(), "{}", printable_json(&format!("{value:#}"))));
}

/// Prints one of several results, a line of JSON.
pub(crate) fn json_line(json: &str) {
    keep(writeln!(io::stdout(), "{}", printable_json(json)));
}

/// Prints JSON about the result on standard error.
pub(crate) fn say_json(value: &Value) {
    let _ = writeln!(io::stderr(), "{}", printable_json(&format!("{value:#}")));
}

/// Prints a note about the result to standard error, unless the command is quiet. An error there cannot be reported
/// anywhere and is ignored.
pub(crate) fn say(text: &str) {
    if !is_quiet() {
        let _ = writeln!(io::stderr(), "{}", printable(text));
    }
}

/// Prints warnings about the result.
pub(crate) fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
}

/// Prints a detail of the work, if details were requested.
pub(crate) fn detail(text: &str) {
    if is_verbose() {
        say(text);
    }
}

/// Prints the files of a result folder, if details were requested.
pub(crate) fn written_files(folder: &Path, manifest: &Manifest) {
    for file in &manifest.files {
        detail(&format!("wrote {}, {}", folder.join(&file.name).display(), size(file.bytes)));
    }
}

/// Prints an error.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(&format!("cellway: {text}")));
}

/// Cuts a text to at most `width` characters, with an ellipsis at the cut.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Formats a number of things: "1 run", "2 runs".
pub(crate) fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Formats a size of a file: "812 B", "34.5 kB", "23.1 MB".
pub(crate) fn size(bytes: u64) -> String {
    match bytes as f64 {
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.1} kB", b / 1e3),
        _ => format!("{bytes} B"),
    }
}

/// Formats a mean to the precision of its interval: "0.912 ± 0.004", or "0.98 [0.91, 1.00]" if the interval is not
/// symmetric.
pub(crate) fn with_interval(mean: f64, interval: Option<[f64; 2]>) -> String {
    let sides = interval.map(|[low, high]| [mean - low, high - mean]);
    let half = sides.map(|[below, above]| below.max(above));
    let scale = half.filter(|&h| h > 0.0).unwrap_or(mean.abs() / 100.0);
    let digits = if scale > 0.0 { (1.0 - scale.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 };
    let number = |value: f64| format!("{value:.digits$}");
    match (interval, sides) {
        (Some([low, high]), Some([below, above])) if number(below) != number(above) => {
            format!("{} [{}, {}]", number(mean), number(low), number(high))
        }
        (_, Some([_, above])) => format!("{} ± {}", number(mean), number(above)),
        _ => number(mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_in_the_singular() {
        assert_eq!([0, 1, 2].map(|n| count(n, "run")), ["0 runs", "1 run", "2 runs"]);
    }

    #[test]
    fn sizes_have_a_prefix() {
        let shown = [0, 999, 1_000, 10_000_000, 23_149_999, 2_500_000_000].map(size);
        assert_eq!(shown, ["0 B", "999 B", "1.0 kB", "10.0 MB", "23.1 MB", "2.5 GB"]);
    }

    #[test]
    fn an_interval_is_printed_as_wide_as_it_is() {
        assert_eq!(with_interval(0.912, Some([0.908, 0.916])), "0.9120 ± 0.0040");
        assert_eq!(with_interval(0.76, Some([0.046, 0.995])), "0.76 [0.05, 0.99]");
        assert_eq!(with_interval(0.5, Some([0.0, 6.9])), "0.5 [0.0, 6.9]");
        assert_eq!(with_interval(3.0, Some([3.0, 3.0])), "3.000 ± 0.000");
        assert_eq!(with_interval(3.0, None), "3.000");
    }
}
