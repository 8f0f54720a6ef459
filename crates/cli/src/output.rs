//! The two output streams: results go to the first, messages about them to the second.

use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, PoisonError};

use cellway_lab::{printable, printable_json};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde_json::Value;

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

/// Prints a note about the result to standard error. An error there cannot be reported anywhere and is ignored.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

/// Prints an error.
pub(crate) fn complain(text: &str) {
    say(&format!("cellway: {text}"));
}

/// Blanks between two columns of a table.
pub(crate) const GAP: usize = 2;

/// Returns a table with a header; columns named in `right` are aligned to the right.
pub(crate) fn table(header: &[String], right: impl Fn(usize) -> bool) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, GAP as u16));
        if right(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Prints a table without trailing blanks.
pub(crate) fn print(table: &Table) {
    table.lines().for_each(|row| line(row.trim_end()));
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
    fn an_interval_is_printed_as_wide_as_it_is() {
        assert_eq!(with_interval(0.912, Some([0.908, 0.916])), "0.9120 ± 0.0040");
        assert_eq!(with_interval(0.76, Some([0.046, 0.995])), "0.76 [0.05, 0.99]");
        assert_eq!(with_interval(0.5, Some([0.0, 6.9])), "0.5 [0.0, 6.9]");
        assert_eq!(with_interval(3.0, Some([3.0, 3.0])), "3.000 ± 0.000");
        assert_eq!(with_interval(3.0, None), "3.000");
    }
}
