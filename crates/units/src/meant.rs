//! Suggestions for a refused quantity: the same amount in an accepted spelling, and never another amount.

use crate::parse::{exponent, split_quantity};

/// Accepted units with other common spellings of each. `KB`, `kb` and `MB/s` are missing because they are ambiguous: a
/// kilo may be 1000 or 1024, and a b a bit or a byte.
const SPELLINGS: &[(&str, &[&str])] = &[
    ("bit/s", &["bps", "b/s", "bits/s", "bit/sec", "bits/sec"]),
    ("kbit/s", &["kbps", "Kbps", "kb/s", "Kb/s", "Kbit/s", "kbits/s", "kbit/sec", "kbit", "Kbit"]),
    ("Mbit/s", &["Mbps", "mbps", "Mb/s", "mbit/s", "MBit/s", "Mbits/s", "Mbit/sec", "Mbit", "mbit"]),
    ("Gbit/s", &["Gbps", "gbps", "Gb/s", "gbit/s", "GBit/s", "Gbits/s", "Gbit/sec", "Gbit", "gbit"]),
    ("cell/s", &["cells/s", "cell/sec", "cells/sec", "cps"]),
    ("ps", &["psec", "picosecond", "picoseconds"]),
    ("ns", &["nsec", "nanosecond", "nanoseconds"]),
    ("us", &["usec", "usecs", "\u{3bc}s", "microsecond", "microseconds"]),
    ("ms", &["msec", "msecs", "millisecond", "milliseconds"]),
    ("s", &["sec", "secs", "second", "seconds"]),
    ("min", &["mins", "minute", "minutes"]),
    ("h", &["hr", "hrs", "hour", "hours"]),
    ("rtt", &["RTT", "rtts", "RTTs"]),
    ("B", &["byte", "bytes", "Byte", "Bytes", "octet", "octets"]),
    ("kB", &["kbyte", "kbytes", "kilobyte", "kilobytes"]),
    ("MB", &["Mbyte", "Mbytes", "MByte", "megabyte", "megabytes"]),
    ("GB", &["Gbyte", "Gbytes", "GByte", "gigabyte", "gigabytes"]),
    ("KiB", &["kiB", "KIB", "kibibyte", "kibibytes"]),
    ("MiB", &["miB", "MIB", "mebibyte", "mebibytes"]),
    ("GiB", &["giB", "GIB", "gibibyte", "gibibytes"]),
    ("cell", &["Cell", "Cells", "CELL"]),
    ("bdp", &["BDP", "bdps", "BDPs"]),
    ("%", &["percent", "per cent", "pct"]),
];

/// The largest exponent, positive or negative, that is expanded.
const MAX_EXPONENT: i32 = 30;

/// Returns `text` spelled with one of `units` and without an exponent; `None` if the amount is uncertain.
pub fn meant(text: &str, units: &[&str]) -> Option<String> {
    let (number, unit) = split_quantity(text)?;
    let (number, unit) = match exponent(unit) {
        Some((exponent, unit)) => (moved(number, exponent)?, unit),
        None => (number.to_owned(), unit),
    };
    let is = |(accepted, others): &&(&str, &[&str])| *accepted == unit || others.contains(&unit);
    let accepted = if units.contains(&unit) { unit } else { SPELLINGS.iter().find(is)?.0 };
    units.contains(&accepted).then(|| format!("{number} {accepted}"))
}

/// Returns `number` times a power of ten, in decimals.
fn moved(number: &str, exponent: &str) -> Option<String> {
    let exponent: i32 = exponent.parse().ok().filter(|e: &i32| e.abs() <= MAX_EXPONENT)?;
    let digits = number.replace('_', "");
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.trim_start_matches('+')), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if fraction.contains('.') {
        return None;
    }
    let all = format!("{whole}{fraction}");
    let point = whole.len() as i32 + exponent;
    let (whole, fraction) = match usize::try_from(point) {
        Ok(point) if point <= all.len() => (all[..point].to_owned(), all[point..].to_owned()),
        Ok(point) => (format!("{all:0<point$}"), String::new()),
        Err(_) => (String::new(), format!("{}{all}", "0".repeat(point.unsigned_abs() as usize))),
    };
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Rate, Span};

    const RATES: &[&str] = &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
    const TIMES: &[&str] = &["ps", "ns", "us", "ms", "s", "min", "h"];
    const SIZES: &[&str] = &["B", "kB", "KiB", "MB", "MiB", "GB", "GiB"];

    #[test]
    fn only_the_same_amount_is_suggested() {
        for (text, units, expected) in [
            ("1.5 Mbps", RATES, Some("1.5 Mbit/s")),
            ("30mbit", RATES, Some("30 Mbit/s")),
            ("1e3 Mbit/s", RATES, Some("1000 Mbit/s")),
            ("2.5e-1 Mbps", RATES, Some("0.25 Mbit/s")),
            ("1E+2 s", TIMES, Some("100 s")),
            ("1_0.50e1 ms", TIMES, Some("105 ms")),
            ("5e-3 s", TIMES, Some("0.005 s")),
            ("3 msec", TIMES, Some("3 ms")),
            ("3 octets", SIZES, Some("3 B")),
            // A time is not a size, and an ambiguous unit has no suggestion.
            ("3 ms", SIZES, None),
            ("3 m", TIMES, None),
            ("3 KB", SIZES, None),
            ("3 Mb", SIZES, None),
            ("3 MB/s", RATES, None),
            ("30 Mbps", SIZES, None),
            ("1e99 s", TIMES, None),
            ("1e3", TIMES, None),
        ] {
            assert_eq!(meant(text, units).as_deref(), expected, "{text}");
        }
    }

    /// A suggestion is accepted, and has the amount that the exponent gives.
    #[test]
    fn suggestions_parse() {
        assert_eq!(meant("1e3 Mbit/s", RATES).unwrap().parse(), Ok(Rate::from_bps(1_000_000_000)));
        assert_eq!(meant("12.5e-4 s", TIMES).unwrap().parse(), Ok(Span::from_us(1250)));
        assert_eq!(meant("0.001e6 KiB", SIZES).unwrap().parse(), Ok(Bytes(1000 << 10)));
    }
}
