//! A typical proxy: it answers the client before it connects to the server, connects from its own address, and closes
//! both sides when one ends. The table must distinguish it from a direct connection.

use std::io::copy;
use std::net::SocketAddr;
use std::thread;

use socket2::Socket;

use crate::common::tcp::{listen, local, socket};
use crate::common::world::{World, nft, start};

const PORT: u16 = 5_000;

/// Redirects all IPv4 connections of the client from now on (TPROXY, Linux `Documentation/networking/tproxy.rst`).
pub(crate) fn begin(world: &World) {
    let transparent = "meta l4proto tcp socket transparent 1 meta mark set 1 accept";
    let take =
        format!("iifname clients meta nfproto ipv4 meta l4proto tcp tproxy ip to :{PORT} meta mark set 1 accept");
    let chain = format!("type filter hook prerouting priority mangle; policy accept\n{transparent}\n{take}");
    nft(&world.near, &format!("table inet proxy {{ chain pre {{ {chain}\n }}\n }}\n"));
    world.near.configure("rule add fwmark 1 lookup 100\nroute add local 0.0.0.0/0 dev lo table 100").unwrap();
    let listener = world.near.run(|| {
        let (listener, _) = listen(SocketAddr::from(([0, 0, 0, 0], PORT)), 1_024);
        listener.set_ip_transparent_v4(true).unwrap();
        listener.set_read_timeout(None).unwrap();
        listener
    });
    start(&world.near, move || {
        while let Ok((client, _)) = listener.accept() {
            thread::spawn(move || relay(&client));
        }
    });
}

/// Relays both directions until one ends.
fn relay(client: &Socket) {
    let at = local(client);
    let server = socket(at.ip());
    if server.connect(&at.into()).is_err() {
        return;
    }
    thread::scope(|scope| {
        for (mut from, mut to) in [(client, &server), (&server, client)] {
            scope.spawn(move || {
                let _ = copy(&mut from, &mut to);
                for socket in [from, to] {
                    let _ = socket.shutdown(std::net::Shutdown::Both);
                }
            });
        }
    });
}
