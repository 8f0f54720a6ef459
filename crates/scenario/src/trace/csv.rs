//! Recordings as tables with a header: time, and one or more of rate, delay, loss.

use std::str::FromStr;

use cellway_units::{Probability, Rate, Span, Time};

use super::{LinkTrace, Recorded, TraceError, push};

const HEADER: &str = "a header with the columns time, and one or more of rate, delay, loss, like time,rate,delay";
const ROWS: &str = "a value for each column, with a unit as in scenario files (0.5 s, 20 Mbit/s, 30 ms, 1 %), or a number of \
                    s, bit/s, s, and a share from 0 to below 1";

/// The least time between two rows.
const LEAST_STEP: Span = Span::from_us(1);

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Time,
    Rate,
    Delay,
    Loss,
}

impl Column {
    const ALL: [(Column, &'static str); 4] =
        [(Column::Time, "time"), (Column::Rate, "rate"), (Column::Delay, "delay"), (Column::Loss, "loss")];
}

/// Reads a table. A row holds until the next; the last one as long as the one before it.
pub(super) fn read(text: &str) -> Result<LinkTrace, TraceError> {
    let mut rows = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())).filter(|(_, row)| !row.is_empty());
    let Some((first, header)) = rows.next() else { return Err(TraceError::whole("the file is empty", HEADER)) };
    let columns = columns(first, header)?;
    let (mut rates, mut delays, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    let mut times: Vec<Time> = Vec::new();
    for (number, row) in rows {
        let cells: Vec<&str> = row.split(',').map(str::trim).collect();
        if cells.len() != columns.len() {
            let message = format!("{} values for {} columns", cells.len(), columns.len());
            return Err(TraceError::at(number, message, ROWS));
        }
        let place = columns.iter().position(|column| *column == Column::Time).unwrap_or_default();
        let at = Time::ZERO + seconds(number, "time", cells[place])?;
        match times.last() {
            None if at != Time::ZERO => {
                return Err(TraceError::at(
                    number,
                    format!("the first time is {}", cells[place]),
                    "0 as the first time",
                ));
            }
            Some(last) if *last < at && at.since(*last) < LEAST_STEP => {
                let message = format!("time {} is less than 1 us after that of the row before it", cells[place]);
                return Err(TraceError::at(number, message, "steps of 1 us or more"));
            }
            Some(last) if *last >= at => {
                let message = format!("time {} does not follow the time of the row before it", cells[place]);
                return Err(TraceError::at(number, message, "ascending times"));
            }
            _ => times.push(at),
        }
        for (column, cell) in columns.iter().zip(cells) {
            match column {
                Column::Time => {}
                Column::Rate => push(&mut rates, at, rate(number, cell)?),
                Column::Delay => push(&mut delays, at, seconds(number, "delay", cell)?),
                Column::Loss => push(&mut losses, at, share(number, cell)?),
            }
        }
    }
    let [.., before, last] = times[..] else {
        let rows = if times.is_empty() { "no rows" } else { "one row" };
        return Err(TraceError::whole(format!("the table has {rows}"), "two rows or more"));
    };
    let length = (last + last.since(before)).since(Time::ZERO);
    if !rates.is_empty() && rates.iter().all(|(_, rate)| *rate == Rate::from_bps(0)) {
        return Err(TraceError::whole("all rates are 0", "a rate above 0 in a row"));
    }
    Ok(LinkTrace { rate: recorded(rates, length), delay: recorded(delays, length), loss: recorded(losses, length) })
}

fn recorded<T>(changes: Vec<(Time, T)>, length: Span) -> Option<Recorded<T>> {
    (!changes.is_empty()).then_some(Recorded { changes, length })
}

fn columns(number: usize, header: &str) -> Result<Vec<Column>, TraceError> {
    let mut columns = Vec::new();
    for name in header.split(',').map(str::trim) {
        let wrong = |message| TraceError::at(number, message, HEADER);
        let Some((column, _)) = Column::ALL.into_iter().find(|(_, known)| *known == name) else {
            return Err(wrong(format!("{name:?} is not a column")));
        };
        if columns.contains(&column) {
            return Err(wrong(format!("column {name:?} is there twice")));
        }
        columns.push(column);
    }
    match columns.contains(&Column::Time) {
        true if columns.len() > 1 => Ok(columns),
        true => Err(TraceError::at(number, "the table has only the column time", HEADER)),
        false => Err(TraceError::at(number, "there is no column time", HEADER)),
    }
}

/// Reads a number or a quantity; `of_number` makes the value of a number, `None` if it is out of range.
fn value<T: FromStr<Err: std::fmt::Display>>(
    line: usize,
    name: &str,
    text: &str,
    of_number: impl Fn(f64) -> Option<T>,
) -> Result<T, TraceError> {
    let read = match text.parse::<f64>() {
        Ok(number) if number < 0.0 => Err("is negative".to_owned()),
        Ok(number) => of_number(number).ok_or_else(|| "is out of range".to_owned()),
        Err(_) => text.parse().map_err(|error: T::Err| format!("is not accepted: {error}")),
    };
    read.map_err(|fault| TraceError::at(line, format!("{name} {text:?} {fault}"), ROWS))
}

fn seconds(line: usize, name: &str, text: &str) -> Result<Span, TraceError> {
    value(line, name, text, |s| (s <= 1e7).then(|| Span::from_secs_f64(s)))
}

fn rate(line: usize, text: &str) -> Result<Rate, TraceError> {
    value(line, "rate", text, |bps| (bps <= 1e18).then(|| Rate::from_bps(bps as u64)))
}

fn share(line: usize, text: &str) -> Result<Probability, TraceError> {
    value(line, "loss", text, |share| format!("{:.13} %", share * 100.0).parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_with_and_without_units() {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let read = read("time, loss, rate, delay\n0, 0, 1000000, 0.03\n0.5, 1 %, 20 Mbit/s, 30 ms\n2 s,0.02,0,20 ms\n")
            .unwrap();
        let length = Span::from_ms(3500);
        let rates = [(0, 1_000_000), (500, 20_000_000), (2000, 0)].map(|(t, bps)| (at(t), Rate::from_bps(bps)));
        assert_eq!(read.rate, Some(Recorded { changes: rates.to_vec(), length }));
        let delays = vec![(at(0), Span::from_ms(30)), (at(2000), Span::from_ms(20))];
        assert_eq!(read.delay, Some(Recorded { changes: delays, length }));
        let losses = [(0, "0 %"), (500, "1 %"), (2000, "2 %")].map(|(t, loss)| (at(t), loss.parse().unwrap()));
        assert_eq!(read.loss, Some(Recorded { changes: losses.to_vec(), length }));
        let share = super::read("time,loss\n0,0.07\n1,0.001\n").unwrap().loss.unwrap();
        assert_eq!(share.changes, [(at(0), "7 %".parse().unwrap()), (at(1000), "0.1 %".parse().unwrap())]);
        assert_eq!(super::read("time,rate\n0,5\n1,5\n").unwrap().delay, None);
    }

    #[test]
    fn faults_have_their_line() {
        for (text, message) in [
            ("", "the file is empty; accepted: a header"),
            ("time\n0\n", "line 1: the table has only the column time"),
            ("rate,delay\n1,2\n", "line 1: there is no column time"),
            ("time,speed\n0,1\n", "line 1: \"speed\" is not a column"),
            ("time,rate,rate\n", "line 1: column \"rate\" is there twice"),
            ("time,rate\n", "the table has no rows"),
            ("time,rate\n0,1\n", "the table has one row"),
            ("time,rate\n1,1\n2,2\n", "line 2: the first time is 1"),
            ("time,rate\n0,1\n0,2\n", "line 3: time 0 does not follow"),
            ("time,rate\n0,1\n1 ns,2\n", "line 3: time 1 ns is less than 1 us after"),
            ("time,rate\n0,1\n1\n", "line 3: 1 values for 2 columns"),
            ("time,rate\n0,-1\n1,1\n", "line 2: rate \"-1\" is negative"),
            ("time,rate\n0,fast\n1,1\n", "line 2: rate \"fast\" is not accepted"),
            ("time,loss\n0,1\n1,0\n", "line 2: loss \"1\" is out of range"),
            ("time,rate\n0,0\n1,0\n", "all rates are 0"),
            ("time,delay\n0,NaN\n1,0\n", "line 2: delay \"NaN\" is out of range"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
