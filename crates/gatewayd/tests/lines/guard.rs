//! A rate above the bandwidth of the path.

use std::net::Shutdown;
use std::thread;
use std::time::Duration;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::relay::{Counts, Ills, Relay};
use crate::common::tcp::{ALL, received, send};
use crate::common::world::{Version, World};
use crate::common::{self, until};
use crate::load::{MEGA, meet, never_down};

/// Octets per second of a link of 16 Mbit/s, with a queue of a tenth of a second.
const LINE: u64 = 2_000_000;
const QUEUE: Duration = Duration::from_millis(100);
const DELAY: Duration = Duration::from_millis(20);

fn fits(pair: &Pair<'_>) -> Option<f64> {
    pair.status(Side::Near).unwrap()["peers"][0]["fits"].as_f64()
}

/// Runs a client that sends for the duration of `test`, over a link of 16 Mbit/s with gateways configured for 20.
fn uploading(peer: &str, test: impl FnOnce(&Pair<'_>, &dyn Fn() -> Counts)) {
    let world = World::routed(1_500);
    let relay = Relay::start(&world, Version::V4, 7);
    let line = Ills { delay: DELAY, ..Ills::NONE };
    relay.set_both(line);
    let wish = Wish { rate: "20 Mbit/s", peer: peer.into(), through: Some(relay.door()), ..Wish::default() };
    let pair = Pair::start(&world, &wish);
    relay.set(Side::Far, Ills { carries: Some((LINE, QUEUE)), ..line });
    let ends = [Version::V4, Version::V6].map(|version| {
        let [client, server] = meet(&world, version);
        let closes = server.try_clone().unwrap();
        let sends = thread::spawn(move || drop(send(&client, 1, 10_000 * MEGA)));
        let reads = thread::spawn(move || drop(received(&server, 1, ALL)));
        (closes, sends, reads)
    });
    test(&pair, &|| relay.counts(Side::Far));
    for (closes, sends, reads) in ends {
        // Later segments find no socket and reset the sender: bytes in flight need not arrive.
        closes.shutdown(Shutdown::Both).unwrap();
        reads.join().unwrap();
        drop(closes);
        sends.join().unwrap();
    }
    never_down(&pair);
    pair.stop();
}

#[test]
fn a_rate_that_is_too_high_is_reported_and_reduced() {
    if !common::possible("guard::a_rate_that_is_too_high_is_reported_and_reduced") {
        return;
    }
    let _turn = common::turn();
    uploading("", |pair, counts| {
        until("the queue is full", || counts().crowded > 0);
        until("the rate is found to be too high", || fits(pair).is_some());
        let found = fits(pair).unwrap();
        assert!((14e6..=16e6).contains(&found), "{found}");
        let status = pair.status(Side::Near).unwrap();
        let [sends, rate] = ["sending_rate", "rate"].map(|key| status["peers"][0][key].as_f64().unwrap());
        assert!(rate == 20e6 && sends <= 16e6, "{sends} of {rate}");
        // After its queue has drained, and for the 10 s of the first pause, the path carries all packets. Without the
        // guard a fifth is lost; a relay that is not scheduled in time loses some.
        thread::sleep(Duration::from_secs(3));
        let before = counts();
        thread::sleep(Duration::from_secs(4));
        let after = counts();
        let (carried, lost) = (after.carried - before.carried, after.crowded - before.crowded);
        assert!(carried > 1_000 && lost < carried / 20, "{before:?} {after:?}");
        let log = pair.written(Side::Near);
        assert!(log.lines().any(|line| line.contains("WARN") && line.contains("above what the line carries")));
        assert_eq!(pair.number(Side::Near, "/peers/0/overloads"), 1);
        assert_eq!(pair.number(Side::Far, "/peers/0/overloads"), 0, "nothing is sent from there");
    });
}

#[test]
fn a_guard_that_is_off_only_reports() {
    if !common::possible("guard::a_guard_that_is_off_only_reports") {
        return;
    }
    let _turn = common::turn();
    uploading("rate-guard = \"off\"", |pair, counts| {
        until("the rate is found to be too high", || fits(pair).is_some());
        let before = counts();
        thread::sleep(Duration::from_secs(4));
        assert!(counts().crowded > before.crowded + 100, "{before:?} {:?}", counts());
        let status = pair.status(Side::Near).unwrap();
        assert_eq!(status["peers"][0]["sending_rate"], 20e6);
    });
}
