//! One test: its size, its options, and its duration.

use cellway_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::tcp::TcpOptions;

/// The default port of a server.
pub const DEFAULT_PORT: u16 = 5101;
/// Most streams of one test.
const STREAMS_MAX: u32 = 128;
/// The largest single write.
const WRITE_MAX: Bytes = Bytes(16 << 20);
/// Most samples of all streams of a test together, which bounds memory and reports.
pub(crate) const SAMPLES_MAX: u64 = 50_000;
/// The shortest interval between two samples.
const INTERVAL_MIN: Span = Span::from_ms(10);

/// The end of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The sender stops after this time.
    Time(#[serde(with = "crate::text")] Span),
    /// The sender stops after this number of bytes, all streams together.
    Bytes(#[serde(with = "crate::text")] Bytes),
}

/// One test, as both sides agree on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Its end.
    pub limit: Limit,
    /// The number of parallel connections.
    pub streams: u32,
    /// Bytes of one write.
    #[serde(with = "crate::text")]
    pub write: Bytes,
    /// Receive window of the receiver; see [`TcpOptions::window`].
    #[serde(with = "crate::text::option")]
    pub window: Option<Bytes>,
    /// Send buffer of the sender.
    #[serde(with = "crate::text::option")]
    pub send_buffer: Option<Bytes>,
    /// Largest segment.
    #[serde(with = "crate::text::option")]
    pub mss: Option<Bytes>,
    /// Congestion control of the sender.
    pub congestion: Option<String>,
    /// Bound on the rate of each stream.
    #[serde(with = "crate::text::option")]
    pub pace: Option<Rate>,
    /// Set if the server sends.
    pub reverse: bool,
    /// Time between two samples of the series.
    #[serde(with = "crate::text")]
    pub interval: Span,
}

impl Default for Test {
    /// Returns 10 s of one stream in writes of 128 KiB.
    fn default() -> Test {
        Test {
            limit: Limit::Time(Span::from_secs(10)),
            streams: 1,
            write: Bytes(128 << 10),
            window: None,
            send_buffer: None,
            mss: None,
            congestion: None,
            pace: None,
            reverse: false,
            interval: Span::from_secs(1),
        }
    }
}

impl Test {
    /// Checks the numbers; the kernel checks the options when they are set.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |what, given: String, accepted: String| Err(Error::Range { what, given, accepted });
        if !(1..=STREAMS_MAX).contains(&self.streams) {
            return wrong("the number of streams", self.streams.to_string(), format!("1 to {STREAMS_MAX}"));
        }
        if !(Bytes(1)..=WRITE_MAX).contains(&self.write) {
            return wrong("the size of a write", self.write.to_string(), format!("1 B to {WRITE_MAX}"));
        }
        if self.interval < INTERVAL_MIN {
            return wrong("the interval", self.interval.to_string(), format!("{INTERVAL_MIN} or more"));
        }
        match self.limit {
            Limit::Bytes(bytes) if bytes.0 < u64::from(self.streams) => {
                wrong("the amount of data", bytes.to_string(), "1 B or more for each stream".to_owned())
            }
            Limit::Time(time) if time.is_zero() => wrong("the time", time.to_string(), "more than 0 s".to_owned()),
            Limit::Time(time)
                if (time.as_ps() / self.interval.as_ps()).saturating_mul(u64::from(self.streams)) > SAMPLES_MAX =>
            {
                let given = format!("{} for {time} and {} streams", self.interval, self.streams);
                wrong("the interval", given, format!("{SAMPLES_MAX} samples in all or fewer"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the options of the side that receives, or of the one that sends.
    pub(crate) fn options(&self, receives: bool) -> TcpOptions {
        let sends = !receives;
        TcpOptions {
            window: self.window.filter(|_| receives),
            mss: self.mss,
            send_buffer: self.send_buffer.filter(|_| sends),
            congestion: self.congestion.clone().filter(|_| sends),
            // Without it the last segment of a window that is no multiple of the MSS would wait.
            no_delay: sends,
            pace: self.pace.filter(|_| sends),
        }
    }

    /// Returns the bytes that stream `index` moves; `None` if the limit is a time.
    pub(crate) fn share(&self, index: u32) -> Option<u64> {
        let Limit::Bytes(Bytes(all)) = self.limit else { return None };
        let streams = u64::from(self.streams);
        Some(all / streams + u64::from(u64::from(index) < all % streams))
    }
}
