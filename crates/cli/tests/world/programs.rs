//! The servers of the world and the clients behind the path: the test program starts itself again as one of them.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

/// The variable with the parts, separated by commas.
const PART: &str = "CELLWAY_TEST_PARTS";
/// UDP: echoes datagrams.
const ECHO: u16 = 7007;
/// TCP: sends [`OCTETS`].
const DOWN: u16 = 7008;
/// TCP: receives [`OCTETS`], and answers with one.
const UP: u16 = 7009;
const OCTETS: usize = 2_000_000;
/// The address of every name.
const WEB: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 80);
const WEB_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x80, 0, 0, 0, 0, 1);

/// Returns the words that run `parts`, one after the other, by the test `vehicle` of this program.
pub(crate) fn words(vehicle: &str, parts: &str) -> Vec<String> {
    let program = std::env::current_exe().unwrap();
    let part = format!("{PART}={parts}");
    let words = ["env", &part, program.to_str().unwrap(), "--exact", vehicle, "--nocapture", "--test-threads=1"];
    words.map(str::to_owned).to_vec()
}

/// Plays the parts for which this process was started; returns true if there was one.
pub(crate) fn played() -> bool {
    let Ok(parts) = std::env::var(PART) else { return false };
    for part in parts.split(", ") {
        let (name, argument) = part.split_once(' ').unwrap_or((part, ""));
        let address = || argument.parse::<IpAddr>().unwrap();
        match name {
            "serve" => serve(),
            "dns" => dns(address()),
            "echo" => echo(address()),
            "down" => down(address()),
            "up" => up(address()),
            "unreachable" => unreachable(address()),
            "look-up" => look_up(argument),
            "look-up-tcp" => look_up_over_tcp(argument),
            "stay" => {
                tell(0.0);
                // Until the test closes it.
                std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
            }
            other => panic!("no part {other}"),
        }
    }
    true
}

/// Returns the reports of parts, in their order.
pub(crate) fn told(output: &str) -> Vec<f64> {
    output.lines().filter_map(|line| line.strip_prefix("told: ")?.parse().ok()).collect()
}

fn tell(value: f64) {
    // The harness may have begun a line.
    println!("\ntold: {value}");
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// Octet `index` of a transfer.
fn octet(index: usize) -> u8 {
    (index * 7 + index / 251) as u8
}

fn octets() -> Vec<u8> {
    (0..OCTETS).map(octet).collect()
}

fn serve() {
    // Otherwise its answers would have the address that is nearest to the client. Both versions of IP arrive at an IPv6
    // socket.
    let echoes = [WEB.into(), WEB_V6.into()].map(|at: IpAddr| UdpSocket::bind((at, ECHO)).unwrap());
    let [down, up] = [DOWN, UP].map(|port| TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).unwrap());
    tell(0.0);
    for echo in echoes {
        std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok((found, from)) = echo.recv_from(&mut buffer) {
                let _ = echo.send_to(&buffer[..found], from);
            }
        });
    }
    std::thread::spawn(move || {
        for stream in down.incoming() {
            std::thread::spawn(|| stream.unwrap().write_all(&octets()));
        }
    });
    for stream in up.incoming() {
        let mut stream = stream.unwrap();
        let mut found = vec![0; OCTETS];
        let complete = stream.read_exact(&mut found).is_ok() && found == octets();
        let _ = stream.write_all(&[u8::from(complete)]);
    }
}

/// Prints the round trip of a datagram. The first one may wait for the address of a neighbour.
fn echo(to: IpAddr) {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).unwrap();
    socket.connect((to, ECHO)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut answer = [0; 2048];
    for payload in [[1; 64], [2; 64]] {
        let start = Instant::now();
        socket.send(&payload).unwrap();
        let found = socket.recv(&mut answer).unwrap();
        assert_eq!(answer[..found], payload);
        if payload[0] == 2 {
            tell(ms(start));
        }
    }
}

/// Prints the rate of a download, in bit/s.
fn down(from: IpAddr) {
    let mut stream = TcpStream::connect((from, DOWN)).unwrap();
    let (start, mut found) = (Instant::now(), Vec::new());
    stream.read_to_end(&mut found).unwrap();
    tell(OCTETS as f64 * 8.0 / start.elapsed().as_secs_f64());
    assert!(found == octets(), "{} octets, or others than were sent", found.len());
}

/// Prints the rate of an upload, in bit/s.
fn up(to: IpAddr) {
    let mut stream = TcpStream::connect((to, UP)).unwrap();
    let (start, mut complete) = (Instant::now(), [0]);
    stream.write_all(&octets()).unwrap();
    stream.read_exact(&mut complete).unwrap();
    tell(OCTETS as f64 * 8.0 / start.elapsed().as_secs_f64());
    assert_eq!(complete, [1], "other octets arrived than were sent");
}

fn unreachable(to: IpAddr) {
    // Not a time-out: the routes of the program refuse it.
    let error = TcpStream::connect((to, DOWN)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NetworkUnreachable, "{error}");
}

/// Prints the time of a look-up by the system's resolver.
fn look_up(name: &str) {
    let start = Instant::now();
    let found: Vec<SocketAddr> = (name, 80).to_socket_addrs().unwrap().collect();
    tell(ms(start));
    assert!(found.contains(&(WEB, 80).into()), "{found:?}");
}

/// Prints the time of a look-up over TCP at the first server of `resolv.conf`.
fn look_up_over_tcp(name: &str) {
    let file = std::fs::read_to_string("/etc/resolv.conf").unwrap();
    let server: IpAddr = file.lines().find_map(|line| line.strip_prefix("nameserver ")?.parse().ok()).unwrap();
    let mut query = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        query.push(label.len() as u8);
        query.extend(label.bytes());
    }
    query.extend([0, 0, 1, 0, 1]);
    let start = Instant::now();
    let mut stream = TcpStream::connect((server, 53)).unwrap();
    stream.write_all(&[&(query.len() as u16).to_be_bytes(), &query[..]].concat()).unwrap();
    let answer = message(&mut stream).unwrap();
    tell(ms(start));
    assert!(answer.starts_with(&[7, 9]) && answer.ends_with(&WEB.octets()), "{answer:?}");
}

/// Reads a message of DNS over TCP (RFC 1035, section 4.2.2).
fn message(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut message)?;
    Ok(message)
}

/// Answers every question of an address of IPv4, over UDP and TCP.
fn dns(at: IpAddr) {
    let udp = UdpSocket::bind((at, 53)).unwrap();
    let tcp = TcpListener::bind((at, 53)).unwrap();
    tell(0.0);
    std::thread::spawn(move || {
        for stream in tcp.incoming() {
            let mut stream = stream.unwrap();
            if let Ok(query) = message(&mut stream) {
                let answer = answer(&query);
                let _ = stream.write_all(&[&(answer.len() as u16).to_be_bytes(), &answer[..]].concat());
            }
        }
    });
    let mut buffer = [0; 2048];
    while let Ok((found, from)) = udp.recv_from(&mut buffer) {
        let _ = udp.send_to(&answer(&buffer[..found]), from);
    }
}

/// Returns the answer to a query with one question: its address for type A, nothing for others (RFC 1035, section 4.1).
fn answer(query: &[u8]) -> Vec<u8> {
    let name = query[12..].iter().position(|&octet| octet == 0).unwrap();
    let question = &query[12..12 + name + 5];
    let is_a = question[name + 1..] == [0, 1, 0, 1];
    let header = [query[0], query[1], 0x81, 0x80, 0, 1, 0, u8::from(is_a), 0, 0, 0, 0];
    let mut answer = [&header, question].concat();
    if is_a {
        // The name of the question, type A, class IN, a time to live of 0, four octets.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        answer.extend(WEB.octets());
    }
    answer
}
