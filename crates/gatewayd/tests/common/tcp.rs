//! Actions of hosts with TCP, and their results as text.

use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

/// The timeout of a host; only turns a hang into a difference.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Opens a TCP socket for the version of `address`; all calls on it have a timeout.
pub(crate) fn socket(address: IpAddr) -> Socket {
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Opens a listener on `address`. Returns it with its address.
pub(crate) fn listen(address: SocketAddr, backlog: i32) -> (Socket, SocketAddr) {
    let socket = socket(address.ip());
    socket.set_reuse_address(true).unwrap();
    socket.bind(&address.into()).unwrap();
    socket.listen(backlog).unwrap();
    let at = local(&socket);
    (socket, at)
}

/// Returns the next connection.
pub(crate) fn accept(listener: &Socket) -> io::Result<Socket> {
    if !ready(listener, PollFlags::IN, PATIENCE) {
        return Err(ErrorKind::TimedOut.into());
    }
    let (socket, _) = listener.accept()?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// `getsockname`.
pub(crate) fn local(socket: &Socket) -> SocketAddr {
    socket.local_addr().unwrap().as_socket().unwrap()
}

/// `getpeername`.
pub(crate) fn peer(socket: &Socket) -> io::Result<SocketAddr> {
    socket.peer_addr().map(|address| address.as_socket().unwrap())
}

/// Returns true if one of `wanted` (or an error or an end) occurs within `time`.
pub(crate) fn ready(socket: &impl AsFd, wanted: PollFlags, time: Duration) -> bool {
    let time = Timespec::try_from(time).unwrap();
    poll(&mut [PollFd::from_borrowed_fd(socket.as_fd(), wanted)], Some(&time)).unwrap() > 0
}

/// Waits until the connection fails. Returns the error.
pub(crate) fn failure(socket: &Socket) -> String {
    let time = Timespec::try_from(PATIENCE).unwrap();
    let mut poll_fd = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::empty())];
    if poll(&mut poll_fd, Some(&time)).unwrap() == 0 {
        return "nothing".into();
    }
    match socket.take_error().unwrap() {
        Some(error) => errno(&error),
        None => "hung up without an error".into(),
    }
}

/// Returns the name of an error.
pub(crate) fn errno(error: &io::Error) -> String {
    // A call that timed out after PATIENCE; a kernel's timeout has a number.
    if error.raw_os_error().is_none() && error.kind() == ErrorKind::TimedOut {
        return "nothing".into();
    }
    let name = match Errno::from_io_error(error) {
        Some(Errno::CONNREFUSED) => "ECONNREFUSED",
        Some(Errno::CONNRESET) => "ECONNRESET",
        Some(Errno::CONNABORTED) => "ECONNABORTED",
        Some(Errno::HOSTUNREACH) => "EHOSTUNREACH",
        Some(Errno::NETUNREACH) => "ENETUNREACH",
        Some(Errno::TIMEDOUT) => "ETIMEDOUT",
        Some(Errno::ACCESS) => "EACCES",
        Some(Errno::PIPE) => "EPIPE",
        Some(Errno::INPROGRESS) => "EINPROGRESS",
        Some(Errno::INVAL) => "EINVAL",
        Some(Errno::NOTCONN) => "ENOTCONN",
        Some(Errno::ADDRINUSE) => "EADDRINUSE",
        Some(Errno::ADDRNOTAVAIL) => "EADDRNOTAVAIL",
        Some(Errno::AGAIN) => "nothing",
        _ => return error.to_string(),
    };
    name.into()
}

/// Returns "ok" or the name of the error.
pub(crate) fn outcome<T>(result: &io::Result<T>) -> String {
    match result {
        Ok(_) => "ok".into(),
        Err(error) => errno(error),
    }
}

/// Returns octet `index` of the stream `seed`. No power of two is a period of it.
pub(crate) fn octet(seed: u64, index: u64) -> u8 {
    let mixed = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed ^ (mixed >> 29)).to_le_bytes()[4]
}

/// Sends `count` octets of the stream `seed`. Returns the number that was accepted and the result.
pub(crate) fn send(mut socket: &Socket, seed: u64, count: u64) -> (u64, io::Result<()>) {
    let (mut sent, mut buffer) = (0, vec![0; 65536]);
    while sent < count {
        let piece = buffer.len().min(usize::try_from(count - sent).unwrap());
        for (place, index) in buffer[..piece].iter_mut().zip(sent..) {
            *place = octet(seed, index);
        }
        let mut rest = &buffer[..piece];
        while !rest.is_empty() {
            match socket.write(rest) {
                Ok(taken) => {
                    rest = &rest[taken..];
                    sent += taken as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return (sent, Err(error)),
            }
        }
    }
    (sent, Ok(()))
}

/// Sends like [`send`]. Returns the result as text.
pub(crate) fn sent(socket: &Socket, seed: u64, count: u64) -> String {
    match send(socket, seed, count) {
        (_, Ok(())) => format!("send: {count} B"),
        (sent, Err(error)) => format!("send: {sent} of {count} B, then {}", errno(&error)),
    }
}

/// Sends octets of the stream `seed` until there has been no room for them for a second. Returns the reason for the
/// end.
pub(crate) fn filled(mut socket: &Socket, seed: u64) -> String {
    socket.set_nonblocking(true).unwrap();
    let mut sent = 0;
    loop {
        let piece: Vec<u8> = (sent..sent + 65_536).map(|index| octet(seed, index)).collect();
        match socket.write(&piece) {
            Ok(taken) => sent += taken as u64,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if !ready(socket, PollFlags::OUT, Duration::from_secs(1)) {
                    return "until there is no room".into();
                }
            }
            Err(error) => return errno(&error),
        }
    }
}

/// Reads until the end, an error or `most` octets, all of which must be of the stream `seed`.
pub(crate) fn received(mut socket: &Socket, seed: u64, most: u64) -> String {
    let (mut got, mut buffer) = (0, vec![0; 65536]);
    let end = loop {
        if got == most {
            break None;
        }
        let piece = buffer.len().min(usize::try_from(most - got).unwrap_or(usize::MAX));
        match socket.read(&mut buffer[..piece]) {
            Ok(0) => break Some("end".to_owned()),
            Ok(count) => {
                if let Some(wrong) = (got..).zip(&buffer[..count]).find(|&(index, &value)| octet(seed, index) != value)
                {
                    break Some(format!("a wrong octet at {}", wrong.0));
                }
                got += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break Some(errno(&error)),
        }
    };
    match end {
        None => format!("recv: {got} B"),
        Some(end) if got == 0 => format!("recv: {end}"),
        Some(end) => format!("recv: {got} B, then {end}"),
    }
}

/// No limit: all octets until the end.
pub(crate) const ALL: u64 = u64::MAX;

/// Waits until `count` octets have arrived, without reading them; false if they do not arrive.
pub(crate) fn waiting(socket: &Socket, count: usize) -> bool {
    let mut buffer = vec![MaybeUninit::uninit(); count];
    for _ in 0..PATIENCE.as_millis() / 5 {
        if socket.peek(&mut buffer).is_ok_and(|there| there >= count) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Ends the connection with a reset.
pub(crate) fn reset(socket: Socket) {
    socket.set_linger(Some(Duration::ZERO)).unwrap();
    drop(socket);
}
