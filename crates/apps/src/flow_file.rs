//! Files of flows: a distribution of sizes, and a trace of arrivals.

use cellway_units::{Columns, ColumnsError, Span};

use crate::flow_sizes::MOST_BYTES;
use crate::flows::TraceFlow;
use crate::size_table::SizeTable;

/// The latest arrival of a trace, in s: beyond the longest run.
const MOST_SECONDS: f64 = 1e7;

/// The reasons for which a text is not a file of flows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}; {accepted}", self.fault())]
pub struct FlowFileError {
    /// The file.
    pub file: String,
    /// The line, from 1, if the error is in one.
    pub line: Option<usize>,
    /// The fault.
    pub message: String,
    /// The accepted form, with an example.
    pub accepted: String,
}

impl FlowFileError {
    /// Returns the location and the fault: `flows.csv:3: time 1 is below 2 of the line before it`.
    pub fn fault(&self) -> String {
        let FlowFileError { file, line, message, .. } = self;
        let line = line.map_or(String::new(), |line| format!(":{line}"));
        format!("{file}{line}: {message}")
    }
}

/// Two columns of numbers, with the lines that they are from.
struct Numbers<'a> {
    file: &'a str,
    names: [&'static str; 2],
    rows: Vec<(usize, [f64; 2])>,
}

impl<'a> Numbers<'a> {
    /// Reads a table with these two columns; `example` is a row of it.
    fn read(text: &str, file: &'a str, names: [&'static str; 2], example: &str) -> Result<Numbers<'a>, FlowFileError> {
        let header = format!("the first line is \"{},{}\", each line after it like \"{example}\"", names[0], names[1]);
        let wrong = |ColumnsError { line, message }| FlowFileError {
            file: file.into(),
            line,
            message,
            accepted: header.clone(),
        };
        let columns = Columns::read(text, &names).map_err(wrong)?;
        let [first, second] = names.map(|name| columns.place(name).map_err(wrong));
        let places = [first?, second?];
        let mut rows = Vec::new();
        for row in columns.rows() {
            let (line, values) = row.map_err(wrong)?;
            let mut numbers = [0.0; 2];
            for ((number, place), name) in numbers.iter_mut().zip(places).zip(names) {
                let found = values[place].parse::<f64>().ok().filter(|number| number.is_finite());
                *number = found.ok_or_else(|| FlowFileError {
                    file: file.into(),
                    line: Some(line),
                    message: format!("{name} {:?} is no number", values[place]),
                    accepted: format!("a line like \"{example}\""),
                })?;
            }
            rows.push((line, numbers));
        }
        if rows.is_empty() {
            return Err(wrong(ColumnsError { line: None, message: "no line follows the header".into() }));
        }
        Ok(Numbers { file, names, rows })
    }

    fn refuse(&self, line: usize, message: String, accepted: &str) -> FlowFileError {
        FlowFileError { file: self.file.into(), line: Some(line), message, accepted: accepted.into() }
    }

    /// Checks that the values of a column do not decrease.
    fn sorted(&self, column: usize, accepted: &str) -> Result<(), FlowFileError> {
        for pair in self.rows.windows(2) {
            let [before, now] = [pair[0].1[column], pair[1].1[column]];
            if now < before {
                let message = format!("{} {now} is below {before} of the line before it", self.names[column]);
                return Err(self.refuse(pair[1].0, message, accepted));
            }
        }
        Ok(())
    }

    /// Checks that the values of a column are sizes.
    fn sizes(&self, column: usize) -> Result<(), FlowFileError> {
        let accepted = "a size from 1 B to 1 PiB, as a number of bytes like 20000";
        match self.rows.iter().find(|(_, row)| !(1.0..=MOST_BYTES).contains(&row[column])) {
            Some((line, row)) => {
                Err(self.refuse(*line, format!("size {} is no size of a flow", row[column]), accepted))
            }
            None => Ok(()),
        }
    }
}

impl SizeTable {
    /// Reads a cumulative distribution: a header `size,probability`, and lines of a size in bytes and the probability
    /// of at most that. `file` is the name of the text in errors.
    pub fn parse_csv(text: &str, file: &str) -> Result<SizeTable, FlowFileError> {
        let columns = Numbers::read(text, file, ["size", "probability"], "20000,0.53")?;
        columns.sizes(0)?;
        columns.sorted(0, "sizes in ascending order")?;
        if let Some((line, row)) = columns.rows.iter().find(|(_, row)| !(0.0..=1.0).contains(&row[1])) {
            return Err(columns.refuse(
                *line,
                format!("probability {} is outside 0 to 1", row[1]),
                "a share like 0.53",
            ));
        }
        columns.sorted(1, "probabilities in ascending order, as they are cumulative")?;
        let (line, last) = columns.rows[columns.rows.len() - 1];
        if last[1] != 1.0 {
            let message = format!("the last probability is {}", last[1]);
            return Err(columns.refuse(line, message, "a last line with the largest size and the probability 1"));
        }
        Ok(SizeTable::new(columns.rows.iter().map(|(_, row)| (row[0], row[1]))))
    }
}

/// Reads a trace of flows: a header `time,size`, and lines of a time in seconds from the start of the slot and a size in
/// bytes. `file` is the name of the text in errors.
pub fn parse_trace(text: &str, file: &str) -> Result<Vec<TraceFlow>, FlowFileError> {
    let columns = Numbers::read(text, file, ["time", "size"], "0.25,20000")?;
    columns.sizes(1)?;
    if let Some((line, row)) = columns.rows.iter().find(|(_, row)| row[1].fract() != 0.0) {
        return Err(columns.refuse(
            *line,
            format!("size {} is no whole number", row[1]),
            "a number of bytes like 20000",
        ));
    }
    if let Some((line, row)) = columns.rows.iter().find(|(_, row)| !(0.0..=MOST_SECONDS).contains(&row[0])) {
        let accepted = "seconds from the start of the slot, from 0 to 10000000, like 0.25";
        return Err(columns.refuse(*line, format!("time {} is out of range", row[0]), accepted));
    }
    columns.sorted(0, "times in ascending order")?;
    let flow = |&(_, [time, size]): &(usize, [f64; 2])| TraceFlow { at: Span::from_secs_f64(time), size: size as u64 };
    Ok(columns.rows.iter().map(flow).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_and_a_trace_are_read() {
        let table = SizeTable::parse_csv("probability,size\n0.5,1000\n\n1, 3000\n", "a.csv").unwrap();
        assert_eq!(table, SizeTable::new([(1000.0, 0.5), (3000.0, 1.0)]));
        let trace = parse_trace("time,size\r\n0,1\r\n0.25,20000\r\n0.25,7", "t.csv").unwrap();
        let at = |ms, size| TraceFlow { at: Span::from_ms(ms), size };
        assert_eq!(trace, [at(0, 1), at(250, 20_000), at(250, 7)]);
    }

    #[test]
    fn faults_are_reported_with_their_line() {
        let table = |text: &str| SizeTable::parse_csv(text, "a.csv").unwrap_err().to_string();
        let trace = |text: &str| parse_trace(text, "t.csv").unwrap_err().to_string();
        let header = "the first line is \"time,size\", each line after it like \"0.25,20000\"";
        assert_eq!(trace(""), format!("t.csv: the file is empty; {header}"));
        assert_eq!(trace("time,size\n"), format!("t.csv: no line follows the header; {header}"));
        assert_eq!(trace("time\n1"), format!("t.csv:1: the column \"size\" is missing; {header}"));
        assert_eq!(trace("time,size,rate\n"), format!("t.csv:1: the column \"rate\" is unknown; {header}"));
        assert_eq!(trace("time,size,size\n"), format!("t.csv:1: the column \"size\" is given twice; {header}"));
        assert_eq!(trace("time,size\n1,2,3"), format!("t.csv:2: \"1,2,3\" has 3 values for 2 columns; {header}"));
        assert_eq!(trace("time,size\n1,2 kB"), "t.csv:2: size \"2 kB\" is no number; a line like \"0.25,20000\"");
        assert_eq!(trace("time,size\n1,NaN"), "t.csv:2: size \"NaN\" is no number; a line like \"0.25,20000\"");
        let accepted = "a size from 1 B to 1 PiB, as a number of bytes like 20000";
        assert_eq!(trace("time,size\n1,2\n\n2,0"), format!("t.csv:4: size 0 is no size of a flow; {accepted}"));
        assert_eq!(trace("time,size\n1,-5"), format!("t.csv:2: size -5 is no size of a flow; {accepted}"));
        assert_eq!(trace("time,size\n1,2.5"), "t.csv:2: size 2.5 is no whole number; a number of bytes like 20000");
        assert_eq!(
            trace("time,size\n-1,2"),
            "t.csv:2: time -1 is out of range; seconds from the start of the slot, from 0 to 10000000, like 0.25"
        );
        assert_eq!(
            trace("time,size\n2,2\n1,2"),
            "t.csv:3: time 1 is below 2 of the line before it; times in ascending order"
        );
        assert_eq!(
            table("size,probability\n5,0.5\n4,1"),
            "a.csv:3: size 4 is below 5 of the line before it; sizes in ascending order"
        );
        assert_eq!(table("size,probability\n5,1.5"), "a.csv:2: probability 1.5 is outside 0 to 1; a share like 0.53");
        assert_eq!(
            table("size,probability\n5,0.5\n6,0.4\n7,1"),
            "a.csv:3: probability 0.4 is below 0.5 of the line before it; probabilities in ascending order, as they are \
             cumulative"
        );
        assert_eq!(
            table("size,probability\n5,0.5\n6,0.9"),
            "a.csv:3: the last probability is 0.9; a last line with the largest size and the probability 1"
        );
    }
}
