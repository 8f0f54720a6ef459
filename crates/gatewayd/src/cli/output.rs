//! The two output streams: results go to standard output, messages to standard error.

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use cellway_units::{printable, printable_json};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use serde_json::Value;

/// The first error of standard output. Later output is lost as well.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Stores an error of standard output for [`finish`]. Returns false if there is one, also for a closed pipe.
fn keep(done: io::Result<()>) -> bool {
    match done {
        Ok(()) => return true,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => {
            LOST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
    false
}

/// Flushes standard output. Returns the first error, if any; a closed pipe, as with `head`, is none.
pub(super) fn finish() -> io::Result<()> {
    keep(io::stdout().flush());
    LOST.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
}

/// Stores an error of printing the help text.
pub(super) fn printed(done: io::Result<()>) {
    keep(done);
}

/// Prints a line of the result.
pub(super) fn line(text: &str) {
    keep(writeln!(io::stdout(), "{}", printable(text)));
}

/// Prints a result that ends with its own line break.
pub(super) fn text(text: &str) {
    refresh("", text);
}

/// Prints one of several results, after the control sequence `clear`. Returns false if the caller may stop, because the
/// output cannot be written or its reader has closed it.
pub(super) fn refresh(clear: &str, text: &str) -> bool {
    write(clear, &printable(text))
}

/// Prints one of several results as a line of JSON; `false` as for [`picture`].
pub(super) fn json_line(value: &impl Serialize) -> serde_json::Result<bool> {
    Ok(write("", &(printable_json(&serde_json::to_string(value)?).into_owned() + "\n")))
}

fn write(clear: &str, text: &str) -> bool {
    let mut out = io::stdout();
    keep(out.write_all(clear.as_bytes()).and_then(|()| out.write_all(text.as_bytes())).and_then(|()| out.flush()))
}

/// Prints the result as JSON.
pub(super) fn json(value: &Value) {
    keep(writeln!(io::stdout(), "{}", printable_json(&format!("{value:#}"))));
}

/// Prints an error message.
pub(super) fn error(text: &str) {
    let _ = writeln!(io::stderr(), "cellway-gateway: {}", printable(text));
}

/// Formats a path for messages.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Creates a table with a header; columns named in `right` are aligned to the right.
pub(super) fn table(header: &[&str], right: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    for (column, name) in table.column_iter_mut().zip(header) {
        column.set_padding((0, 2));
        if right.contains(name) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Returns the lines of a table without trailing blanks.
pub(super) fn rows(table: &Table) -> String {
    table.lines().map(|row| format!("{}\n", row.trim_end())).collect()
}

/// Formats a number with three digits and a prefix of thousands: "1.21 MB".
pub(super) fn scaled(value: f64, unit: &str) -> String {
    let prefixes = ["", "k", "M", "G", "T", "P"];
    let mut value = value;
    let mut prefix = 0;
    while value >= 999.5 && prefix + 1 < prefixes.len() {
        value /= 1000.0;
        prefix += 1;
    }
    let digits = match value {
        _ if prefix == 0 => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {}{unit}", prefixes[prefix])
}

/// Formats a time in its two largest units: "3 d 4 h", "12 s".
pub(super) fn age(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3600),
    }
}
