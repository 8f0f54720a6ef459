//! The light load of CellReplay: trains of packets over an idle link.

use std::iter;

use cellway_spec::{Train, Trains};
use cellway_units::{Span, Time};

use super::TraceError;
use super::mahimahi::{Most, lines, milliseconds};

const ACCEPTED: &str = "in each line numbers of ms: the time, from 0 and ascending, up to 100 days, the base delay, up to \
                        60 s, and the times at which the packets of a train arrive after the first, from 0 and \
                        ascending, up to 60 s, like 1500 22 0 0 1 3";

/// Reads a train from each line. The last line ends the recording.
pub(super) fn read(text: &str) -> Result<Trains, TraceError> {
    let mut trains: Vec<Train> = Vec::new();
    for (number, line) in lines(text) {
        let wrong = |message: String| TraceError::at(number, message, ACCEPTED);
        let limits = iter::once(Most::RECORDING).chain(iter::repeat(Most::BASE_DELAY));
        let numbers = line.split_whitespace().zip(limits).map(|(text, most)| milliseconds(text, most));
        let spans: Vec<Span> = numbers.collect::<Result<_, _>>().map_err(wrong)?;
        let [time, delay, opportunities @ ..] = &spans[..] else {
            return Err(wrong("the line has only a time".to_owned()));
        };
        let Some(first) = opportunities.first() else {
            return Err(wrong("the train has no packets".to_owned()));
        };
        if !first.is_zero() {
            return Err(wrong(format!("the first packet of the train arrives {first} after itself")));
        }
        if let Some(pair) = opportunities.windows(2).find(|pair| pair[1] < pair[0]) {
            return Err(wrong(format!("{} follows {} in the train", pair[1], pair[0])));
        }
        let at = Time::ZERO + *time;
        match trains.last() {
            None if !time.is_zero() => return Err(wrong(format!("the first time is {time}"))),
            Some(last) if last.at >= at => {
                return Err(wrong(format!("time {time} does not follow that of the line before it")));
            }
            _ => trains.push(Train { at, delay: *delay, opportunities: opportunities.to_vec() }),
        }
    }
    if trains.len() < 2 {
        let found = if trains.is_empty() { "the file is empty" } else { "the file has one line" };
        return Err(TraceError::whole(found, format!("two lines or more; {ACCEPTED}")));
    }
    Ok(Trains::new(trains))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_train() {
        let read = read("0 20 0 0 1\n\n  500.5\t30 0  2.5\r\n").unwrap();
        let train = |at, delay, times: &[u64]| Train {
            at: Time::ZERO + Span::from_us(at),
            delay: Span::from_us(delay),
            opportunities: times.iter().copied().map(Span::from_us).collect(),
        };
        assert_eq!(read.all(), [train(0, 20_000, &[0, 0, 1000]), train(500_500, 30_000, &[0, 2500])]);
    }

    /// A train after two hours, and one at the end of 100 days; the longest base delay.
    #[test]
    fn a_recording_lasts_up_to_100_days() {
        let read = read("0 60000 0 60000\n7200000 20 0\n8640000000 20 0\n").unwrap();
        assert_eq!((read.length(), read.all()[0].delay), (Span::from_secs(8_640_000), Span::from_secs(60)));
    }

    #[test]
    fn faults_have_their_line() {
        for (text, message) in [
            ("", "the file is empty; accepted: two lines or more; in each line"),
            ("0 20 0\n", "the file has one line"),
            ("0 20 0\n100\n", "line 2: the line has only a time; accepted: in each line numbers of ms"),
            ("0 20 0\n100 20\n", "line 2: the train has no packets"),
            ("0 20 0\n100 20 1 2\n", "line 2: the first packet of the train arrives 1 ms after itself"),
            ("0 20 0 3 2\n", "line 1: 2 ms follows 3 ms in the train"),
            ("5 20 0\n", "line 1: the first time is 5 ms"),
            ("0 20 0\n\n0 20 0\n", "line 3: time 0 s does not follow that of the line before it"),
            ("0 20 0\n1 -2 0\n", "line 2: -2 is negative"),
            ("0 20 0,1\n", "line 1: \"0,1\" is not a number"),
            ("0 inf 0\n", "line 1: inf ms is more than 60 s"),
            ("0 20 0\n7 60000.1 0\n", "line 2: 60000.1 ms is more than 60 s"),
            ("0 20 0 60001\n", "line 1: 60001 ms is more than 60 s"),
            ("0 20 0\n8640000001 20 0\n", "line 2: 8640000001 ms is more than 100 days"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
