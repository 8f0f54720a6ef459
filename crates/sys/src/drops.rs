//! Packets that the kernel drops at a socket because the process does not read them in time.

use std::io;
use std::os::fd::AsFd;

use super::raw;

/// The packets that the kernel has dropped at a socket, counted since it was made.
#[derive(Debug, Default)]
pub struct Drops {
    total: u64,
    /// The kernel's counter at the last update; it has 32 bits.
    last: u32,
}

impl Drops {
    /// Reads the kernel's counter of `socket` (`SO_MEMINFO`, Linux 4.12) and returns the total.
    ///
    /// # Errors
    /// The kernel is older.
    pub fn update(&mut self, socket: impl AsFd) -> io::Result<u64> {
        let now = raw::socket_drops(socket.as_fd())?;
        self.total += u64::from(now.wrapping_sub(self.last));
        self.last = now;
        Ok(self.total)
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn datagrams_that_find_no_room_are_counted() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        rustix::net::sockopt::set_socket_recv_buffer_size(&receiver, 16_384).unwrap();
        let mut drops = Drops::default();
        assert_eq!(drops.update(&receiver).unwrap(), 0);
        let to = receiver.local_addr().unwrap();
        for _ in 0..1_000 {
            sender.send_to(&[0; 1_000], to).unwrap();
        }
        receiver.set_nonblocking(true).unwrap();
        let received = std::iter::from_fn(|| receiver.recv(&mut [0; 2_000]).ok()).count() as u64;
        assert!(received > 0 && received < 1_000, "{received}");
        assert_eq!(drops.update(&receiver).unwrap(), 1_000 - received);
        assert_eq!(drops.update(&receiver).unwrap(), 1_000 - received, "counted once");
    }

    #[test]
    fn a_counter_that_wraps_continues() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        // As if the kernel had counted 2^32 - 5 before: its counter is now 0.
        let mut drops = Drops { total: 7, last: u32::MAX - 4 };
        assert_eq!(drops.update(&socket).unwrap(), 12);
    }
}
