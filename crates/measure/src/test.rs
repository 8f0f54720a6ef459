//! One test: what is moved, how, and for how long.

use cellway_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::tcp::TcpOptions;

/// The port on which a server waits unless told otherwise.
pub const DEFAULT_PORT: u16 = 5101;
/// Streams of one test.
const STREAMS_MAX: u32 = 128;
/// The largest single write.
const WRITE_MAX: Bytes = Bytes(16 << 20);
/// Samples of all streams of a test together, so that what is kept and told stays small.
pub(crate) const SAMPLES_MAX: u64 = 50_000;
/// The shortest interval between two samples.
const INTERVAL_MIN: Span = Span::from_ms(10);

/// When a test ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The sender stops after this time.
    Time(#[serde(with = "crate::text")] Span),
    /// The sender stops after so many bytes, all streams together.
    Bytes(#[serde(with = "crate::text")] Bytes),
}

/// One test, as both sides agree on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// When it ends.
    pub limit: Limit,
    /// Connections side by side.
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
    /// Whether the server sends.
    pub reverse: bool,
    /// Time between two samples of the series.
    #[serde(with = "crate::text")]
    pub interval: Span,
}

impl Default for Test {
    /// 10 s of one stream in writes of 128 KiB.
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
    /// Whether the numbers make sense; what the kernel thinks of the options shows when it is asked.
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

    /// The options of the side that receives, or of the one that sends.
    pub(crate) fn options(&self, receives: bool) -> TcpOptions {
        let sends = !receives;
        TcpOptions {
            window: self.window.filter(|_| receives),
            mss: self.mss,
            send_buffer: self.send_buffer.filter(|_| sends),
            congestion: self.congestion.clone().filter(|_| sends),
            // The last segment of a window that is no multiple of the MSS is sent at once, as with a large write.
            no_delay: sends,
            pace: self.pace.filter(|_| sends),
        }
    }

    /// The part of the bytes that stream `index` moves; `None` if time is the limit.
    pub(crate) fn share(&self, index: u32) -> Option<u64> {
        let Limit::Bytes(Bytes(all)) = self.limit else { return None };
        let streams = u64::from(self.streams);
        Some(all / streams + u64::from(u64::from(index) < all % streams))
    }
}
