//! The near gateway's address changes while bytes are in flight.

use crate::common::pair::{Pair, Side, Wish};
use crate::common::relay::{HOSTS, Relay};
use crate::common::world::{LINE, Version, World, address};
use crate::common::{self, until};
use crate::load::{Load, MEGA, meet, never_down, over_both, talk, until_crossed};

/// Returns the address of the near gateway in the view of the far one.
fn seen(pair: &Pair<'_>) -> String {
    pair.status(Side::Far).unwrap()["peers"][0]["address"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_nat_that_forgets_harms_nothing() {
    if !common::possible("address::a_nat_that_forgets_harms_nothing") {
        return;
    }
    let _turn = common::turn();
    over_both(|line| {
        let world = World::routed(1_500);
        let relay = Relay::start(&world, line, 6);
        let wish = Wish { rate: "30 Mbit/s", through: Some(relay.door()), line, ..Wish::default() };
        let pair = Pair::start(&world, &wish);
        let idle = meet(&world, Version::V4);
        let load = Load::start(&world, 6, 6 * MEGA);
        // Another port, another address, and back to the first.
        for host in [HOSTS[0], HOSTS[1], HOSTS[0]] {
            until_crossed(&pair, 2 * MEGA);
            let now = relay.rebind(host).to_string();
            until("the far gateway follows", || seen(&pair) == now);
        }
        load.whole();
        // Nothing is in flight: the far gateway learns the new address only from the next packet.
        relay.rebind(HOSTS[1]);
        talk(&[idle[1].try_clone().unwrap(), idle[0].try_clone().unwrap()]);
        never_down(&pair);
        pair.stop();
    });
}

#[test]
fn another_address_of_the_machine_harms_nothing() {
    if !common::possible("address::another_address_of_the_machine_harms_nothing") {
        return;
    }
    let _turn = common::turn();
    over_both(|line| {
        let world = World::new();
        // The secondary address remains when the first address of a network is removed.
        world.near.set("net/ipv4/conf/line/promote_secondaries", "1").unwrap();
        let through = Some(Side::Far.address(line));
        let pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", through, line, ..Wish::default() });
        let idle = meet(&world, Version::V4);
        let load = Load::start(&world, 6, 6 * MEGA);
        until_crossed(&pair, 3 * MEGA);
        let (old, new) = (address(line, LINE, 1), address(line, LINE, 9));
        assert!(seen(&pair).contains(&old.to_string()), "{}", seen(&pair));
        let (length, nodad) = if line == Version::V4 { (24, "") } else { (64, " nodad") };
        let lines = format!("address add {new}/{length} dev line{nodad}\naddress del {old}/{length} dev line");
        world.near.configure(&lines).unwrap();
        load.whole();
        talk(&idle);
        talk(&meet(&world, Version::V6));
        assert!(seen(&pair).contains(&new.to_string()), "{}", seen(&pair));
        never_down(&pair);
        pair.stop();
    });
}
