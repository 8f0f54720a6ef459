//! The formats of mahimahi (capacity) and of LeoReplayer (delay): a number in each line.

use cellway_units::{Bytes, Rate, Span, Time};

use super::{Recorded, TraceError, push};

/// The time for which a line of a file of delays holds.
const DELAY_INTERVAL: Span = Span::from_ms(10);
/// The most packets in a millisecond: 12 Tbit/s for those of 1500 B.
const MAX_PACKETS: u64 = 1_000_000;
const DELAYS: &str = "a delay in ms in each line, like 32.5, which holds for 10 ms";

/// The largest number of ms of a kind.
#[derive(Clone, Copy)]
pub(super) struct Most {
    ms: u64,
    /// The same in words, for messages.
    name: &'static str,
}

impl Most {
    /// The longest recording.
    pub(super) const RECORDING: Most = Most { ms: 100 * 24 * 3_600_000, name: "100 days" };
    /// The longest delay behind a line.
    pub(super) const DELAY: Most = Most { ms: 3_600_000, name: "an hour" };
    /// The longest delay before a queue.
    pub(super) const BASE_DELAY: Most = Most { ms: 60_000, name: "60 s" };
}

/// Returns the lines that are not empty, with their numbers from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())).filter(|(_, line)| !line.is_empty())
}

/// Shortens a text for a message.
fn shown(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Reads the times at which a packet of this size can leave. That of time t leaves in the millisecond before t, at a rate of
/// one packet in it; that of time 0 in the last millisecond of the file.
pub(super) fn rates(text: &str, packet: Bytes) -> Result<Recorded<Rate>, TraceError> {
    let times =
        format!("a whole number of ms in each line, ascending, like 1500; a packet of {packet} can leave at each");
    // In bit/s.
    let one_packet = packet.0 * 8 * 1000;
    // Milliseconds, by their ends, and the packets that can leave in each.
    let mut counts: Vec<(u64, u64)> = Vec::new();
    for (number, line) in lines(text) {
        let wrong = |message| TraceError::at(number, message, &*times);
        let ms: u64 = line.parse().map_err(|_| match line.strip_prefix('-') {
            Some(rest) if rest.parse::<f64>().is_ok() => wrong(format!("{line} is negative")),
            _ => wrong(format!("{} is not a whole number", shown(line))),
        })?;
        if ms > Most::RECORDING.ms {
            return Err(wrong(format!("{ms} ms is more than {}", Most::RECORDING.name)));
        }
        match counts.last_mut() {
            Some((last, _)) if *last > ms => return Err(wrong(format!("{ms} follows {last}"))),
            Some((last, count)) if *last == ms && *count == MAX_PACKETS => {
                return Err(wrong(format!("more than a million packets at {ms} ms")));
            }
            Some((last, count)) if *last == ms => *count += 1,
            _ => counts.push((ms, 1)),
        }
    }
    let Some(&(length, _)) = counts.last() else { return Err(TraceError::whole("the file is empty", times)) };
    if length == 0 {
        return Err(TraceError::whole("the last time is 0 ms, so the recording has no length", times));
    }
    if counts[0].0 == 0 {
        let (_, at_start) = counts.remove(0);
        if let Some((_, count)) = counts.last_mut() {
            *count += at_start;
        }
    }
    let at = |ms| Time::ZERO + Span::from_ms(ms);
    let mut changes = Vec::new();
    let mut end_of_last = 0;
    for (end, count) in counts {
        if end - 1 > end_of_last {
            push(&mut changes, at(end_of_last), Rate::from_bps(0));
        }
        push(&mut changes, at(end - 1), Rate::from_bps(count * one_packet));
        end_of_last = end;
    }
    Ok(Recorded { changes, length: Span::from_ms(length) })
}

/// Reads a number of ms, up to `most`.
pub(super) fn milliseconds(text: &str, most: Most) -> Result<Span, String> {
    let ms: f64 = text.parse().map_err(|_| format!("{} is not a number", shown(text)))?;
    if ms.is_nan() || ms < 0.0 {
        return Err(format!("{text} is {}", if ms.is_nan() { "not a number" } else { "negative" }));
    }
    if ms > most.ms as f64 {
        return Err(format!("{text} ms is more than {}", most.name));
    }
    Ok(Span::from_secs_f64(ms / 1000.0))
}

/// Reads the delay of each interval of 10 ms.
pub(super) fn delays(text: &str) -> Result<Recorded<Span>, TraceError> {
    let mut changes = Vec::new();
    let mut end = Time::ZERO;
    for (number, line) in lines(text) {
        let delay = milliseconds(line, Most::DELAY).map_err(|message| TraceError::at(number, message, DELAYS))?;
        push(&mut changes, end, delay);
        end += DELAY_INTERVAL;
    }
    if changes.is_empty() {
        return Err(TraceError::whole("the file is empty", DELAYS));
    }
    Ok(Recorded { changes, length: end.since(Time::ZERO) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_packet_leaves_in_the_millisecond_before_its_time() {
        let read = |text| rates(text, Bytes(1500)).unwrap();
        let mbit = |n: u64| Rate::from_bps(n * 1_000_000);
        let expected =
            vec![(ms(0), mbit(0)), (ms(1), mbit(24)), (ms(2), mbit(12)), (ms(3), mbit(0)), (ms(4), mbit(12))];
        assert_eq!(read("2\n2\n3\n5\n"), Recorded { changes: expected, length: Span::from_ms(5) });
        assert_eq!(read("2\n2\n3\n5\n").mean(), Rate::from_bps(4 * 12_000_000 / 5));
        // That of 0 ms is sent in the last millisecond, and a busy file has few changes.
        assert_eq!(read("0\n1\n2\r\n").changes, [(ms(0), mbit(12)), (ms(1), mbit(24))]);
        assert_eq!(read("1\n2\n3\n").changes, [(ms(0), mbit(12))]);
        assert_eq!(rates("1\n2\n", Bytes(1400)).unwrap().changes, [(ms(0), Rate::from_bps(11_200_000))]);
    }

    #[test]
    fn delays_hold_for_ten_milliseconds() {
        let read = delays("30\n30.5\n30.5\n\n12\n").unwrap();
        let (first, second, third) = (Span::from_ms(30), Span::from_us(30_500), Span::from_ms(12));
        assert_eq!(read.changes, [(ms(0), first), (ms(10), second), (ms(30), third)]);
        assert_eq!(read.length, Span::from_ms(40));
    }

    #[test]
    fn faults_have_their_line() {
        for (text, message) in [
            ("", "the file is empty; accepted: a whole"),
            ("0\n0\n", "the last time is 0 ms"),
            ("1\n3\n2\n", "line 3: 2 follows 3"),
            ("1\n\n-2\n", "line 3: -2 is negative"),
            ("1.5\n", "line 1: \"1.5\" is not a whole number"),
            ("time,rate\n", "line 1: \"time,rate\" is not a whole number"),
            ("99999999999\n", "line 1: 99999999999 ms is more than 100 days"),
        ] {
            let error = rates(text, Bytes(1500)).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        for (text, message) in [
            ("\n", "the file is empty; accepted: a delay"),
            ("20\n-1\n", "line 2: -1 is negative"),
            ("20\nNaN\n", "line 2: NaN is not a number"),
            ("20\ninf\n", "line 2: inf ms is more than an hour"),
            ("20 ms\n", "line 1: \"20 ms\" is not a number"),
        ] {
            let error = delays(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
