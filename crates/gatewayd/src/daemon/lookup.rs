//! Lookups of the names of servers, each on a thread of its own, as the resolver blocks.

use std::net::ToSocketAddrs;

use super::handle::{Command, Handle};
use super::hosts::Token;

/// Most lookups at once.
const MOST: u32 = 64;

#[derive(Debug)]
pub(crate) struct Lookups {
    running: u32,
    /// The addresses arrive over this, as [`Command::Found`].
    handle: Handle,
}

impl Lookups {
    pub(crate) fn new(handle: Handle) -> Lookups {
        Lookups { running: 0, handle }
    }
    /// Looks up the server of a connection; returns false if too many lookups are running.
    pub(crate) fn start(&mut self, token: Token, name: &str, port: u16) -> bool {
        if self.running >= MOST {
            return false;
        }
        self.running += 1;
        let (name, handle) = (name.to_owned(), self.handle.clone());
        let thread = std::thread::Builder::new().name("look-up".into()).spawn(move || {
            let addresses = (name.as_str(), port).to_socket_addrs().map(Iterator::collect).unwrap_or_default();
            handle.send(Command::Found { token, addresses });
        });
        if thread.is_err() {
            self.handle.send(Command::Found { token, addresses: Vec::new() });
        }
        true
    }
    /// Counts a lookup that has ended.
    pub(crate) fn ended(&mut self) {
        self.running = self.running.saturating_sub(1);
    }
}
