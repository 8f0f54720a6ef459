//! Programs for hosts of an emulation: the test program starts itself again as one of them, so that nothing has to be
//! installed. The variable `CELLWAY_TEST_PART` has its name and arguments.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Names the part.
const PART: &str = "CELLWAY_TEST_PART";
/// UDP: echoes datagrams.
const ECHO: u16 = 7007;
/// TCP: reads, and responds with the number of bytes that arrived in the requested time.
const SINK: u16 = 7008;
/// UDP: counts; an empty datagram requests the count.
const COUNT: u16 = 7009;

/// Plays the part for which this process was started; returns true if there was one.
pub(crate) fn played() -> bool {
    let Ok(part) = std::env::var(PART) else { return false };
    let words: Vec<&str> = part.split(' ').collect();
    match words[0] {
        "server" => server(),
        "ping" => ping(target(words[1]), words[2].parse().unwrap(), words[3].parse().unwrap()),
        "send" => send(target(words[1]), number(words[2]), number(words[3])),
        // 23 Mbit/s: more than the line takes, less than the host's own.
        "against-flood" => {
            let to = target(words[1]);
            std::thread::spawn(move || flood(to, Duration::from_secs(60), Duration::from_millis(5)));
            send(to, number(words[2]), number(words[3]));
        }
        "count" => count(target(words[1]), number(words[2])),
        "flood" => flood(target(words[1]), Duration::from_millis(number(words[2])), Duration::ZERO),
        "hop" => hop(target(words[1])),
        "connect" => tell(f64::from(u8::from(TcpStream::connect(at(target(words[1]), SINK)).is_ok()))),
        other => panic!("no part {other}"),
    }
    true
}

/// Returns the words that run `part` by the test `name` of this program.
pub(crate) fn words(name: &str, part: &str) -> Vec<String> {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let part = format!("{PART}={part}");
    ["env", &part, program, "--exact", name, "--nocapture", "--test-threads=1"].map(str::to_owned).to_vec()
}

/// Returns the reports of parts, in their order.
pub(crate) fn told(output: &str) -> Vec<f64> {
    output.lines().filter_map(|line| line.strip_prefix("told: ")?.parse().ok()).collect()
}

fn tell(value: f64) {
    // The harness may have begun a line.
    println!("\ntold: {value}");
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// Parses an address, or a variable that holds one; "6" before it selects the IPv6 address of the same host.
fn target(text: &str) -> SocketAddr {
    let (six, name) = text.strip_prefix('6').map_or((false, text), |name| (true, name));
    let address: Ipv4Addr = std::env::var(name).unwrap_or_else(|_| panic!("no {name}")).parse().unwrap();
    let [a, b, c, d] = address.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    match six {
        true => (Ipv6Addr::new(0xfd63, 0x656c, 0x6c77, 0x6179, 0, 0, high, low), 0).into(),
        false => (address, 0).into(),
    }
}

fn at(target: SocketAddr, port: u16) -> SocketAddr {
    SocketAddr::new(target.ip(), port)
}

fn udp(target: SocketAddr, port: u16) -> UdpSocket {
    let any = if target.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).unwrap();
    socket.connect(at(target, port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    socket
}

/// Both versions of IP arrive at the IPv6 sockets.
fn server() {
    let sink = TcpListener::bind(("::", SINK)).unwrap();
    let echo = UdpSocket::bind(("::", ECHO)).unwrap();
    let counter = UdpSocket::bind(("::", COUNT)).unwrap();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        loop {
            if let Ok((octets, from)) = echo.recv_from(&mut buffer) {
                let _ = echo.send_to(&buffer[..octets], from);
            }
        }
    });
    std::thread::spawn(move || {
        let (mut buffer, mut count) = (vec![0; 65_536], 0_u64);
        loop {
            match counter.recv_from(&mut buffer) {
                Ok((0, from)) => drop(counter.send_to(&count.to_be_bytes(), from)),
                Ok(_) => count += 1,
                Err(_) => {}
            }
        }
    });
    for stream in sink.incoming() {
        let stream = stream.unwrap();
        std::thread::spawn(move || measure(stream));
    }
}

/// The first 16 octets are the milliseconds before the measurement, and its duration.
fn measure(mut stream: TcpStream) {
    let mut header = [0; 16];
    if stream.read_exact(&mut header).is_err() {
        return;
    }
    let ms = |at: usize| Duration::from_millis(u64::from_be_bytes(header[at..at + 8].try_into().unwrap()));
    let (after, span) = (ms(0), ms(8));
    let (count, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (reader, counted, ends) = (stream.try_clone().unwrap(), count.clone(), over.clone());
    let counting = std::thread::spawn(move || {
        let (mut reader, mut buffer) = (reader, vec![0; 1 << 18]);
        while let (false, Ok(octets @ 1..)) = (ends.load(Ordering::Relaxed), reader.read(&mut buffer)) {
            counted.fetch_add(octets as u64, Ordering::Relaxed);
        }
    });
    std::thread::sleep(after);
    let (before, start) = (count.load(Ordering::Relaxed), Instant::now());
    std::thread::sleep(span);
    let rate = (count.load(Ordering::Relaxed) - before) as f64 * 8.0 / start.elapsed().as_secs_f64();
    let _ = stream.write_all(&rate.to_be_bytes());
    // The client closes when it has read this. Data that its kernel still holds are not awaited: a reset answers them.
    std::thread::sleep(Duration::from_millis(200));
    over.store(true, Ordering::Relaxed);
    let _ = counting.join();
}

/// Prints round trips of datagrams with `octets` of payload, in milliseconds.
fn ping(target: SocketAddr, octets: usize, times: u32) {
    let socket = udp(target, ECHO);
    let (sent, mut buffer) = ((0..octets).map(|i| (i * 7 + i / 251) as u8).collect::<Vec<_>>(), vec![0; 65_536]);
    let (mut answers, begun) = (0, Instant::now());
    // Until the server is ready no response arrives, or an error.
    while answers < times && begun.elapsed() < Duration::from_secs(30) {
        let start = Instant::now();
        if socket.send(&sent).is_ok()
            && let Ok(found) = socket.recv(&mut buffer)
        {
            tell(start.elapsed().as_secs_f64() * 1e3);
            assert!(buffer[..found] == sent, "what came back is not what went");
            answers += 1;
        } else {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    assert_eq!(answers, times);
}

fn connected(target: SocketAddr) -> TcpStream {
    let begun = Instant::now();
    loop {
        match TcpStream::connect_timeout(&at(target, SINK), Duration::from_secs(10)) {
            Ok(stream) => return stream,
            Err(e) => assert!(begun.elapsed() < Duration::from_secs(30), "{e}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends over TCP and prints the goodput in bit/s, as the receiver measured it from `after` on for `span` ms.
fn send(target: SocketAddr, after: u64, span: u64) {
    let mut stream = connected(target);
    stream.write_all(&[after.to_be_bytes(), span.to_be_bytes()].concat()).unwrap();
    let mut writer = stream.try_clone().unwrap();
    std::thread::spawn(move || {
        let chunk = vec![5; 1 << 16];
        while writer.write_all(&chunk).is_ok() {}
    });
    let mut rate = [0; 8];
    stream.read_exact(&mut rate).unwrap();
    tell(f64::from_be_bytes(rate));
}

/// Sends datagrams one by one, then prints the number of those that arrived.
fn count(target: SocketAddr, datagrams: u64) {
    ping(target, 8, 1);
    let socket = udp(target, COUNT);
    for _ in 0..datagrams {
        socket.send(&[1; 100]).unwrap();
        std::thread::sleep(Duration::from_micros(500));
    }
    std::thread::sleep(Duration::from_millis(500));
    for _ in 0..20 {
        let mut count = [0; 8];
        if socket.send(&[]).is_ok() && socket.recv(&mut count).is_ok() {
            tell(u64::from_be_bytes(count) as f64);
            return;
        }
    }
    panic!("no count came");
}

/// Sends datagrams with a payload of 1400 octets as fast as possible, or each after a `pause` with 10 others.
fn flood(target: SocketAddr, span: Duration, pause: Duration) {
    let socket = udp(target, COUNT);
    let (start, mut sent) = (Instant::now(), 0_u64);
    while start.elapsed() < span {
        for _ in 0..10 {
            // A full queue is no reason to stop.
            sent += u64::from(socket.send(&[1; 1400]).is_ok());
        }
        std::thread::sleep(pause);
    }
    tell(sent as f64);
}

/// Sends a datagram with a time to live of one hop.
fn hop(target: SocketAddr) {
    let socket = udp(target, COUNT);
    socket.set_ttl(1).unwrap();
    socket.send(&[1; 100]).unwrap();
    std::thread::sleep(Duration::from_millis(200));
}
