//! Recordings as tables with a header: time, and one or more of rate, delay, loss.

use std::str::FromStr;

use cellway_units::{Columns, ColumnsError, Probability, Rate, Span, Time};

use super::{LinkTrace, Recorded, TraceError, push};

const HEADER: &str = "a header with the columns time, and one or more of rate, delay, loss, like time,rate,delay";
const ROWS: &str = "a value for each column, with a unit as in scenario files (0.5 s, 20 Mbit/s, 30 ms, 1 %), or a number of \
                    s, bit/s, s, and a share from 0 to below 1";

/// The least time between two rows.
const LEAST_STEP: Span = Span::from_us(1);

/// Reads a table. A row holds until the next; the last one as long as the one before it.
pub(super) fn read(text: &str) -> Result<LinkTrace, TraceError> {
    let of_header = |ColumnsError { line, message }| TraceError { line, message, accepted: HEADER.to_owned() };
    let of_row = |ColumnsError { line, message }| TraceError { line, message, accepted: ROWS.to_owned() };
    let columns = Columns::read(text, &["time", "rate", "delay", "loss"]).map_err(of_header)?;
    let time = columns.place("time").map_err(of_header)?;
    let [of_rate, of_delay, of_loss] = ["rate", "delay", "loss"].map(|name| columns.place(name).ok());
    if columns.names().len() == 1 {
        return Err(TraceError::whole("the table has only the column time", HEADER));
    }
    let (mut rates, mut delays, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    let mut times: Vec<Time> = Vec::new();
    for row in columns.rows() {
        let (line, values) = row.map_err(of_row)?;
        let shown = values[time];
        let at = Time::ZERO + seconds(line, "time", shown)?;
        let refused =
            |message, accepted: &str| Err(TraceError { line: Some(line), message, accepted: accepted.to_owned() });
        match times.last() {
            None if at != Time::ZERO => return refused(format!("the first time is {shown}"), "0 as the first time"),
            Some(last) if *last >= at => {
                let message = format!("time {shown} does not follow the time of the row before it");
                return refused(message, "ascending times");
            }
            Some(last) if at.since(*last) < LEAST_STEP => {
                let message = format!("time {shown} is less than {LEAST_STEP} after that of the row before it");
                return refused(message, "steps of 1 us or more");
            }
            _ => times.push(at),
        }
        if let Some(place) = of_rate {
            push(&mut rates, at, rate(line, values[place])?);
        }
        if let Some(place) = of_delay {
            push(&mut delays, at, seconds(line, "delay", values[place])?);
        }
        if let Some(place) = of_loss {
            push(&mut losses, at, share(line, values[place])?);
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
    Ok(LinkTrace {
        rate: recorded(rates, length),
        delay: recorded(delays, length),
        loss: recorded(losses, length),
        ..LinkTrace::default()
    })
}

fn recorded<T>(changes: Vec<(Time, T)>, length: Span) -> Option<Recorded<T>> {
    (!changes.is_empty()).then_some(Recorded { changes, length })
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
            ("time\n0\n", "the table has only the column time"),
            ("rate,delay\n1,2\n", "line 1: the column \"time\" is missing"),
            ("time,speed\n0,1\n", "line 1: the column \"speed\" is unknown"),
            ("time,rate,rate\n", "line 1: the column \"rate\" is given twice"),
            ("time,rate\n", "the table has no rows"),
            ("time,rate\n0,1\n", "the table has one row"),
            ("time,rate\n1,1\n2,2\n", "line 2: the first time is 1"),
            ("time,rate\n0,1\n0,2\n", "line 3: time 0 does not follow"),
            ("time,rate\n0,1\n1 ns,2\n", "line 3: time 1 ns is less than 1 us after"),
            ("time,rate\n0,1\n1\n", "line 3: \"1\" has 1 values for 2 columns"),
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
