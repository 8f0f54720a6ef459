//! Predictions for scenario files, against sums done by hand.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use cellway_scenario::Plan;
use cellway_theory::{GroupPrediction, Limit, predict};

fn groups(text: &str) -> Vec<GroupPrediction> {
    let plan = Plan::parse(text, "test.toml").unwrap_or_else(|e| panic!("{e}"));
    predict(&plan.points().unwrap()[0].scenario)
}

const HEAD: &str = r#"
version = 1
name = "test"
[run]
duration = "10 s"
warmup = "1 s"
[multiplexing]
channel = "per-conversation"
encapsulation = "vc-mux"
[buffer]
size = "1000 cell"
"#;

const LINE: &str = r#"
[[node]]
name = "r1"
kind = "router"
[[node]]
name = "s1"
kind = "switch"
[[node]]
name = "r2"
kind = "router"
[[link]]
between = ["r1", "s1"]
rate = "1.5 Mbit/s"
delay = "22.5 ms"
[[link]]
between = ["s1", "r2"]
rate = "3 Mbit/s"
delay = "0 s"
"#;

#[test]
fn the_round_trip_is_exact_over_packets_and_cells() {
    let groups = groups(&format!(
        "{HEAD}[tcp]\nprofile = 'classic'\nvariant = 'reno'\nmss = '512 B'\nwindow = '4 KiB'\n{LINE}
[[traffic]]
name = 'bulk'
app = 'bulk'
count = 1
from = 'r1'
to = 'r2'
access = {{ rate = '1.5 Mbit/s', delay = '1 ms' }}
"
    ));
    let [group] = &groups[..] else { panic!("{groups:?}") };
    let prediction = &group.legs[0].prediction;
    // Twice 24.5 ms; 552 B over each access line; 12 cells, of which the last is 11 of the slower line behind the first;
    // 40 B and one cell back.
    let (slow, fast) = (424.0 / 1.5e6, 424.0 / 3e6);
    let expected = 0.049 + 2.0 * 552.0 * 8.0 / 1.5e6 + 12.0 * slow + fast + 2.0 * 40.0 * 8.0 / 1.5e6 + slow + fast;
    assert!((prediction.round_trip - expected).abs() < 1e-12, "{} {expected}", prediction.round_trip);
    assert_eq!(prediction.binding().limit, Limit::Window);
    assert!((group.goodput - 8.0 * 512.0 * 8.0 / expected).abs() < 1e-6);
    let framing = prediction.bounds.iter().find(|b| b.limit == Limit::Framing).unwrap();
    assert_eq!((framing.at.as_str(), format!("{:.4}", framing.value / 1e6)), ("r1-s1", "1.2075".to_owned()));
    assert_eq!(group.caveats, Vec::<String>::new());
}

#[test]
fn a_shaper_paces_and_needs_its_buffer() {
    let groups = groups(&format!(
        "{HEAD}[tcp]\nprofile = 'classic'\nvariant = 'reno'\nmss = '512 B'\nwindow = '16 KiB'\nsend-buffer = '64 KiB'\n{LINE}
[[shaper]]
name = 'spacer'
at = 's1'
link = 's1-r2'
rate = '1 Mbit/s'
[[traffic]]
name = 'bulk'
app = 'bulk'
count = 3
from = 'r1'
to = 'r2'
access = {{ rate = '1.5 Mbit/s', delay = '0 s' }}
[[traffic]]
name = 'get'
app = 'ftp-get'
workload = {{ size = '1 MB' }}
count = 1
from = 'r2'
to = 'r1'
access = {{ rate = '10 Mbit/s', delay = '0 s' }}
"
    ));
    let [bulk, get] = &groups[..] else { panic!("{groups:?}") };
    let prediction = &bulk.legs[0].prediction;
    let shaping = prediction.bounds.iter().find(|b| b.limit == Limit::Shaping).unwrap();
    // One for each channel, and a channel for each conversation.
    assert_eq!(shaping.at, "spacer");
    assert!((shaping.value - 3.0 * 1e6 * 512.0 / (12.0 * 53.0)).abs() < 1e-3);
    assert_eq!(prediction.binding().limit, Limit::Framing);
    let buffer = prediction.spacer_buffer.unwrap();
    // 32 segments of 12 cells from 1.5 to 1 Mbit/s: w σ - c Δ + σ (1 - c/h).
    let pipe = 1e6 / 424.0 * prediction.round_trip;
    assert!((buffer.value - (32.0 * 12.0 - pipe + 12.0 * (1.0 - 1.0 / 1.5))).abs() < 1e-6, "{buffer:?}");
    assert!(bulk.caveats[0].contains("without get"), "{:?}", bulk.caveats);
    // Its data takes the same route, from the responder to the originator.
    assert!(get.legs[0].prediction.bounds.iter().any(|b| b.at == "spacer"));
}

#[test]
fn gateways_cut_the_loop_in_three() {
    let file = |gateway: bool, nagle: bool| {
        format!(
            "{HEAD}[tcp]\nprofile = 'classic'\nvariant = 'reno'\nmss = '8192 B'\nwindow = '36592 B'\nsend-buffer = '36592 B'\nnagle = {nagle}\n
[[node]]
name = 'a'
kind = 'host'
[[node]]
name = 'b'
kind = 'host'
[[node]]
name = 'g1'
kind = 'gateway'
peer = 'g2'
gateway = {{ window = '1 MiB', rate = '30 Mbit/s', packet = '8192 B', send = '0.36 ms', receive = '0.36 ms' }}
[[node]]
name = 'g2'
kind = 'gateway'
peer = 'g1'
gateway = {{ window = '1 MiB', rate = '30 Mbit/s', packet = '8192 B', send = '0.36 ms', receive = '0.36 ms' }}
[[link]]
between = ['a', 'g1']
rate = 'oc3c'
delay = '0 s'
framing = 'atm'
[[link]]
between = ['g1', 'g2']
rate = 'ds3'
delay = '87.5 ms'
[[link]]
between = ['g2', 'b']
rate = 'oc3c'
delay = '1 ms'
framing = 'atm'
[[traffic]]
name = 'ttcp'
app = 'ttcp'
workload = {{ write = '8192 B', buffers = 2048 }}
count = 1
from = 'a'
to = 'b'
gateway = {gateway}
"
        )
    };
    let split = &groups(&file(true, true))[0];
    let places: Vec<(&str, &str, bool)> = split.legs.iter().map(|l| (&l.from[..], &l.to[..], l.transport)).collect();
    assert_eq!(places, [("a", "g1", false), ("g1", "g2", true), ("g2", "b", false)]);
    // Between the gateways: 30 Mbit/s of cells, 172 for 8192 + 43 B.
    let middle = &split.legs[1].prediction;
    assert_eq!(middle.binding().limit, Limit::Gateway);
    assert!((middle.goodput - 30e6 * 8192.0 / (172.0 * 53.0)).abs() < 1e-3);
    assert!(middle.round_trip > 0.175 && split.legs[0].prediction.round_trip < 0.01);
    // On the far side four segments to 1 ms away: more than the gateways deliver.
    let far = &split.legs[2].prediction;
    assert!(far.round_trip > 0.002 && far.goodput > middle.goodput);
    assert_eq!((split.binding, split.goodput), (1, middle.goodput));
    let whole = &groups(&file(false, true))[0];
    let [loop_] = &whole.legs[..] else { panic!("{:?}", whole.legs) };
    assert_eq!(loop_.prediction.binding().limit, Limit::Window);
    // 172 cells at the pace of the DS-3, in each direction a cell of the other two lines; one cell back.
    let (ds3, oc3) = (424.0 / 40.704e6, 424.0 / 149.76e6);
    let expected = 0.177 + 171.0 * ds3 + 2.0 * (ds3 + 2.0 * oc3);
    assert!((whole.goodput - 4.0 * 8192.0 * 8.0 / expected).abs() < 1e-3, "{}", whole.goodput);
    assert!(loop_.prediction.advice.contains("place a gateway pair"));
    // Without Nagle's rule the rest of the window is sent as a short segment.
    let all = groups(&file(false, false))[0].goodput;
    assert!((all / whole.goodput - 36592.0 / (4.0 * 8192.0)).abs() < 1e-9, "{all}");
}

/// Implicit hosts have an access line each: only shared links are divided.
#[test]
fn lines_of_their_own_bound_each_connection_and_not_all() {
    let text = format!(
        "{HEAD}[tcp]\nprofile = 'classic'\nvariant = 'reno'\nmss = '1460 B'\nwindow = '64000 B'\n
[[node]]
name = 'a'
kind = 'router'
[[node]]
name = 'b'
kind = 'router'
[[link]]
between = ['a', 'b']
rate = 'ds3'
delay = '1 ms'
[[traffic]]
name = 't'
app = 'bulk'
count = 3
from = 'a'
to = 'b'
access = {{ rate = 'ethernet', delay = '0 s' }}
"
    );
    let three = groups(&text)[0].goodput;
    // A packet of 1500 octets takes 38 more on Ethernet.
    assert!((three - 3.0 * 10e6 * 1460.0 / 1538.0).abs() < 1.0, "{three}");
    let many = groups(&text.replace("count = 3", "count = 8"))[0].goodput;
    assert!(many < 36e6 && many > three, "now the DS-3 binds: {many}");
}

#[test]
fn hosts_contracts_and_framings_bound_too() {
    let groups = groups(&format!(
        "{HEAD}[tcp]\nprofile = 'classic'\nvariant = 'reno'\nmss = '1460 B'\nwindow = '64000 B'\n{LINE}
[[traffic]]
name = 'paced'
app = 'telnet'
count = 2
from = 'r1'
to = 'r2'
service = {{ class = 'cbr', pcr = '500 kbit/s' }}
access = {{ rate = 'ethernet', delay = '0 s', framing = 'ethernet' }}
host = {{ rate = '2 Mbit/s', send = '0.3 ms', receive = '0.2 ms' }}
"
    ));
    let prediction = &groups[0].legs[0].prediction;
    let bound = |limit| prediction.bounds.iter().find(|b| b.limit == limit).unwrap();
    // 32 cells of a packet of 1500 B, for each of two channels.
    assert!((bound(Limit::Shaping).value - 2.0 * 500e3 * 1460.0 / (32.0 * 53.0)).abs() < 1e-6);
    // Each of two hosts: 1500 B at 2 Mbit/s and 0.3 ms.
    assert!((bound(Limit::Host).value - 2.0 * 1460.0 * 8.0 / (0.006 + 0.0003)).abs() < 1e-3);
    assert_eq!(prediction.binding().limit, Limit::Shaping);
    assert!(groups[0].caveats[0].contains("does not always have data"));
}

/// Several connections have several windows, so what one transfer gets is no bound for them.
#[test]
fn a_page_is_predicted_as_one_transfer() {
    let groups = groups(&format!(
        "{HEAD}[tcp]\nprofile = 'classic'\nmss = '1460 B'\nwindow = '64000 B'\n{LINE}
[[traffic]]
name = 'web'
app = 'page'
from = 'r1'
to = 'r2'
access = {{ rate = 'ethernet', delay = '0 s', framing = 'ethernet' }}
workload = {{ html = '1 kB', objects = {{ count = 3, sizes = 'web-search' }} }}
"
    ));
    let caveats = &groups[0].caveats;
    assert!(caveats[0].contains("predicted as one transfer without end"), "{caveats:?}");
    assert!(caveats.iter().all(|caveat| !caveat.contains("upper bound")), "{caveats:?}");
}

/// 1000 cells before an Ethernet are 53 000 octets of packets. From FDDI, 1536 octets at 100 Mbit/s, into frames of 1538
/// at 10 Mbit/s a part of 1 - 0.12288 ms / 1.2304 ms = 0.90013 of a burst waits: 39 packets of 1500 octets fit.
#[test]
fn a_buffer_in_cells_holds_octets_before_a_line_of_packets() {
    let groups = groups(&format!(
        "{HEAD}[tcp]\nprofile = 'classic'\nvariant = 'reno'\nmss = '1460 B'\nwindow = '64000 B'\n
[[node]]
name = 'a'
kind = 'host'
[[node]]
name = 'r'
kind = 'router'
[[node]]
name = 'b'
kind = 'host'
[[link]]
between = ['a', 'r']
rate = 'fddi'
delay = '0 s'
[[link]]
between = ['r', 'b']
rate = 'ethernet'
delay = '30 ms'
[[traffic]]
name = 'copy'
app = 'bulk'
from = 'a'
to = 'b'
"
    ));
    let [burst] = &groups[0].legs[0].prediction.caveats[..] else { panic!("{groups:?}") };
    assert!(burst.starts_with("39 of the 43 segments"), "{burst}");
    assert!(burst.contains("one burst loses packets"), "{burst}");
}

#[test]
fn a_discipline_that_drops_early_is_a_caveat_of_the_group_that_passes_it() {
    let packets = LINE.replace("switch", "router");
    let caveats = |queue: &str, name: &str, line: &str| {
        let text = format!(
            "{HEAD}queue = '{queue}'\n{line}\n[[traffic]]\nname = 'copy'\napp = 'bulk'\nfrom = 'r1'\nto = 'r2'\n\
             access = {{ rate = '100 Mbit/s', delay = '1 ms' }}\n"
        );
        groups(&text)[0].caveats.iter().filter(|caveat| caveat.contains(name)).count()
    };
    for (queue, name) in [("red", "random early detection"), ("codel", "controlled delay")] {
        assert_eq!(caveats(queue, name, &packets), 1, "{queue}");
        assert_eq!(caveats("fifo", name, &packets), 0, "{queue}");
    }
}

/// Over packets and cells, with acknowledgements of every second segment; and the formulas with the resulting values.
#[test]
fn loss_on_links_counts_cells_on_atm_and_packets_elsewhere() {
    let line = LINE.replace("delay = \"22.5 ms\"", "delay = \"22.5 ms\"\nloss = \"0.01%\"");
    let line = line.replace("delay = \"0 s\"", "delay = \"0 s\"\nloss = \"0.02%\"");
    let text = format!(
        "{HEAD}[tcp]\nprofile = 'classic'\nvariant = 'sack'\nmss = '512 B'\nwindow = '32 KiB'\ndelayed-ack = '200 ms'\n{line}
[[traffic]]
name = 'bulk'
app = 'bulk'
count = 3
from = 'r1'
to = 'r2'
access = {{ rate = '10 Mbit/s', delay = '0 s', loss = '0.5%' }}
"
    );
    let found = groups(&text);
    let [group] = &found[..] else { panic!("{found:?}") };
    // 552 octets are 12 cells on both ATM links and one packet on both access links.
    let expected = 1.0 - 0.9999_f64.powi(12) * 0.9998_f64.powi(12) * 0.995_f64.powi(2);
    assert!((group.loss - expected).abs() < 1e-12, "{} {expected}", group.loss);
    assert_eq!(group.loss, group.legs[0].loss);
    let prediction = &group.legs[0].prediction;
    let of = |equation: &str| prediction.bounds.iter().find(|b| b.equation == equation).unwrap().value;
    // Three connections, two segments an acknowledgement.
    let mathis = 3.0 * 512.0 * 8.0 / prediction.round_trip * (3.0 / (4.0 * expected)).sqrt();
    assert!((of("mathis") / mathis - 1.0).abs() < 1e-9, "{} {mathis}", of("mathis"));
    assert!(of("pftk") < mathis && group.goodput == of("pftk"));
    assert_eq!(prediction.binding().limit, Limit::Loss);
    // Without loss there is no such bound.
    let plain = groups(&text.replace("loss = \"0.01%\"", "").replace("loss = \"0.02%\"", "").replace("0.5%", "0%"));
    assert_eq!(plain[0].loss, 0.0);
    assert!(plain[0].legs[0].prediction.bounds.iter().all(|b| b.limit != Limit::Loss));
    // If nothing passes there is a value all the same.
    let none = groups(&text.replace("0.01%", "99.9%"));
    assert_eq!(none[0].loss, 1.0);
    assert!(none[0].goodput > 0.0 && none[0].goodput < 1000.0, "{}", none[0].goodput);
}

/// The default control is CUBIC, whose average window grows with the time between losses: at 200 ms and a loss in 10⁵
/// packets it is 1.136 x 1.0541 (0.2 / 10⁻⁵)^0.75 segments. Reno, whose acknowledgements are of two segments each, has √(3/4p).
#[test]
fn loss_bounds_are_those_of_the_congestion_control() {
    let line = LINE.replace("switch", "router").replace("1.5 Mbit/s", "1 Gbit/s").replace("3 Mbit/s", "1 Gbit/s");
    let line = line.replace("22.5 ms\"", "100 ms\"\nloss = \"0.001%\"");
    let goodput = |tcp: &str| {
        let head = HEAD.replace("1000 cell", "10 MB");
        let found = groups(&format!(
            "{head}{tcp}\n{line}\n[[traffic]]\nname = 'bulk'\napp = 'bulk'\nfrom = 'r1'\nto = 'r2'\n\
             access = {{ rate = '10 Gbit/s', delay = '0 s' }}\n"
        ));
        let prediction = found[0].legs[0].prediction.clone();
        let loss = prediction.bounds.iter().filter(|bound| bound.limit == Limit::Loss);
        (loss.map(|bound| bound.equation).collect::<Vec<_>>(), found[0].goodput * prediction.round_trip / 8.0 / 1448.0)
    };
    let window = "[tcp]\nwindow = '64 MiB'\nsend-buffer = '64 MiB'";
    let (equations, segments) = goodput(window);
    assert_eq!(equations, ["cubic"]);
    assert!((segments / (1.136 * 1.0541 * 20_000_f64.powf(0.75)) - 1.0).abs() < 1e-3, "{segments}");
    let (equations, segments) = goodput(&format!("{window}\ncontrol = 'reno'"));
    assert_eq!(equations, ["mathis", "pftk"]);
    assert!((270.0..273.9).contains(&segments), "{segments}");
}

#[test]
fn losses_by_number_are_a_caveat() {
    let count = |lost: &str| {
        let line = LINE.replacen("delay = \"0 s\"", &format!("delay = \"0 s\"\n{lost}"), 1);
        let found = groups(&format!(
            "{HEAD}\n{line}\n[[traffic]]\nname = 'bulk'\napp = 'bulk'\nfrom = 'r1'\nto = 'r2'\n\
             access = {{ rate = '10 Mbit/s', delay = '0 s' }}\n"
        ));
        found[0].caveats.iter().filter(|caveat| caveat.contains("by their numbers")).count()
    };
    assert_eq!((count("lost = { forward = [1, 2, 3] }"), count("")), (1, 0));
}

/// A change at 0 s sets the initial rate of a link, a shaper or a service; one later is a caveat.
#[test]
fn changes_at_the_start_are_predicted_as_rates_of_the_file() {
    let file = |link: &str, shaper: &str, pcr: &str, changes: &str| {
        let line = LINE.replacen("1.5 Mbit/s", link, 1);
        format!(
            "{HEAD}[tcp]\nprofile = 'classic'\nvariant = 'reno'\nmss = '512 B'\nwindow = '16 KiB'\n{line}
[[traffic]]
name = 'bulk'
app = 'bulk'
from = 'r1'
to = 'r2'
access = {{ rate = '1.5 Mbit/s', delay = '1 ms' }}
service = {{ pcr = '{pcr}' }}
[[shaper]]
name = 'spacer'
at = 's1'
link = 's1-r2'
traffic = ['bulk']
rate = '{shaper}'
{changes}"
        )
    };
    let change = |what: &str| format!("[[change]]\nat = '0 s'\n{what}\n");
    let (link, shaper, pcr) = ("1.5 Mbit/s", "1.4 Mbit/s", "1.3 Mbit/s");
    let plain = groups(&file(link, shaper, pcr, ""));
    for (text, direct) in [
        (change("link = 'r1-s1'\nrate = '1310 kbit/s'"), file("1310 kbit/s", shaper, pcr, "")),
        (change("shaper = 'spacer'\nrate = '200 kbit/s'"), file(link, "200 kbit/s", pcr, "")),
        (change("traffic = 'bulk'\npcr = '300 kbit/s'"), file(link, shaper, "300 kbit/s", "")),
    ] {
        let changed = groups(&file(link, shaper, pcr, &text));
        assert_eq!(changed, groups(&direct), "{text}");
        assert_ne!(changed, plain, "{text}");
        let later = groups(&file(link, shaper, pcr, &text.replace("0 s", "2 s")));
        assert_eq!((&later[0].legs, later[0].caveats.len()), (&plain[0].legs, 1), "{text}");
    }
    // A slower way back lengthens the round trip alone.
    let back = groups(&file(link, shaper, pcr, &change("link = 'r1-s1'\ndirection = 'back'\nrate = '100 kbit/s'")));
    let (back, plain) = (&back[0].legs[0].prediction, &plain[0].legs[0].prediction);
    // An acknowledgement of 40 B is one cell of 424 bits.
    let more = 424.0 / 100e3 - 424.0 / 1.5e6;
    assert!((back.round_trip - plain.round_trip - more).abs() < 1e-12, "{} {}", back.round_trip, plain.round_trip);
}

/// 1440 of 1500 B on packet lines; 13 cells of 53 B for 512 B of payload.
#[test]
fn the_headers_are_those_of_the_family() {
    let predicted = |mss: &str, framing: &str, family: &str| {
        let text = format!(
            "version = 1\nname = 't'\nrun = {{ duration = '10 s', warmup = '1 s' }}\nbuffer = {{ size = '1 MB', per = 'port' }}
tcp = {{ profile = 'classic', variant = 'reno', window = '64000 B'{mss} }}
node = [{{ name = 'r1', kind = 'router' }}, {{ name = 'r2', kind = 'router' }}]
link = [{{ between = ['r1', 'r2'], rate = '1 Mbit/s', delay = '5 ms', framing = '{framing}' }}]
[[traffic]]
name = 'bulk'
app = 'bulk'
from = 'r1'
to = 'r2'
family = '{family}'
access = {{ rate = '100 Mbit/s', delay = '1 ms' }}
"
        );
        groups(&text)[0].goodput
    };
    let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-12, "{value} {expected}");
    near(predicted(", mss = '1440 B'", "packet", "ipv6"), 1e6 * 1440.0 / 1500.0);
    near(predicted(", mss = '1440 B'", "packet", "ipv4"), 1e6 * 1440.0 / 1480.0);
    near(predicted(", mss = '512 B'", "atm", "ipv6"), 1e6 * 512.0 / (13.0 * 53.0));
    near(predicted(", mss = '512 B'", "atm", "ipv4"), 1e6 * 512.0 / (12.0 * 53.0));
}
