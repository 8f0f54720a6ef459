//! One data connection: sending and receiving, with samples.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cellway_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::tcp::{TcpInfo, TcpOptions};
use crate::{Error, Limit, Test};

/// The timeout of a call on a socket, between checks of flags and clocks.
const PATIENCE: Duration = Duration::from_millis(50);
/// Without a byte for this time, the other side or the path is dead.
const STALL: Span = Span::from_secs(20);
/// The time for bytes in flight to arrive after the end of a test with a time limit.
pub(crate) const DRAIN: Duration = Duration::from_secs(2);

/// The measurements of the receiver of one stream. Times in nanoseconds since the test began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Bytes that were read.
    pub bytes: u64,
    /// Bytes of the first read, which arrived before the measured time.
    pub first_bytes: u64,
    /// The time of the first read.
    pub first_ns: u64,
    /// The time of the last read.
    pub last_ns: u64,
    /// Bytes read in each interval since the test began.
    pub intervals: Vec<u64>,
}

/// One sample of the sender's connection. Counts are since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Nanoseconds since the test began.
    pub t_ns: u64,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Smoothed round trip in nanoseconds.
    pub rtt_ns: u64,
    /// The kernel's estimate of the delivery rate, in bit/s.
    pub delivery_rate: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
}

/// The measurements of the sender of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Bytes that the kernel accepted.
    pub bytes: u64,
    /// Nanoseconds from the first write to the end of the last.
    pub took_ns: u64,
    /// One sample for each interval, and one at the end.
    pub samples: Vec<Sample>,
    /// The least round trip in nanoseconds, if one was measured.
    pub rtt_min_ns: Option<u64>,
    /// Nanoseconds with something to send; of these limited by the receive window; by the send buffer.
    pub busy_ns: u64,
    /// See above.
    pub rwnd_limited_ns: u64,
    /// See above.
    pub sndbuf_limited_ns: u64,
    /// Payload of a full segment, in bytes.
    pub mss: u64,
}

/// The state that all streams of a test share on one side.
pub(crate) struct Course<'a> {
    pub(crate) test: &'a Test,
    pub(crate) origin: Instant,
    /// The longest time of a test, and the most bytes of one stream.
    pub(crate) most_time: Duration,
    pub(crate) most_bytes: u64,
    /// Most samples of one stream.
    pub(crate) most_samples: usize,
    pub(crate) stop: &'a AtomicBool,
}

impl Course<'_> {
    fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// Returns the time at which the sender stops.
    fn end(&self) -> Duration {
        match self.test.limit {
            Limit::Time(time) => duration(time).min(self.most_time),
            Limit::Bytes(_) => self.most_time,
        }
    }

    fn stopped(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }
}

pub(crate) fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_ps() / 1000)
}

/// Returns true if a call has only timed out.
fn waits(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Sends until the test ends, then waits until all bytes have arrived or the receiver closes.
pub(crate) fn send(mut stream: &TcpStream, index: u32, course: &Course<'_>) -> Result<Sent, Error> {
    stream.set_write_timeout(Some(PATIENCE)).map_err(Error::peer)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(Error::peer)?;
    let chunk = vec![0x55; course.test.write.0 as usize];
    let most = course.test.share(index).unwrap_or(course.most_bytes).min(course.most_bytes);
    let interval = course.test.interval.as_ps() / 1000;
    let mut sent = Sent::default();
    let mut progress = Progress::new();
    let began = Instant::now();
    while sent.bytes < most && course.origin.elapsed() < course.end() {
        course.stopped()?;
        let next = chunk.len().min((most - sent.bytes) as usize);
        match stream.write(&chunk[..next]) {
            Ok(n) => sent.bytes += n as u64,
            Err(e) if waits(e.kind()) => progress.check(TcpInfo::of(stream).map_err(Error::peer)?.bytes_acked.0)?,
            Err(e) => return Err(Error::peer(e)),
        }
        if course.now_ns() / interval > sent.samples.len() as u64 && sent.samples.len() < course.most_samples {
            sample(stream, course, &mut sent)?;
        }
    }
    sent.took_ns = began.elapsed().as_nanos() as u64;
    sample(stream, course, &mut sent)?;
    stream.shutdown(Shutdown::Write).map_err(Error::peer)?;
    let drained = Instant::now();
    // The receiver closes when it has received the end, or after its own time limit.
    loop {
        course.stopped()?;
        match stream.read(&mut [0]) {
            Err(e) if waits(e.kind()) => {
                let by_time = course.test.share(index).is_none();
                if by_time && drained.elapsed() > 2 * DRAIN + PATIENCE {
                    break;
                }
                // All bytes may have arrived long before the other streams are done.
                let acked = TcpInfo::of(stream).map_err(Error::peer)?.bytes_acked.0;
                if acked < sent.bytes {
                    progress.check(acked)?;
                }
            }
            // Its end, or a reset: it did not read the rest.
            Ok(_) | Err(_) => break,
        }
    }
    Ok(sent)
}

fn sample(stream: &TcpStream, course: &Course<'_>, sent: &mut Sent) -> Result<(), Error> {
    let info = TcpInfo::of(stream).map_err(Error::peer)?;
    let ns = |span: Span| span.as_ps() / 1000;
    sent.samples.push(Sample {
        t_ns: course.now_ns(),
        cwnd: info.cwnd_bytes().0,
        rtt_ns: ns(info.rtt),
        delivery_rate: info.delivery_rate.as_bps(),
        retransmissions: info.retransmissions,
    });
    sent.rtt_min_ns = info.rtt_min.map(ns);
    (sent.busy_ns, sent.rwnd_limited_ns) = (ns(info.busy), ns(info.rwnd_limited));
    (sent.sndbuf_limited_ns, sent.mss) = (ns(info.sndbuf_limited), info.snd_mss.0);
    Ok(())
}

/// Receives until the sender ends, or until the time limit and the time for bytes in flight are over.
pub(crate) fn receive(
    mut stream: &TcpStream,
    index: u32,
    options: &TcpOptions,
    course: &Course<'_>,
) -> Result<Received, Error> {
    stream.set_read_timeout(Some(PATIENCE)).map_err(Error::peer)?;
    options.hold_window(stream)?;
    let mut buffer = vec![0; (course.test.write.0 as usize).clamp(64 << 10, 1 << 20)];
    let interval = course.test.interval.as_ps() / 1000;
    let mut received = Received::default();
    let mut progress = Progress::new();
    while course.origin.elapsed() < course.end() + DRAIN && received.bytes < course.most_bytes {
        course.stopped()?;
        let n = match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n as u64,
            Err(e) if waits(e.kind()) => {
                progress.check(received.bytes)?;
                continue;
            }
            Err(e) => return Err(Error::peer(e)),
        };
        options.hold_window(stream)?;
        received.last_ns = course.now_ns();
        if received.bytes == 0 {
            (received.first_ns, received.first_bytes) = (received.last_ns, n);
        }
        received.bytes += n;
        let at = ((received.last_ns / interval) as usize).min(course.most_samples);
        if received.intervals.len() <= at {
            received.intervals.resize(at + 1, 0);
        }
        received.intervals[at] += n;
    }
    match course.test.share(index) {
        Some(share) if received.bytes < share.min(course.most_bytes) => {
            Err(Error::Short { came: Bytes(received.bytes), of: Bytes(share) })
        }
        _ => Ok(received),
    }
}

/// Detects that a count has not changed for [`STALL`].
struct Progress {
    count: u64,
    since: Instant,
}

impl Progress {
    fn new() -> Progress {
        Progress { count: 0, since: Instant::now() }
    }

    fn check(&mut self, count: u64) -> Result<(), Error> {
        if count != self.count {
            *self = Progress { count, since: Instant::now() };
        } else if self.since.elapsed() > duration(STALL) {
            return Err(Error::Stalled { after: STALL });
        }
        Ok(())
    }
}
