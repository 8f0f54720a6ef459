//! Packets that a gateway loses itself are counted apart from those that the path loses.

use std::net::UdpSocket;

use rustix::process::Signal;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::world::{Version, World};
use crate::common::{self, until};
use crate::load::{meet, never_down, talk};

#[test]
fn packets_that_are_not_read_in_time_are_counted_as_local_drops() {
    if !common::possible("drops::packets_that_are_not_read_in_time_are_counted_as_local_drops") {
        return;
    }
    let _turn = common::turn();
    let world = World::new();
    let pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", ..Wish::default() });
    talk(&meet(&world, Version::V4));
    for side in Side::BOTH {
        assert_eq!(pair.number(side, "/receive_drops"), 0, "{side:?}");
    }
    // While it does not read, more arrives than its buffer of 4 MiB holds.
    pair.signal(Side::Far, Signal::STOP);
    let at = Side::Far.address(Version::V4);
    world.near.run(move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        (0..20_000).for_each(|_| assert_eq!(socket.send_to(&[0; 1_000], at).unwrap(), 1_000));
    });
    pair.signal(Side::Far, Signal::CONT);
    until("the packets are counted", || pair.number(Side::Far, "/receive_drops") > 1_000);
    assert_eq!(pair.number(Side::Near, "/receive_drops"), 0);
    assert!(
        pair.written(Side::Far)
            .lines()
            .any(|line| line.contains("WARN") && line.contains("lost here, not on the line"))
    );
    talk(&meet(&world, Version::V6));
    never_down(&pair);
    pair.stop();
}
