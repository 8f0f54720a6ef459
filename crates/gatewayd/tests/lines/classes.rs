//! Classes between two real daemons: shares of a link by counted bytes, and a ceiling.

use std::io::{Read, Write};
use std::net::SocketAddr;

use socket2::Socket;

use crate::common;
use crate::common::pair::{Pair, Side, Wish};
use crate::common::tcp::{accept, listen, socket};
use crate::common::world::{SERVERS, Version, World, address, start};

/// The ports of the servers of each class, with the connections to them.
const CLASSES: [(u16, usize); 3] = [(7001, 8), (7002, 1), (7003, 2)];
const CONFIGURED: &str = "
[[class]]
name = \"many\"
ports = [7001]
[[class]]
name = \"one\"
ports = [7002]
[[class]]
name = \"slow\"
ports = [\"7003-7004\"]
ceiling = \"1 Mbit/s\"
";
/// The ceiling of the third (octets per second).
const CEILING: f64 = 125_000.0;

/// Sends until the connection ends, or reads.
fn carry(mut socket: Socket, sends: bool) {
    let mut buffer = vec![b'x'; 1 << 16];
    if sends {
        while socket.write_all(&buffer).is_ok() {}
        return;
    }
    while let Ok(1..) = socket.read(&mut buffer) {}
}

/// Returns the octets on the link that one gateway has sent of each class, and its uptime (s).
fn sent(pair: &Pair<'_>, side: Side) -> ([f64; 3], f64) {
    let status = pair.status(side).unwrap();
    let classes = status.pointer("/peers/0/classes").unwrap().as_array().unwrap();
    let names: Vec<_> = classes.iter().map(|class| class["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["many", "one", "slow", "default"]);
    let octets = [0, 1, 2].map(|place| classes[place]["line_octets"].as_f64().unwrap());
    (octets, status["uptime"].as_f64().unwrap())
}

/// Eight connections of one class and one of another get equal parts, in whichever direction they send, by what the daemon
/// has counted; a class with a ceiling gets no more than that.
#[test]
fn a_class_of_eight_connections_and_one_of_one_share_the_line() {
    if !common::possible("a_class_of_eight_connections_and_one_of_one_share_the_line") {
        return;
    }
    let _turn = common::alone();
    for download in [false, true] {
        let world = World::routed(1_500);
        let wish = Wish { rate: "10 Mbit/s", limits: CONFIGURED.to_owned(), ..Wish::default() };
        let mut pair = Pair::start(&world, &wish);
        let mut ends = Vec::new();
        for (port, connections) in CLASSES {
            let at: SocketAddr = (address(Version::V4, SERVERS, 2), port).into();
            let (listener, _) = world.server.run(move || listen(at, 64));
            for _ in 0..connections {
                let listener = listener.try_clone().unwrap();
                ends.push(start(&world.server, move || accept(&listener).map_or((), |socket| carry(socket, download))));
                ends.push(start(&world.client, move || {
                    let socket = socket(at.ip());
                    socket.connect(&at.into()).unwrap();
                    carry(socket, !download);
                }));
            }
        }
        let side = if download { Side::Far } else { Side::Near };
        // From when all classes send until each of the two has sent 2 MB.
        common::until("all classes send", || sent(&pair, side).0.iter().all(|&octets| octets > 100_000.0));
        let (before, from) = sent(&pair, side);
        common::until("2 MB of each have been sent", || sent(&pair, side).0[1] - before[1] > 2e6);
        let (after, until) = sent(&pair, side);
        let [many, one, slow] = [0, 1, 2].map(|class| after[class] - before[class]);
        println!("download {download}: {many} {one} {slow} in {} s", until - from);
        // By connections it would be 8.
        assert!((0.9..=1.1).contains(&(many / one)), "{many} {one}");
        // The daemon makes up for lateness, and a packet of each class may be on the line.
        assert!(slow <= CEILING * (until - from + 0.1) + 5.0 * 1_500.0, "{slow} in {} s", until - from);
        assert!(slow > 0.0);
        Side::BOTH.into_iter().for_each(|side| pair.kill(side));
        ends.into_iter().for_each(|end| end.join().unwrap());
    }
}
