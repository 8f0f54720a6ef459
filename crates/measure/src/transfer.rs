//! The data of one test, on one host: a thread for each stream, and a watch on the control connection.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::message::{self, Report};
use crate::stream::{self, Course, DRAIN};
use crate::test::SAMPLES_MAX;
use crate::{Error, Limits, Outcome, Test};

/// The interval of checks of the control connection and of `stop`.
const TICK: Duration = Duration::from_millis(50);
/// The time limit for the report of the other side, after this one is done.
const REPORT: Duration = Duration::from_secs(30);

/// Moves the data and exchanges reports. `stop` is called several times a second; it returns true to cancel the test.
pub(crate) fn transfer(
    control: &TcpStream,
    data: &[TcpStream],
    test: &Test,
    receives: bool,
    limits: Limits,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Outcome, Error> {
    let flag = AtomicBool::new(false);
    let course = Course {
        test,
        origin: Instant::now(),
        most_time: stream::duration(limits.max_time),
        most_bytes: limits.max_bytes.0.div_ceil(test.streams.into()),
        most_samples: (SAMPLES_MAX / u64::from(test.streams)) as usize,
        stop: &flag,
    };
    let mut watch = Watch { control, peer: None, cause: None };
    let own = if receives {
        let options = test.options(true);
        let each = |index, stream: &TcpStream| stream::receive(stream, index, &options, &course);
        all(data, &flag, each, || watch.look(stop)).map(Report::Received)
    } else {
        let each = |index, stream: &TcpStream| stream::send(stream, index, &course);
        all(data, &flag, each, || watch.look(stop)).map(Report::Sent)
    };
    if let Some(cause) = watch.cause {
        // Best effort: the other side may have disconnected.
        let _ = message::send(control, &Report::Failed { reason: cause.to_string() });
        return Err(cause);
    }
    let own = match own {
        Ok(own) => own,
        Err(error) => {
            let _ = message::send(control, &Report::Failed { reason: error.to_string() });
            return Err(error);
        }
    };
    message::send(control, &own)?;
    // The receiver closes the data connections, upon which the sender reports.
    for stream in data.iter().filter(|_| receives) {
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
    let peer = match watch.peer {
        Some(peer) => peer,
        None => message::receive(control, REPORT + 2 * DRAIN)?,
    };
    match (own, peer) {
        (Report::Sent(sent), Report::Received(received)) | (Report::Received(received), Report::Sent(sent))
            if sent.len() == data.len() && received.len() == data.len() =>
        {
            Ok(Outcome { interval: test.interval, sent, received })
        }
        (_, Report::Failed { reason }) => Err(Error::PeerFailed { reason }),
        _ => Err(Error::Protocol { what: "a report of the wrong kind or number of streams".to_owned() }),
    }
}

/// Runs `each` on a thread per stream; the first error ends all. `look` is called repeatedly, and returns true to stop.
fn all<T: Send>(
    data: &[TcpStream],
    flag: &AtomicBool,
    each: impl Fn(u32, &TcpStream) -> Result<T, Error> + Sync,
    mut look: impl FnMut() -> bool,
) -> Result<Vec<T>, Error> {
    let each = &each;
    thread::scope(|scope| {
        let work = |(index, stream)| {
            scope.spawn(move || {
                let done = each(index, stream);
                if done.is_err() {
                    flag.store(true, Ordering::Relaxed);
                }
                done
            })
        };
        let threads: Vec<_> = (0..).zip(data).map(work).collect();
        while !threads.iter().all(|thread| thread.is_finished()) {
            if look() {
                flag.store(true, Ordering::Relaxed);
            }
        }
        let mut first = None;
        let mut results = Vec::with_capacity(threads.len());
        for thread in threads {
            match thread.join() {
                Ok(Ok(result)) => results.push(result),
                // Streams that were only stopped do not hide the reason.
                Ok(Err(Error::Stopped)) => first = first.or(Some(Error::Stopped)),
                Ok(Err(error)) if matches!(first, None | Some(Error::Stopped)) => first = Some(error),
                Ok(Err(_)) => {}
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        first.map_or(Ok(results), Err)
    })
}

/// The messages of the control connection meanwhile.
struct Watch<'a> {
    control: &'a TcpStream,
    peer: Option<Report>,
    cause: Option<Error>,
}

impl Watch<'_> {
    /// Waits for a short time. Returns true to stop.
    fn look(&mut self, stop: &mut dyn FnMut() -> bool) -> bool {
        if self.cause.is_some() {
            thread::sleep(TICK / 10);
            return true;
        }
        if stop() {
            self.cause = Some(Error::Stopped);
            return true;
        }
        if self.peer.is_some() {
            thread::sleep(TICK);
            return false;
        }
        // Only a timeout of 0 is refused.
        let _ = self.control.set_read_timeout(Some(TICK));
        match self.control.peek(&mut [0]) {
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(e) => self.cause = Some(Error::peer(e)),
            Ok(0) => self.cause = Some(Error::peer(ErrorKind::UnexpectedEof.into())),
            Ok(_) => match message::receive(self.control, REPORT) {
                Ok(Report::Failed { reason }) => self.cause = Some(Error::PeerFailed { reason }),
                Ok(report) => self.peer = Some(report),
                Err(error) => self.cause = Some(error),
            },
        }
        self.cause.is_some()
    }
}
