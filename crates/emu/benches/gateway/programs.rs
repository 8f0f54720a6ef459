//! The programs that run in the hosts: this program again; its first argument selects one.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cellway_record::stats::percentile;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{load, streams};

/// The ports of the echo server, of pages, and of the server of many connections.
const ECHO: u16 = 7007;
pub(crate) const PAGES: u16 = 8080;
/// The longest wait of the client of a page (s): a hang becomes a failure.
const PATIENCE: Duration = Duration::from_secs(30);
/// The interval of the requests of `probe` (ms). A packet of 36 octets then takes less than 3 kbit/s.
const ASK: Duration = Duration::from_millis(100);

pub(crate) type Done = Result<(), Box<dyn Error>>;

pub(crate) fn main(words: &[String]) -> ExitCode {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["wait", file] => wait(file),
        ["stream", role, server, port, seconds, streams, control] => {
            streams::main(role, server, port, seconds, streams, control)
        }
        ["echo"] => echo(),
        ["probe", server, loaded] => probe(server, loaded),
        ["pages"] => pages(),
        ["get", server, size, count] => get(server, size, count),
        ["answer"] => open_files().and_then(|()| Ok(load::answer()?)),
        ["ask", server, rate, count, stay] => open_files().and_then(|()| load::ask(server, rate, count, stay)),
        _ => Err(format!("no such program: {words:?}").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", words.join(" "));
            ExitCode::FAILURE
        }
    }
}

/// As many descriptors as can be had.
pub(crate) fn open_files() -> Done {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // The superuser may exceed the limit, which on some computers is low.
    let more = Rlimit { current: Some(1 << 18), maximum: Some(1 << 18) };
    setrlimit(Resource::Nofile, more).or_else(|_| setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }))?;
    Ok(())
}

/// Ends when a file exists.
fn wait(file: &str) -> Done {
    while !Path::new(file).exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn echo() -> Done {
    let socket = UdpSocket::bind(("0.0.0.0", ECHO))?;
    let mut buffer = [0; 64];
    loop {
        let (octets, from) = socket.recv_from(&mut buffer)?;
        socket.send_to(&buffer[..octets], from)?;
    }
}

/// Prints each second the least round trip, and the 99th percentile of the requests sent after `loaded` seconds.
fn probe(server: &str, loaded: &str) -> Done {
    let loaded = Duration::try_from_secs_f64(loaded.parse()?)?;
    let begun = Instant::now();
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    socket.connect((server.parse::<IpAddr>()?, ECHO))?;
    let asker = socket.try_clone()?;
    std::thread::spawn(move || -> io::Result<()> {
        loop {
            asker.send(&(begun.elapsed().as_nanos() as u64).to_ne_bytes())?;
            std::thread::sleep(ASK);
        }
    });
    let (mut least, mut under_load, mut told) = (f64::INFINITY, Vec::new(), begun);
    let mut buffer = [0; 8];
    loop {
        socket.recv(&mut buffer)?;
        let asked = Duration::from_nanos(u64::from_ne_bytes(buffer));
        let took = (begun.elapsed() - asked).as_secs_f64();
        least = least.min(took);
        if asked >= loaded {
            under_load.push(took);
        }
        if told.elapsed() >= Duration::from_secs(1) {
            told = Instant::now();
            under_load.sort_by(f64::total_cmp);
            let p99 = percentile(&under_load, 0.99).map(|p99| format!(" p99 {p99:.6}"));
            println!("least {least:.6}{}", p99.unwrap_or_default());
        }
    }
}

/// Returns the processor time of a process (s): proc_pid_stat(5), `utime` and `stime`.
pub(crate) fn processor(pid: u32) -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let times = after_name.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    let ticks: f64 = times.collect::<Result<Vec<f64>, _>>()?.iter().sum();
    Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
}

/// Serves pages: the response to `GET /N` has N bytes.
fn pages() -> Done {
    let listener = TcpListener::bind(("0.0.0.0", PAGES))?;
    loop {
        let (stream, _) = listener.accept()?;
        std::thread::spawn(move || page(&stream));
    }
}

fn page(mut stream: &TcpStream) -> io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let size = request.split(' ').nth(1).and_then(|path| path.trim_start_matches('/').parse().ok()).unwrap_or(0);
    let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n").into_bytes();
    answer.resize(answer.len() + size, b'x');
    stream.write_all(&answer)
}

/// Requests a page of `size` bytes `count` times, each over its own connection; prints the times of the first byte and
/// of the last: the median, and the longest.
fn get(server: &str, size: &str, count: &str) -> Done {
    let server = SocketAddr::from((server.parse::<IpAddr>()?, PAGES));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..count.parse::<u32>()? {
        let begun = Instant::now();
        let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(format!("GET /{size} HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n").as_bytes())?;
        let mut answer = vec![0; 65_536];
        let mut bytes = stream.read(&mut answer)?;
        times[0].push(begun.elapsed().as_secs_f64());
        let head = answer[..bytes].windows(4).position(|four| four == b"\r\n\r\n").ok_or("no head of an answer")? + 4;
        let all = head + size.parse::<usize>()?;
        while bytes < all {
            match stream.read(&mut answer)? {
                0 => return Err(format!("{bytes} bytes of {all} came").into()),
                more => bytes += more,
            }
        }
        times[1].push(begun.elapsed().as_secs_f64());
    }
    for (name, times) in ["first", "last"].iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let at = |q| percentile(times, q).unwrap_or(f64::NAN);
        println!("{name} {:.6} {name}_most {:.6}", at(0.5), at(1.0));
    }
    Ok(())
}
