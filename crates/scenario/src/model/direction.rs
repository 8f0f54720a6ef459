//! The two directions of a link.

use cellway_settings::kinds::FilePath;
use cellway_settings::{choice, section};
use cellway_spec::{Jitter, Outage};
use cellway_units::{Probability, Rate, Span};

use crate::trace::TraceFormat;

choice! {
    /// The behaviour of a recorded link after the end of its file.
    pub enum TraceEnd {
        /// It begins again.
        Repeat = "repeat",
        /// A recorded rate becomes 0; delay and loss stay as they are.
        Stop = "stop",
    }
}

section! {
    /// Files with a recorded link, in place of the rate, delay and loss that the file of the scenario gives. Those remain the
    /// ones for predictions and for buffers in bdp.
    #[derive(Eq)]
    pub struct TraceFiles, TraceKeys {
        /// The rate, in the format of mahimahi: the times, in ms, at which a packet of 1500 B can leave.
        pub rate: Option<FilePath>,
        /// The delay, in the format of LeoReplayer: the delay, in ms, of each interval of 10 ms.
        pub delay: Option<FilePath>,
        /// All of them, as a table with the columns time, and one or more of rate, delay, loss.
        pub csv: Option<FilePath>,
        /// The light load of CellReplay, beside `heavy`: in each line the time, the base delay, and the times at which the
        /// packets of a train arrive after the first, in ms.
        pub light: Option<FilePath>,
        /// The heavy load of CellReplay, beside `light`: the times, in ms, at which a packet of 1400 B can leave.
        pub heavy: Option<FilePath>,
        /// The distribution of the random part of the delay, in place of `jitter.distribution`: equally likely values, as a table
        /// with the column x, in deviations, or as a table of netem.
        pub jitter: Option<FilePath>,
        /// The time after the end of a file. With stop, no packet passes the queue after the end of `light`.
        pub end: TraceEnd = TraceEnd::Repeat,
    }
}

section! {
    /// The keys of a direction of a link. A key in `forward` or `back` is for that direction, one in `both` for both.
    pub struct Direction, DirectionKeys {
        /// The rate, on links of packets. Default: that of the link.
        #[range(above = "0 bit/s")]
        pub rate: Option<Rate>,
        /// The propagation delay. Default: that of the link.
        pub delay: Option<Span>,
        /// The share of packets (on an ATM link, of cells) that are lost. Default: that of the link.
        pub loss: Option<Probability>,
        /// The mean number of packets or cells that are lost in a row (Gilbert 1960). Default: each is lost independently.
        #[range(min = 1, max = 1000000)]
        pub burst: Option<f64>,
        /// The share of packets that arrive twice, the copy directly behind the original, on links of packets.
        pub duplicate: Probability = Probability::ZERO,
        /// The share of packets whose payload is damaged, on links of packets: they take their time on all links, and the
        /// host that receives them drops them for their checksum.
        pub corrupt: Probability = Probability::ZERO,
        /// The random part of the delay, on links of packets.
        pub jitter: Jitter,
        /// True: a packet whose delay is less overtakes others. Else it arrives with the one before it.
        pub reorder: bool = false,
        /// Times without a connection.
        pub outage: Outage,
        /// A recorded link of packets.
        pub trace: TraceFiles,
    }
}

impl TraceFiles {
    /// Returns the files with their keys and formats. A quantity that several record is that of the first.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &FilePath, TraceFormat)> {
        let of_key = [
            ("rate", &self.rate, TraceFormat::Opportunities),
            ("delay", &self.delay, TraceFormat::Delays),
            ("csv", &self.csv, TraceFormat::Csv),
            ("light", &self.light, TraceFormat::Light),
            ("heavy", &self.heavy, TraceFormat::Heavy),
            ("jitter", &self.jitter, TraceFormat::Distribution),
        ];
        of_key.into_iter().filter_map(|(key, path, format)| Some((key, path.as_ref()?, format)))
    }
}

impl Direction {
    /// The tables of a link with the keys of one direction: 0 and 1.
    pub const TABLES: [&str; 2] = ["forward", "back"];

    /// Returns true if it follows a recording.
    pub fn is_recorded(&self) -> bool {
        self.trace.files().next().is_some()
    }

    /// Returns true if a file has its rate; that of `trace.csv` may have it, too.
    pub fn has_recorded_rate(&self) -> bool {
        self.trace.rate.is_some() || self.trace.heavy.is_some()
    }

    /// Returns true if its rate or delay vary.
    pub fn varies(&self) -> bool {
        self.is_recorded() || !self.outage.length.is_zero() || !self.jitter.deviation.is_zero()
    }
}
