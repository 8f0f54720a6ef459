//! The path of the status socket in use by another program.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

use super::*;

/// A socket of another program at `path`, whose backlog is full; and the connections in its backlog.
fn full_listener(path: &Path) -> (Socket, Vec<Socket>) {
    let address = SockAddr::unix(path).unwrap();
    let listener = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    listener.bind(&address).unwrap();
    listener.listen(0).unwrap();
    let connect = || {
        let client = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        client.set_nonblocking(true).unwrap();
        client.connect(&address).map(|()| client)
    };
    let waiting: Vec<Socket> = std::iter::from_fn(|| connect().ok()).take(100).collect();
    assert_eq!(connect().unwrap_err().kind(), ErrorKind::WouldBlock, "the backlog is full");
    (listener, waiting)
}

#[test]
fn a_listener_with_a_full_backlog_blocks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("control.sock");
    let (control, _) = watched(dir.path());
    std::fs::remove_file(&path).unwrap();
    let (listener, _waiting) = full_listener(&path);
    let (done, result) = channel();
    let opened = path.clone();
    thread::spawn(move || {
        let _ = done.send(socket::StatusSocket::open(&opened).map(drop).map_err(|error| error.kind()));
        // Several checks of the file pass meanwhile.
        thread::sleep(Duration::from_secs(5));
        let answer = http(&control, b"HEAD /metrics HTTP/1.1\r\n\r\n");
        control.end();
        let _ = done.send(if answer.starts_with("HTTP/1.1 200 OK") { Ok(()) } else { Err(ErrorKind::InvalidData) });
    });
    // Only turns a hang into a failure.
    let next = || result.recv_timeout(Duration::from_secs(30));
    assert_eq!(next(), Ok(Err(ErrorKind::AddrInUse)));
    assert_eq!(next(), Ok(Ok(())), "the control thread serves metrics and ends");
    assert!(path.exists(), "the file of the other program is still there");
    drop(listener);
}

#[test]
fn a_client_does_not_wait_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("control.sock");
    let (_listener, _waiting) = full_listener(&path);
    let (done, result) = channel();
    thread::spawn(move || done.send(ask(&path, false).map(drop).map_err(|error| error.kind())));
    assert_eq!(result.recv_timeout(Duration::from_secs(60)), Ok(Err(ErrorKind::WouldBlock)));
}

#[test]
fn a_socket_of_another_kind_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("control.sock");
    let datagrams = UnixDatagram::bind(&path).unwrap();
    assert!(socket::StatusSocket::open(&path).is_err());
    let client = UnixDatagram::unbound().unwrap();
    client.send_to(b"x", &path).unwrap();
    assert_eq!(datagrams.recv(&mut [0; 2]).unwrap(), 1, "its name still leads to it");
}
