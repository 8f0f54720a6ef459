use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread::sleep;
use std::time::Duration;

use rustix::io::ioctl_fionread;
use rustix::net::sockopt::set_socket_oobinline;
use rustix::net::{SendFlags, send};

use super::*;

/// Returns both ends of a connection of this host.
fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

#[test]
fn the_urgent_byte_is_found_before_it_is_read() {
    let (mut host, mut socket) = connection();
    set_socket_oobinline(&socket, true).unwrap();
    // Waits until `count` bytes have arrived, and the mark with them.
    let find = |socket: &TcpStream, count| {
        while ioctl_fionread(socket).unwrap() < count {
            sleep(Duration::from_millis(1));
        }
        urgent(socket, count).unwrap()
    };
    host.write_all(b"abc").unwrap();
    assert_eq!((urgent(&socket, 0).unwrap(), find(&socket, 3)), (None, None));
    send(&host, b"U", SendFlags::OOB).unwrap();
    host.write_all(b"def").unwrap();
    assert_eq!((find(&socket, 7), urgent(&socket, 3).unwrap()), (Some(3), None));
    let mut read = [0; 3];
    socket.read_exact(&mut read).unwrap();
    assert_eq!((find(&socket, 4), &read), (Some(0), b"abc"));
    socket.read_exact(&mut read).unwrap();
    assert_eq!((find(&socket, 1), &read), (None, b"Ude"));
}

#[test]
fn sent_bytes_are_counted() {
    let (mut client, mut server) = connection();
    client.write_all(&[7; 5000]).unwrap();
    server.read_exact(&mut [0; 5000]).unwrap();
    let info = Info::of(&client).unwrap();
    assert_eq!(info.bytes_sent, 5000);
    // SYN, the acknowledgement of SYN-ACK, and data.
    assert!(info.segments_sent >= 2, "{info:?}");
    assert_eq!(Info::of(&server).unwrap().bytes_sent, 0);
}

#[test]
fn unacknowledged_bytes_are_counted() {
    let (mut client, server) = connection();
    assert_eq!(unacknowledged(&client).unwrap(), 0);
    client.set_nonblocking(true).unwrap();
    let mut written = 0;
    while let Ok(n) = client.write(&[7; 65_536]) {
        written += n as u64;
    }
    // The other end does not read, so it has acknowledged the size of its buffer and no more.
    let left = unacknowledged(&client).unwrap();
    assert!(left > 0 && left <= written, "{left} of {written}");
    drop(server);
}

#[test]
fn the_longest_timeout_is_taken_where_the_kernel_has_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for wanted in [Duration::ZERO, Duration::from_secs(5), Duration::from_secs(1 << 40)] {
        match set_longest_timeout(&listener, wanted) {
            // Linux before 6.15.
            Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => {
                return crate::skipped::skip(&format!("the kernel has no longest timeout of TCP: {error}"));
            }
            result => result.unwrap(),
        }
    }
}

#[test]
fn options_are_taken() {
    let (client, _server) = connection();
    let get_int = |name| {
        let mut octets = [0; size_of::<c_int>()];
        get(client.as_fd(), name, &mut octets).unwrap();
        c_int::from_ne_bytes(octets)
    };
    defer_port(&client).unwrap();
    assert_eq!(get_int(BIND_ADDRESS_NO_PORT), 1);
    set_window_clamp(&client, 50_000).unwrap();
    assert_eq!(get_int(WINDOW_CLAMP), 50_000);
    set_max_pacing_rate(&client, 1_000_000).unwrap();
    assert_eq!(get_int(MAX_PACING_RATE), 1_000_000);
}

#[test]
fn another_kind_of_descriptor_is_refused() {
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert!(Info::of(&datagrams).is_err());
    assert!(set_window_clamp(&datagrams, 50_000).is_err());
    let file = std::fs::File::open("/dev/null").unwrap();
    assert!(unacknowledged(&file).is_err());
    assert!(defer_port(&file).is_err());
}
