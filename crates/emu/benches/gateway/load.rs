//! Many connections at once: a server that answers each with one short message, and a client that opens them at a rate.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use cellway_emu::sys::{Interest, Readiness, now_ns};
use cellway_record::stats::percentile;
use socket2::{Domain, Socket, Type};

/// The port of the server.
const PORT: u16 = 9009;
/// The sizes of a request and of its response (bytes).
const QUESTION: usize = 100;
const ANSWER: usize = 1000;
/// The longest wait for the last connections.
const PATIENCE: Duration = Duration::from_secs(10);
const LISTENER: u64 = u64::MAX;

/// Answers every request until the process ends. The client closes connections.
pub(crate) fn answer() -> io::Result<()> {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    listener.set_reuse_address(true)?;
    listener.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)).into())?;
    listener.listen(4096)?;
    listener.set_nonblocking(true)?;
    let mut readiness = Readiness::new().map_err(io::Error::other)?;
    readiness.add(&listener, LISTENER, Interest::Read).map_err(io::Error::other)?;
    let (mut streams, mut next, mut ready) = (BTreeMap::<u64, (Socket, usize)>::new(), 0, Vec::new());
    let mut buffer = [0; 4096];
    loop {
        readiness.wait_for(None, &mut ready).map_err(io::Error::other)?;
        for event in ready.drain(..) {
            if event.token == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    readiness.add(&stream, next, Interest::Read).map_err(io::Error::other)?;
                    streams.insert(next, (stream, 0));
                    next += 1;
                }
                continue;
            }
            let Some((stream, asked)) = streams.get_mut(&event.token) else { continue };
            let over = loop {
                match (&*stream).read(&mut buffer) {
                    Ok(0) => break true,
                    Ok(bytes) => *asked += bytes,
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break false,
                    Err(_) => break true,
                }
            };
            while *asked >= QUESTION {
                *asked -= QUESTION;
                // It fits into the buffer of the socket.
                let _ = (&*stream).write(&[b'a'; ANSWER]);
            }
            if over {
                streams.remove(&event.token);
            }
        }
    }
}

/// One connection of the client.
struct Asked {
    stream: Socket,
    since: Instant,
    connected: bool,
    came: usize,
}

/// Opens `count` connections, `rate` a second, whatever the outcome of earlier ones, sends one request on each, and
/// closes it after the response. With `stay` it keeps all connections and continues to run after it has printed the
/// results.
pub(crate) fn ask(server: &str, rate: &str, count: &str, stay: &str) -> Result<(), Box<dyn Error>> {
    let server = SocketAddr::from((server.parse::<IpAddr>()?, PORT));
    let (rate, count, stay): (f64, u32, bool) = (rate.parse()?, count.parse()?, stay == "stay");
    let mut readiness = Readiness::new()?;
    let (mut open, mut kept, mut ready) = (BTreeMap::<u64, Asked>::new(), Vec::new(), Vec::new());
    let (mut connects, mut wholes, mut failures) = (Vec::new(), Vec::new(), BTreeMap::<String, u32>::new());
    let begun = Instant::now();
    let (mut last, mut behind, mut most_open) = (begun, 0.0f64, 0);
    let mut started = 0;
    let mut buffer = [0; 4096];
    while started < count || !open.is_empty() {
        let due = begun + Duration::from_secs_f64(f64::from(started) / rate);
        if started < count && due <= Instant::now() {
            behind = behind.max(due.elapsed().as_secs_f64());
            let stream = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            stream.set_nonblocking(true)?;
            let since = Instant::now();
            match stream.connect(&server.into()) {
                Ok(()) => {}
                Err(e) if e.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {}
                Err(e) => *failures.entry(format!("connect: {e}")).or_default() += 1,
            }
            readiness.add(&stream, u64::from(started), Interest::Stream)?;
            open.insert(u64::from(started), Asked { stream, since, connected: false, came: 0 });
            most_open = most_open.max(open.len());
            started += 1;
            continue;
        }
        let wait = if started < count { due.saturating_duration_since(Instant::now()) } else { PATIENCE };
        readiness.wait_for(Some(now_ns() + wait.as_nanos() as u64), &mut ready)?;
        if ready.is_empty() && started == count {
            *failures.entry("not answered".to_owned()).or_default() += open.len() as u32;
            break;
        }
        for event in ready.drain(..) {
            let Some(asked) = open.get_mut(&event.token) else { continue };
            let failed = match asked.go_on(&mut buffer, event.write, &mut connects) {
                Ok(()) if asked.came < ANSWER => continue,
                Ok(()) => None,
                Err(e) => Some(e),
            };
            let Some(asked) = open.remove(&event.token) else { continue };
            last = Instant::now();
            match failed {
                Some(e) => *failures.entry(e.to_string()).or_default() += 1,
                None => wholes.push(asked.since.elapsed().as_secs_f64()),
            }
            if stay {
                kept.push(asked.stream);
            }
        }
    }
    let took = (last - begun).as_secs_f64();
    connects.sort_by(f64::total_cmp);
    wholes.sort_by(f64::total_cmp);
    let at = |times: &[f64], q| percentile(times, q).unwrap_or(f64::NAN);
    let failed: u32 = failures.values().sum();
    println!(
        "asked {started} answered {} failed {failed} took {took:.3} behind {behind:.4} open {most_open}",
        wholes.len()
    );
    println!("connect_p50 {:.4} connect_p99 {:.4}", at(&connects, 0.5), at(&connects, 0.99));
    println!("whole_p50 {:.4} whole_p99 {:.4}", at(&wholes, 0.5), at(&wholes, 0.99));
    for (why, count) in failures {
        eprintln!("{count} failed: {why}");
    }
    println!("done");
    if stay {
        std::thread::sleep(Duration::from_secs(3600));
    }
    drop(kept);
    Ok(())
}

impl Asked {
    fn go_on(&mut self, buffer: &mut [u8], writable: bool, connects: &mut Vec<f64>) -> io::Result<()> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        if writable && !self.connected {
            self.connected = true;
            connects.push(self.since.elapsed().as_secs_f64());
            (&self.stream).write_all(&[b'q'; QUESTION])?;
        }
        while self.connected && self.came < ANSWER {
            match (&self.stream).read(buffer) {
                Ok(0) => return Err(io::Error::other(format!("closed after {} bytes", self.came))),
                Ok(bytes) => self.came += bytes,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}
