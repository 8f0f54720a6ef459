//! Results as text, line by line, and as CSV.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use crate::path::Seen;

/// Where results go.
const FOLDER: &str = "out/bench-gateway";

/// A cell of a table.
pub(crate) enum Value {
    Word(String),
    /// With so many digits after the point.
    Number(f64, usize),
    /// With what it was to be, and whether it is.
    Judged(f64, usize, f64, bool),
    None,
}

impl Value {
    pub(crate) fn maybe(value: Option<f64>, digits: usize) -> Value {
        value.map_or(Value::None, |value| Value::Number(value, digits))
    }
    /// A number that has a target, where it has.
    pub(crate) fn judged(value: Option<f64>, digits: usize, to: Option<f64>, is_met: fn(f64, f64) -> bool) -> Value {
        match (value, to) {
            (Some(value), Some(to)) => Value::Judged(value, digits, to, is_met(value, to)),
            (value, _) => Value::maybe(value, digits),
        }
    }
    fn text(&self) -> String {
        match self {
            Value::Word(word) => word.clone(),
            Value::Number(number, digits) => format!("{number:.digits$}"),
            Value::Judged(number, digits, _, true) => format!("{number:.digits$}"),
            Value::Judged(number, digits, to, false) => format!("{number:.digits$}!{to}"),
            Value::None => "-".to_owned(),
        }
    }
    fn csv(&self) -> String {
        match self {
            Value::Word(word) => word.clone(),
            Value::Number(number, _) | Value::Judged(number, ..) => number.to_string(),
            Value::None => String::new(),
        }
    }
}

pub(crate) struct Report {
    folder: PathBuf,
    text: File,
    tables: BTreeMap<&'static str, File>,
    missed: Vec<String>,
    invalid: u32,
}

impl Report {
    pub(crate) fn new() -> std::io::Result<Report> {
        // Cargo runs benches in the folder of their package.
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(FOLDER);
        fs::create_dir_all(&folder)?;
        let text = File::create(folder.join("gateway.txt"))?;
        Ok(Report { folder, text, tables: BTreeMap::new(), missed: Vec::new(), invalid: 0 })
    }

    /// A line of text.
    pub(crate) fn say(&mut self, line: &str) {
        println!("{line}");
        if let Err(e) = writeln!(self.text, "{line}") {
            eprintln!("{FOLDER}: {e}");
        }
    }

    /// A row of the table `table`; the first has the header before it. How late the emulation was goes with it.
    pub(crate) fn row(&mut self, table: &'static str, seen: &Seen, mut cells: Vec<(&'static str, Value)>) {
        cells.push(("late_p99_us", Value::Number(seen.late.as_secs_f64() * 1e6, 0)));
        cells.push(("emulator", Value::Word(if seen.valid { "in time" } else { "INVALID" }.to_owned())));
        let columns: Vec<&str> = cells.iter().map(|(name, _)| *name).collect();
        if !self.tables.contains_key(table) {
            match File::create(self.folder.join(format!("{table}.csv"))) {
                Ok(mut file) => {
                    let _ = writeln!(file, "{},notes", columns.join(","));
                    self.tables.insert(table, file);
                }
                Err(e) => eprintln!("{table}.csv: {e}"),
            }
            let header: Vec<String> = columns.iter().map(|name| format!("{name:>12}")).collect();
            self.say("");
            self.say(&header.join(" "));
        }
        let line: Vec<String> = cells.iter().map(|(_, value)| format!("{:>12}", value.text())).collect();
        self.say(&line.join(" "));
        for note in &seen.notes {
            self.say(&format!("   note: {note}"));
        }
        let words: Vec<String> =
            cells.iter().filter(|(_, v)| matches!(v, Value::Word(_))).map(|(_, v)| v.text()).collect();
        for (name, value) in &cells {
            if let Value::Judged(number, digits, to, false) = value {
                self.missed.push(format!("{table} {}: {name} {number:.digits$}, to be {to}", words.join(" ")));
            }
        }
        self.invalid += u32::from(!seen.valid);
        let csv: Vec<String> = cells.iter().map(|(_, value)| value.csv()).collect();
        let notes = seen.notes.join("; ").replace('"', "'");
        if let Some(file) = self.tables.get_mut(table)
            && let Err(e) = writeln!(file, "{},\"{notes}\"", csv.join(","))
        {
            eprintln!("{table}.csv: {e}");
        }
    }

    /// What was missed, and where it all is.
    pub(crate) fn end(mut self) {
        let missed = std::mem::take(&mut self.missed);
        self.say("");
        self.say(&format!("missed targets: {}", if missed.is_empty() { "none" } else { "" }));
        for line in missed {
            self.say(&format!("  {line}"));
        }
        if self.invalid > 0 {
            self.say(&format!(
                "{} rows are INVALID: the emulator was late; repeat them with less else to do",
                self.invalid
            ));
        }
        println!("text and CSV are in {FOLDER}");
    }
}
