//! Values from elsewhere, read from a CSV file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cellway_record::AxisValue;
use cellway_scenario::Point;
use cellway_units::{Bytes, Rate, Span};

use super::ComparedRow;
use crate::error::Error;
use crate::metrics::did_you_mean;

/// The columns that the file must have.
const COLUMNS: [&str; 4] = ["subject", "metric", "unit", "value"];

/// The contents of a file: a header with `subject,metric,unit,value` in any order and the axes that a value depends on.
#[derive(Clone, Debug)]
pub struct Published {
    path: PathBuf,
    axes: Vec<String>,
    lines: Vec<Line>,
}

#[derive(Clone, Debug)]
struct Line {
    number: usize,
    subject: String,
    metric: String,
    unit: String,
    text: String,
    value: f64,
    /// As long as `axes`; an empty one matches all values.
    at: Vec<String>,
}

impl Published {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, a column that is missing, a value that is no number.
    pub fn read(path: &Path) -> Result<Published, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        Published::parse(&text, path)
    }

    /// Parses `text` as [`Published::read`] does; `path` is its name in messages.
    pub fn parse(text: &str, path: &Path) -> Result<Published, Error> {
        let wrong = |line: usize, why: String| Error::Option(format!("{}:{line}: {why}", path.display()));
        let mut lines =
            text.trim_start_matches('\u{feff}').lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        let (header, number) = lines.next().unwrap_or(("", 1));
        let header = fields(header).map_err(|why| wrong(number, why))?;
        let mut places = [0; COLUMNS.len()];
        for (place, column) in places.iter_mut().zip(COLUMNS) {
            *place = header.iter().position(|name| name == column).ok_or_else(|| {
                let needed = COLUMNS.join(",");
                wrong(number, format!("there is no column {column:?}; needed: {needed}, and axes of the sweep"))
            })?;
        }
        let others: Vec<usize> = (0..header.len()).filter(|place| !places.contains(place)).collect();
        let read = |(line, number): (&str, usize)| {
            let found = fields(line).map_err(|why| wrong(number, why))?;
            if found.len() != header.len() {
                return Err(wrong(number, format!("{} values under {} columns", found.len(), header.len())));
            }
            let [subject, metric, unit, text] = places.map(|place| found[place].clone());
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            let value =
                value.ok_or_else(|| wrong(number, format!("value {text:?} is not a number; for example 5.9e6")))?;
            let at = others.iter().map(|place| found[*place].clone()).collect();
            Ok(Line { number, subject, metric, unit, text, value, at })
        };
        let lines = lines.map(read).collect::<Result<Vec<_>, Error>>()?;
        Ok(Published {
            path: path.to_owned(),
            axes: others.iter().map(|place| header[*place].clone()).collect(),
            lines,
        })
    }

    /// Returns the number of values.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    fn wrong(&self, line: &Line, why: &str) -> Error {
        Error::Option(format!("{}:{}: {why}", self.path.display(), line.number))
    }

    /// Checks that all axes are those of the sweep.
    pub(super) fn check_axes(&self, points: &[Point]) -> Result<(), Error> {
        let known: Vec<&str> =
            points.first().map(|p| p.axes.iter().map(|(name, _)| &name[..]).collect()).unwrap_or_default();
        match self.axes.iter().find(|axis| !known.contains(&axis.as_str())) {
            None => Ok(()),
            Some(axis) => {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let path = self.path.display();
                Err(Error::Option(format!("{path}: {axis:?} is not an axis of the sweep; accepted: {known}")))
            }
        }
    }

    /// Puts the values of the point at `axes` into its rows, and marks those that found a row.
    pub(super) fn fill(
        &self,
        rows: &mut [ComparedRow],
        axes: &[(String, AxisValue)],
        used: &mut [bool],
    ) -> Result<(), Error> {
        for (line, used) in self.lines.iter().zip(used) {
            let here = self
                .axes
                .iter()
                .zip(&line.at)
                .filter(|(_, at)| !at.is_empty())
                .all(|(name, at)| axes.iter().any(|(axis, value)| axis == name && is(value, at)));
            let same = |row: &&mut ComparedRow| row.subject == line.subject && row.metric == line.metric;
            if let (true, Some(row)) = (here, rows.iter_mut().find(same)) {
                let value = converted(line, &row.unit).ok_or_else(|| {
                    self.wrong(line, &format!("{} is in {:?}, not in {:?}", line.metric, row.unit, line.unit))
                })?;
                row.published = Some(value);
                *used = true;
            }
        }
        Ok(())
    }

    /// Returns the error for value `index`, which belongs to no row of any point; `measured` are the existing subjects
    /// and metrics.
    pub(super) fn unknown_value(&self, index: usize, measured: &[(String, String)]) -> Error {
        let line = &self.lines[index];
        let (subject, metric) = (&line.subject, &line.metric);
        let metrics: Vec<&str> =
            measured.iter().filter(|(of, _)| of == subject).map(|(_, metric)| &metric[..]).collect();
        if metrics.contains(&metric.as_str()) {
            let at = self.at(line);
            return self
                .wrong(line, &format!("{metric} of {subject} is measured, but at no point of the sweep with {at}"));
        }
        let meant = did_you_mean(metric, metrics.iter().copied());
        let (what, all) = match metrics.is_empty() {
            true => ("subjects", measured.iter().map(|(subject, _)| &subject[..]).collect()),
            false => ("its metrics", metrics),
        };
        let known: BTreeSet<&str> = all.into_iter().collect();
        let known = known.into_iter().collect::<Vec<_>>().join(", ");
        self.wrong(line, &format!("{metric} of {subject} is not measured{meant}; {what}: {known}"))
    }

    fn at(&self, line: &Line) -> String {
        let places = self.axes.iter().zip(&line.at).filter(|(_, at)| !at.is_empty());
        places.map(|(name, at)| format!("{name} {at}")).collect::<Vec<_>>().join(", ")
    }
}

/// Returns true if the value of an axis equals the written one: 8 is 8.0, and "128KiB" is "128 KiB".
fn is(value: &AxisValue, written: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    match value {
        AxisValue::Text(text) => plain(text) == plain(written),
        AxisValue::Number(number) => written.parse::<f64>().is_ok_and(|written| written == *number),
    }
}

/// Returns the value in the unit of a table.
fn converted(line: &Line, unit: &str) -> Option<f64> {
    if line.unit == unit {
        return Some(line.value);
    }
    let text = format!("{} {}", line.text, line.unit);
    match unit {
        "bit/s" => text.parse::<Rate>().ok().map(|rate| rate.as_bps() as f64),
        "s" => text.parse::<Span>().ok().map(Span::as_secs_f64),
        "B" => text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64),
        _ => None,
    }
}

/// Returns the fields of a line of CSV: separated by commas, optionally in double quotes, which are doubled inside (RFC
/// 4180, without line breaks in fields).
fn fields(line: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut rest = line.trim_end_matches('\r');
    loop {
        let (field, after) = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => {
                let (mut field, mut inner) = (String::new(), quoted);
                loop {
                    let end = inner.find('"').ok_or("a quote is not closed")?;
                    field.push_str(&inner[..end]);
                    inner = &inner[end + 1..];
                    match inner.strip_prefix('"') {
                        Some(more) => {
                            field.push('"');
                            inner = more;
                        }
                        None => break,
                    }
                }
                (field, inner.trim_start())
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].trim().to_owned(), &rest[end..])
            }
        };
        found.push(field);
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None if after.is_empty() => return Ok(found),
            None => return Err(format!("{after:?} follows a closing quote; only a comma or the end of the line may")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Published, String> {
        Published::parse(text, Path::new("p.csv")).map_err(|e| e.to_string())
    }

    #[test]
    fn fields_are_those_of_rfc_4180() {
        assert_eq!(fields("a, b ,\"c, \"\"d\"\"\",").unwrap(), ["a", "b", "c, \"d\"", ""]);
        assert!(fields("\"a").unwrap_err().contains("not closed"));
        assert!(fields("\"a\"b").unwrap_err().contains("follows a closing quote"));
    }

    #[test]
    fn errors_name_the_line() {
        assert!(read("subject,metric,value\n").unwrap_err().starts_with("p.csv:1: there is no column \"unit\""));
        let short = read("subject,metric,unit,value\n\na,b,c\n").unwrap_err();
        assert_eq!(short, "p.csv:3: 3 values under 4 columns");
        let word = read("subject,metric,unit,value\na,b,c,NaN\n").unwrap_err();
        assert!(word.contains("p.csv:2") && word.contains("\"NaN\""), "{word}");
    }

    fn row() -> ComparedRow {
        let (subject, metric, unit) = ("bulk".to_owned(), "goodput_total".to_owned(), "bit/s".to_owned());
        let (predicted, simulated, emulated, published) = (None, None, None, None);
        ComparedRow { subject, metric, unit, predicted, simulated, emulated, published, difference: None, main: false }
    }

    #[test]
    fn values_find_their_point_and_unit() {
        let text = "value,subject,metric,unit,tcp.window,count\n5.9,bulk,goodput_total,Mbit/s,128KiB,\n\
                    7,bulk,goodput_total,bit/s,,2\n";
        let published = read(text).unwrap();
        let at = |window: &str, count: f64| {
            let axes = [
                ("tcp.window".to_owned(), AxisValue::Text(window.to_owned())),
                ("count".to_owned(), AxisValue::Number(count)),
            ];
            let (mut rows, mut used) = (vec![row()], vec![false; 2]);
            published.fill(&mut rows, &axes, &mut used).unwrap();
            (rows[0].published, used)
        };
        assert_eq!(at("128 KiB", 1.0), (Some(5_900_000.0), vec![true, false]));
        assert_eq!(at("64 KiB", 2.0), (Some(7.0), vec![false, true]));
        assert_eq!(at("64 KiB", 1.0), (None, vec![false, false]));
    }

    #[test]
    fn a_unit_of_something_else_is_refused() {
        let published = read("subject,metric,unit,value\nbulk,goodput_total,cell,3\n").unwrap();
        let message = published.fill(&mut [row()], &[], &mut [false]).unwrap_err().to_string();
        assert_eq!(message, "p.csv:2: goodput_total is in \"bit/s\", not in \"cell\"");
    }
}
