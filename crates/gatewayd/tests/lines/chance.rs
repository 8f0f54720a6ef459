//! A path that loses, reorders and duplicates.

use std::thread;
use std::time::Duration;

use crate::churn::Churn;
use crate::common;
use crate::common::pair::{Pair, Side, Wish};
use crate::common::relay::{Ills, Relay};
use crate::common::tcp::{ALL, received, reset, sent};
use crate::common::world::{Version, World};
use crate::load::{Load, MEGA, meet, never_down};

const BAD: Ills = Ills { lost: 20, late: 50, twice: 20, delay: Duration::from_millis(5), ..Ills::NONE };
const GOOD: Ills = Ills { delay: Duration::from_millis(5), ..Ills::NONE };

#[test]
fn losses_reordering_and_duplicates_harm_nothing() {
    if !common::possible("chance::losses_reordering_and_duplicates_harm_nothing") {
        return;
    }
    let _turn = common::turn();
    let world = World::routed(1_500);
    let relay = Relay::start(&world, Version::V4, 1);
    relay.set_both(BAD);
    let pair = Pair::start(&world, &Wish { rate: "100 Mbit/s", through: Some(relay.door()), ..Wish::default() });
    for (toward_near, toward_far) in [(BAD, GOOD), (GOOD, BAD), (BAD, BAD)] {
        relay.set(Side::Near, toward_near);
        relay.set(Side::Far, toward_far);
        Load::start(&world, 20, MEGA / 2).whole();
        for version in [Version::V4, Version::V6] {
            for (end, other) in [(0, 1), (1, 0)] {
                let mut ends = meet(&world, version).map(Some);
                let [sender, receiver] = [end, other].map(|end| ends[end].take().unwrap());
                assert_eq!(sent(&sender, 1, 1_000), "send: 1000 B");
                assert_eq!(received(&receiver, 1, 1_000), "recv: 1000 B");
                reset(sender);
                assert_eq!(received(&receiver, 1, ALL), "recv: ECONNRESET");
            }
        }
    }
    // All kinds of connections, with all kinds of ends.
    let churn = Churn::start(&world);
    thread::sleep(Duration::from_secs(5));
    let done = churn.stop();
    assert_eq!(done.wrong, Vec::<String>::new(), "{done}");
    never_down(&pair);
    for side in Side::BOTH {
        let counts = relay.counts(side);
        assert!(counts.lost > 100 && counts.late > 100 && counts.twice > 100, "toward {side:?}: {counts:?}");
        assert!(pair.number(side, "/peers/0/packets_lost") > 0, "{side:?}");
    }
    pair.stop();
}
