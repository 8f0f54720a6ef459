//! Results as text, line by line, and as CSV.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use cellway_record::stats::percentile;

use crate::path::Seen;

/// The folder of the results.
const FOLDER: &str = "out/bench-gateway";

/// A cell of a table.
pub(crate) enum Value {
    Word(String),
    /// A number with this many digits after the point.
    Number(f64, usize),
    /// With its target, and the comparison that must hold of the two.
    Judged(f64, usize, f64, fn(f64, f64) -> bool),
    None,
}

impl Value {
    pub(crate) fn maybe(value: Option<f64>, digits: usize) -> Value {
        value.map_or(Value::None, |value| Value::Number(value, digits))
    }
    /// Returns a number, with its target if it has one.
    pub(crate) fn judged(value: Option<f64>, digits: usize, to: Option<f64>, is_met: fn(f64, f64) -> bool) -> Value {
        match (value, to) {
            (Some(value), Some(to)) => Value::Judged(value, digits, to, is_met),
            (value, _) => Value::maybe(value, digits),
        }
    }
    fn text(&self) -> String {
        match self {
            Value::Word(word) => word.clone(),
            Value::Number(number, digits) => format!("{number:.digits$}"),
            Value::Judged(number, digits, to, is_met) if !is_met(*number, *to) => format!("{number:.digits$}!{to}"),
            Value::Judged(number, digits, ..) => format!("{number:.digits$}"),
            Value::None => "-".to_owned(),
        }
    }
    fn number(&self) -> Option<f64> {
        match self {
            Value::Number(number, _) | Value::Judged(number, ..) => Some(*number),
            Value::Word(_) | Value::None => None,
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

/// The cells of a row by the names of their columns.
pub(crate) type Cells = Vec<(&'static str, Value)>;

pub(crate) struct Report {
    folder: PathBuf,
    text: File,
    markdown: BTreeMap<&'static str, String>,
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
        Ok(Report { folder, text, markdown: BTreeMap::new(), tables: BTreeMap::new(), missed: Vec::new(), invalid: 0 })
    }

    /// Prints and stores a line of the report.
    pub(crate) fn say(&mut self, line: &str) {
        println!("{line}");
        if let Err(e) = writeln!(self.text, "{line}") {
            eprintln!("{FOLDER}: {e}");
        }
    }

    /// Adds a row of the table `table` that is measured once.
    pub(crate) fn row(&mut self, table: &'static str, seen: &Seen, cells: Cells) {
        let cells = self.one_of(table, seen, cells);
        self.all(table, &[cells]);
    }

    /// Returns the cells of a row that may be one of several of the same kind; the first of a table has the header
    /// before it. Adds the lateness of the emulation to it.
    pub(crate) fn one_of(&mut self, table: &'static str, seen: &Seen, mut cells: Cells) -> Cells {
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
        self.invalid += u32::from(!seen.valid);
        let csv: Vec<String> = cells.iter().map(|(_, value)| value.csv()).collect();
        let notes = seen.notes.join("; ").replace('"', "'");
        if let Some(file) = self.tables.get_mut(table)
            && let Err(e) = writeln!(file, "{},\"{notes}\"", csv.join(","))
        {
            eprintln!("{table}.csv: {e}");
        }
        cells
    }

    /// Judges rows of the same kind by the medians of those that are valid, or of all if none is. Prints the medians of
    /// several rows with the least and the most, and adds them to a table in Markdown.
    pub(crate) fn all(&mut self, table: &'static str, rows: &[Cells]) {
        let is_valid = |cells: &&Cells| cells.iter().all(|(_, value)| value.text() != "INVALID");
        let mut counted: Vec<&Cells> = rows.iter().filter(is_valid).collect();
        let invalid = rows.len() - counted.len();
        if counted.is_empty() {
            counted.extend(rows);
        }
        let Some(first) = counted.first() else { return };
        let words = first.iter().filter(|(name, v)| *name != "emulator" && matches!(v, Value::Word(_)));
        let words: Vec<String> = words.map(|(_, word)| word.text()).collect();
        let (mut said, mut columns, mut cells) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (name, value)) in first.iter().enumerate() {
            let (digits, judged) = match value {
                Value::Number(_, digits) => (*digits, None),
                Value::Judged(_, digits, to, is_met) => (*digits, Some((*to, is_met))),
                Value::Word(_) | Value::None => {
                    columns.push((*name).to_owned());
                    cells.push(if matches!(value, Value::None) { String::new() } else { value.text() });
                    continue;
                }
            };
            let mut numbers: Vec<f64> = counted.iter().filter_map(|row| row[at].1.number()).collect();
            numbers.sort_by(f64::total_cmp);
            let (Some(least), Some(median), Some(most)) = (numbers.first(), percentile(&numbers, 0.5), numbers.last())
            else {
                continue;
            };
            let spread = if least == most {
                format!("{median:.digits$}")
            } else {
                format!("{median:.digits$} ({least:.digits$} to {most:.digits$})")
            };
            if !matches!(*name, "streams" | "seconds") {
                said.push(format!("{name} {spread}"));
            }
            columns.push((*name).to_owned());
            let mut cell = spread;
            if let Some((to, is_met)) = judged
                && !is_met(median, to)
            {
                self.missed.push(format!("{table} {}: {name} {median:.digits$}, to be {to}", words.join(" ")));
                cell += &format!(", missed: {to}");
            }
            cells.push(cell);
        }
        if rows.len() > 1 {
            self.say(&format!(
                "   median of {} (least to most), {invalid} of {} invalid: {}",
                counted.len(),
                rows.len(),
                said.join(", ")
            ));
        }
        self.markdown(table, &columns, &cells);
    }

    /// Adds a row to the table in Markdown, with its header if it is the first.
    fn markdown(&mut self, table: &'static str, columns: &[String], cells: &[String]) {
        let header = format!("| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()));
        let text = self.markdown.entry(table).or_insert(header);
        *text += &format!("| {} |\n", cells.join(" | "));
        if let Err(e) = fs::write(self.folder.join(format!("{table}.md")), text.as_bytes()) {
            eprintln!("{table}.md: {e}");
        }
    }

    /// Prints the missed targets, and the folder of the results.
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
        println!("text, CSV and Markdown are in {FOLDER}");
    }
}
