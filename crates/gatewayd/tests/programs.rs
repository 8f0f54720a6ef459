//! Real programs through the pair, while a gateway dies, reloads, or reaches its limits. Tests of missing programs are
//! skipped with a message.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

#[path = "programs/bounds.rs"]
mod bounds;
mod common;
#[path = "programs/downloads.rs"]
mod downloads;
#[path = "programs/failures.rs"]
mod failures;
#[path = "programs/ftp.rs"]
mod ftp;
#[path = "programs/ftp_server.rs"]
mod ftp_server;
#[path = "programs/load.rs"]
mod load;
#[path = "programs/page.rs"]
mod page;
#[path = "programs/shell.rs"]
mod shell;
#[path = "programs/site.rs"]
mod site;

use std::net::{IpAddr, SocketAddr};

use common::tcp::socket;
use common::world::{SERVERS, Version, World, address};
use socket2::Socket;

const MEGA: u64 = 1_000_000;
const VERSIONS: [Version; 2] = [Version::V4, Version::V6];

fn server(version: Version) -> IpAddr {
    address(version, SERVERS, 2)
}

/// Returns true if the test `name` can continue in this process, and these programs are installed.
fn can(name: &str, programs: &[&str]) -> bool {
    common::possible(name) && programs.iter().all(|program| common::installed(program))
}

/// Connects from the client.
fn connect(world: &World, to: SocketAddr) -> std::io::Result<Socket> {
    world.client.run(move || {
        let socket = socket(to.ip());
        socket.connect(&to.into()).map(|()| socket)
    })
}
