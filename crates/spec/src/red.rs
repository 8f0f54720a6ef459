//! Random early detection at the packet queues of routers and gateways.

use std::fmt;
use std::str::FromStr;

use cellway_settings::{in_files, section, settings};
use cellway_units::{Bytes, Packets, ParseError, Probability, split_quantity};

use crate::{Problem, QueueParameters, UnlikeFifo};

section! {
    /// Random early detection: a queue with `queue = "red"` drops or marks packets before its buffer is full, with a
    /// probability that grows with the average queue.
    #[derive(Copy, Eq)]
    pub struct Red, RedKeys {
        /// The average queue below which no packet is dropped, in packets or bytes.
        pub min: QueueLength = QueueLength::Packets(5),
        /// The average queue at which the probability of a drop is `max-p`. Above `min`, and in the same unit.
        pub max: QueueLength = QueueLength::Packets(15),
        /// The probability of a drop at an average queue of `max`.
        #[range(above = "0 %")]
        pub max_p: Probability = Probability::from_ppm(20_000),
        /// The weight of the current queue in the average.
        #[range(above = "0 %")]
        pub weight: Probability = Probability::from_ppm(2_000),
        /// True: the probability grows from `max-p` at `max` to 1 at twice `max`. False: it is 1 above `max`.
        pub gentle: bool = true,
        /// True: packets of flows with ECN are marked instead of dropped.
        pub ecn: bool = false,
        /// The packet size by which the average falls while the line is idle: as if packets of this size arrived at an empty
        /// queue, back to back.
        #[range(min = "1 B", max = "65535 B")]
        pub mean_packet: Bytes = Bytes(500),
    }
}
settings!(QueueLength);

/// The length of a queue, in packets or in bytes of IP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLength {
    /// Packets.
    Packets(u64),
    /// Bytes of IP packets.
    Bytes(Bytes),
}

impl QueueLength {
    /// Returns the number of packets or bytes.
    pub const fn amount(self) -> u64 {
        match self {
            QueueLength::Packets(packets) => packets,
            QueueLength::Bytes(bytes) => bytes.0,
        }
    }
}

impl FromStr for QueueLength {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<QueueLength, ParseError> {
        match split_quantity(text) {
            Some((_, "packet" | "packets")) => Ok(QueueLength::Packets(text.parse::<Packets>()?.0)),
            _ => Ok(QueueLength::Bytes(text.parse()?)),
        }
    }
}

impl fmt::Display for QueueLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLength::Packets(packets) => write!(f, "{packets} packet"),
            QueueLength::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

in_files! {
    impl cellway_settings::quantity::Text for QueueLength {
        const FORMAT: &'static str = "queue-length";
        const UNITS: &'static [&'static str] = &["packet", "packets", "B", "kB", "KiB", "MB", "MiB", "GB", "GiB"];
        const EXAMPLES: &'static [&'static str] = &["5 packet", "7500 B"];

        fn read(text: &str) -> Result<QueueLength, cellway_settings::quantity::Error> {
            Ok(text.parse()?)
        }
    }
}

impl QueueParameters for Red {
    fn rule(&self) -> Option<Problem> {
        let Red { min, max, .. } = *self;
        let problem = |message: String, accepted: &str| Some(Problem::new(&["max", "min"], message, accepted));
        if matches!(min, QueueLength::Packets(_)) != matches!(max, QueueLength::Packets(_)) {
            let message = format!("max is {max} and min is {min}: they have different units");
            return problem(message, "both in packets or both in bytes");
        }
        if min.amount() >= max.amount() {
            let message = format!("max is {max}, which is not above min, {min}");
            return problem(message, "a max above min, like min = \"5 packet\", max = \"15 packet\"");
        }
        None
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn unlike_fifo(&self) -> Option<UnlikeFifo> {
        Some(UnlikeFifo {
            name: "random early detection",
            effect: "drops packets by chance, before the buffer is full",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_as_other_quantities_are() {
        let read = |text: &str| text.parse::<QueueLength>();
        for text in ["1_000 packet", "1000.0 packets", "1000packet"] {
            assert_eq!(read(text), Ok(QueueLength::Packets(1000)), "{text}");
        }
        assert_eq!(read("7.5 kB"), Ok(QueueLength::Bytes(Bytes(7500))));
        for (text, message) in [
            ("-5 packet", "\"-5 packet\" is negative; it must be 0 or more, like \"5 packet\""),
            ("0.5 packet", "\"0.5 packet\" is not a whole number of packets"),
            (
                "20000000000000000000 packet",
                "\"20000000000000000000 packet\" is too large; the largest is 18446744073709551615 packets",
            ),
        ] {
            assert_eq!(read(text).map_err(|error| error.to_string()), Err(message.to_owned()));
        }
    }

    #[test]
    fn a_mean_packet_is_no_larger_than_ip_packets() {
        let defaults = RedKeys::NONE.resolve().expect("every key has a default");
        let problem = |octets| crate::Queue::Red(Red { mean_packet: Bytes(octets), ..defaults }).problem();
        assert_eq!(problem(65_535), None);
        for octets in [65_536, 3_000_000_000 << 30] {
            let found = problem(octets).expect("a packet of more than 65,535 B");
            assert_eq!(found.keys, ["mean-packet"]);
            assert_eq!(found.accepted, "from 1 B to 65535 B");
        }
    }
}
