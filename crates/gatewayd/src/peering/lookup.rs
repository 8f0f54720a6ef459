//! Resolution of the addresses of peers, on other threads.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::{EventfdFlags, eventfd};

use crate::peer_id::PeerId;

/// Running lookups. Readable when one has ended.
#[derive(Debug)]
pub(super) struct Lookups {
    sender: Sender<(PeerId, io::Result<Vec<SocketAddr>>)>,
    receiver: Receiver<(PeerId, io::Result<Vec<SocketAddr>>)>,
    event: Arc<OwnedFd>,
}

impl AsFd for Lookups {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

impl Lookups {
    pub(super) fn new() -> io::Result<Lookups> {
        let event = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (sender, receiver) = channel();
        Ok(Lookups { sender, receiver, event })
    }

    /// Begins a lookup, whose result [`Lookups::next`] returns. A thread per name: there is one name per peer, and the
    /// resolver of the C library blocks.
    pub(super) fn begin(&self, peer: PeerId, address: &str) {
        let (sender, event, address) = (self.sender.clone(), Arc::clone(&self.event), address.to_owned());
        let work = move || {
            let found = address.to_socket_addrs().map(Iterator::collect);
            if sender.send((peer, found)).is_ok() {
                let _ = rustix::io::write(&event, &1_u64.to_ne_bytes());
            }
        };
        if let Err(error) = std::thread::Builder::new().name("lookup".to_owned()).spawn(work) {
            let _ = self.sender.send((peer, Err(error)));
            let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }

    pub(super) fn next(&self) -> Option<(PeerId, io::Result<Vec<SocketAddr>>)> {
        let _ = rustix::io::read(&self.event, &mut [0_u8; 8]);
        self.receiver.try_recv().ok()
    }
}
