//! Services, shapers, policers, changes, buffers of links, and new applications.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::*;
use cellway_units::{Bytes, Cells, Rate, Span};
use common::{RICH, edited, enriched, scenario};

const WAN: LinkIndex = LinkIndex(2);
const S1: NodeIndex = NodeIndex(2);
const S2: NodeIndex = NodeIndex(3);

fn mbit(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

fn service(text: &str) -> Service {
    let wide = ("rate = \"1.5 Mbit/s\"", "rate = \"oc3c\"");
    scenario(&edited(&[wide, ("access = {", &format!("service = {{ {text} }}\naccess = {{"))])).traffic[0]
        .service
        .clone()
}

#[test]
fn services_have_their_parameters_and_defaults() {
    assert_eq!(scenario(&edited(&[])).traffic[0].service, Service::Ubr { pcr: None });
    assert_eq!(service(""), Service::Ubr { pcr: None });
    assert_eq!(service("pcr = \"77.88 Mbit/s\""), Service::Ubr { pcr: Some(Rate::from_bps(77_880_000)) });
    assert_eq!(service("class = \"cbr\", pcr = \"1000 cell/s\""), Service::Cbr { pcr: Rate::from_bps(424_000) });
    let vbr = "class = \"vbr-nrt\", pcr = \"2 Mbit/s\", scr = \"1 Mbit/s\", mbs = \"20 cells\"";
    let shaped = Service::Vbr { pcr: mbit(2), scr: mbit(1), mbs: Cells(20), shape: true };
    assert_eq!(service(vbr), shaped);
    let Service::Abr(abr) = service("class = \"abr\", pcr = \"16 Mbit/s\"") else { panic!() };
    let sixteenth = Fraction::one_over(16);
    let usual = AbrSpec {
        parameters: AbrParameters {
            pcr: mbit(16),
            mcr: Rate::from_bps(0),
            icr: mbit(1),
            rif: sixteenth,
            rdf: sixteenth,
            nrm: 32,
            trm: Span::from_ms(100),
            crm: 32,
            adtf: Span::from_ms(500),
            cdf: sixteenth,
        },
        between: None,
    };
    assert_eq!(abr, usual);
    let Service::Abr(abr) =
        service("class = \"abr\", pcr = \"16 Mbit/s\", mcr = \"2 Mbit/s\", tbe = \"1000 cell\", cdf = \"0/1\"")
    else {
        panic!()
    };
    // 1000 cells in groups of 32 are 32, the last not full; the initial rate is at least the minimum.
    assert_eq!(
        (abr.parameters.icr, abr.parameters.crm, abr.parameters.cdf),
        (mbit(2), 32, Fraction::new(0, 1).unwrap())
    );
}

#[test]
fn control_stands_at_its_ports() {
    let s = scenario(RICH);
    let spacer = Shaper {
        name: "spacer".to_owned(),
        at: S1,
        link: WAN,
        traffic: vec![0],
        rate: Rate::from_bps(15_264_000),
        sustained: None,
    };
    assert_eq!(s.shapers, [spacer]);
    let upc = &s.policers[0];
    assert_eq!((upc.at, upc.link, upc.traffic.as_slice()), (S1, WAN, &[0, 1][..]), "all that pass");
    assert_eq!(
        (upc.cdvt, upc.sustained, upc.action),
        (Span::ZERO, Some((mbit(20), Cells(100))), PolicerAction::Discard)
    );
    assert_eq!(s.changes, [Change { name: None, at: Span::from_secs(20), what: ChangeOf::Shaper(0), rate: mbit(5) }]);
    let Service::Abr(abr) = &s.traffic[1].service else { panic!() };
    assert_eq!(abr.between, Some([S1, S2]));
    assert_eq!(s.observe.queue, [(S1, WAN), (S2, WAN)]);
    let switches =
        AbrSwitch { marking: Marking::Erica, target: 0.95, interval: Span::from_ms(1), threshold: Cells(64) };
    assert_eq!(s.abr, switches);
}

#[test]
fn changes_are_of_shapers_links_and_groups() {
    let change = |text: &str| {
        let s = scenario(&enriched(&[("shaper = \"spacer\"\nrate = \"5 Mbit/s\"", text)]));
        (s.changes[0].what, s.changes[0].rate)
    };
    let both = |link| ChangeOf::Link(link, LinkDirection::Both);
    assert_eq!(change("link = \"wan\"\nrate = \"e3\""), (both(WAN), Rate::from_bps(33_920_000)));
    assert_eq!(change("traffic = \"cells\"\npcr = \"3 Mbit/s\""), (ChangeOf::Pcr(1), mbit(3)));
    // As slow as the gateway that sends on it; and slower than the peak rate of an ABR group, whose rate the network
    // sets.
    assert_eq!(change("link = \"g1-s1\"\nrate = \"30 Mbit/s\""), (both(LinkIndex(1)), mbit(30)));
    assert_eq!(change("link = \"atm-s1\"\nrate = \"2 Mbit/s\""), (both(LinkIndex(4)), mbit(2)));
}

#[test]
fn a_link_overrides_single_keys_of_the_buffer() {
    let s = scenario(RICH);
    assert_eq!(s.buffer.size, BufferSize::Cells(Cells(512)));
    let wan = Buffer {
        size: BufferSize::Cells(Cells(1024)),
        discard: Discard::Epd,
        threshold: Some(BufferSize::Cells(Cells(512))),
        ..s.buffer
    };
    // The first link carries packets.
    let packets = Buffer { size: BufferSize::Bytes(Bytes(512 * 53)), count: Charge::Packet, ..s.buffer };
    assert_eq!(s.links.iter().map(|l| l.buffer).collect::<Vec<_>>(), [packets, s.buffer, wan, s.buffer, s.buffer]);
    // Thresholds are resolved as sizes are, and in what fills the buffer.
    let bytes = enriched(&[("threshold = \"512 cell\"", "threshold = \"512 cell\", count = \"packet\"")]);
    let buffer = scenario(&bytes).links[2].buffer;
    assert_eq!(
        (buffer.size, buffer.threshold),
        (BufferSize::Bytes(Bytes(1024 * 53)), Some(BufferSize::Bytes(Bytes(512 * 53))))
    );
}

/// Between parallel links the name of the link decides; it goes before that of a node.
#[test]
fn a_queue_is_meant_by_neighbour_or_by_link() {
    let queue = |text: &str| scenario(&enriched(&[("queue = [\"s1>s2\", \"s2>wan\"]", text)])).observe.queue;
    assert_eq!(queue("queue = [\"s1 > s2\", \"s1>wan\"]"), [(S1, WAN)]);
    assert_eq!(queue("queue = [\"s2>g2\", \"atm>s1\"]"), [(S2, LinkIndex(3)), (NodeIndex(5), LinkIndex(4))]);
}

#[test]
fn new_applications_have_their_options() {
    let app = |text: &str| {
        scenario(&edited(&[("app = \"ftp\"", &format!("app = {text}"))])).traffic[0].tcp().unwrap().app.clone()
    };
    let ttcp = App::Ttcp { write: Bytes(8192), buffers: 2048, write_cost: Span::ZERO };
    assert_eq!(app("\"ttcp\""), ttcp);
    let bulk = App::Bulk { size: None, write: Some(Bytes(4096)), write_cost: Span::from_us(50) };
    assert_eq!(app("\"bulk\"\nworkload = { write = \"4 KiB\", write-cost = \"50 us\" }"), bulk);
    let get = App::FtpGet { size: Bytes(100_000_000), disk_rate: None, handshake: 1 };
    assert_eq!(app("\"ftp-get\"\nworkload = { size = \"100 MB\" }"), get);
    let www = App::Www { sizes: vec![Bytes(1), Bytes(2000)], request: Bytes(300), display_rate: Some(mbit(2)) };
    assert_eq!(app("\"www\"\nworkload = { sizes = [\"1 B\", \"2 kB\"], display-rate = \"2 Mbit/s\" }"), www);
    let (response, think, duration) = (Bytes(1), Span::ZERO, None);
    let requests = App::RequestResponse { request: Bytes(1), response, think, duration };
    assert_eq!(app("\"request-response\""), requests);
    let (response, think, duration) = (Bytes(64_000), Span::from_ms(1), Some(Span::from_secs(2)));
    let requests = App::RequestResponse { request: Bytes(200), response, think, duration };
    let keys = "request = \"200 B\", response = \"64 kB\", think = \"1 ms\", duration = \"2 s\"";
    assert_eq!(app(&format!("\"request-response\"\nworkload = {{ {keys} }}")), requests);
    let animation = App::Animation { frame: Bytes(40_000), rate: 12.5, duration: Some(Span::from_secs(2)) };
    assert_eq!(app("\"animation\"\nworkload = { frame = \"40 kB\", rate = 12.5, duration = \"2 s\" }"), animation);
}

#[test]
fn sweeps_reach_every_new_key() {
    let sweep = "\n[sweep]\naxes = { \"shaper.spacer.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"], \"policer.*.cdvt\" = [\"1 ms\"], \"change.1.rate\" = [\"3 Mbit/s\"], \"link.*.buffer.size\" = [\"2000 cell\"], \"node.g1.gateway.window\" = [\"2 MiB\"], \"traffic.cells.service.rif\" = [\"1/4\"], \"abr.target\" = [0.8], \"node.h.host.send\" = [\"5 us\"] }\n";
    let points =
        Plan::parse(&format!("{RICH}{sweep}"), "t.toml").and_then(|p| p.points()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(points.iter().map(|p| p.scenario.shapers[0].rate).collect::<Vec<_>>(), [mbit(1), mbit(2)]);
    let s = &points[0].scenario;
    assert_eq!((s.policers[0].cdvt, s.changes[0].rate, s.abr.target), (Span::from_ms(1), mbit(3), 0.8));
    assert!(s.links.iter().all(|l| l.buffer.size.bits() == Cells(2000).bits()));
    assert_eq!(s.nodes[1].gateway.as_ref().unwrap().window, Bytes(2 << 20));
    assert_eq!(s.nodes[0].host.send, Span::from_us(5));
    let Service::Abr(abr) = &s.traffic[1].service else { panic!() };
    assert_eq!(abr.parameters.rif, Fraction::one_over(4));
    // A change with a name goes by it.
    let named = enriched(&[("at = \"20 s\"", "name = \"later\"\nat = \"20 s\"")]);
    let set = [Override::new("change.later.at", "30 s"), Override::new("change.*.rate", "4 Mbit/s")];
    let plan = Plan::parse_with(&named, "t.toml", &set, None).unwrap_or_else(|e| panic!("{e}"));
    let change = &plan.base().changes[0];
    assert_eq!((change.name.as_deref(), change.at, change.rate), (Some("later"), Span::from_secs(30), mbit(4)));
}

#[test]
fn all_of_it_is_written_and_read_again() {
    let s = scenario(RICH);
    assert_eq!(scenario(&s.to_toml()), s);
}

/// On the link between g1 and s1, g1 sends forward at 30 Mbit/s and g2 back at 20 Mbit/s.
#[test]
fn a_change_of_one_direction_concerns_those_who_send_in_it() {
    let slower = |direction: &str| {
        let text = format!("link = \"g1-s1\"\ndirection = \"{direction}\"\nrate = \"25 Mbit/s\"");
        Plan::parse(&enriched(&[("shaper = \"spacer\"\nrate = \"5 Mbit/s\"", &text)]), "t.toml")
    };
    for direction in ["forward", "both"] {
        let refused = slower(direction).unwrap_err().to_string();
        assert!(refused.contains("gateway \"g1\" sends at 30 Mbit/s"), "{refused}");
    }
    let plan = slower("back").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.base().changes[0].what, ChangeOf::Link(LinkIndex(1), LinkDirection::Back));
    assert_eq!(scenario(&plan.base().to_toml()), *plan.base());
}

/// No contradiction is reported that exists only at another moment or without the sweep.
#[test]
fn changes_and_thresholds_are_judged_where_they_hold() {
    let both = "shaper = \"spacer\"\nrate = \"15 Mbit/s\"";
    let line = "[[change]]\nat = \"20 s\"\nlink = \"wan\"\nrate = \"5 Mbit/s\"\n\n[[change]]\nat = \"20 s\"\nshaper";
    // The gateways are slow because the line is theirs too.
    let gateways = ["rate = \"30 Mbit/s\", window", "rate = \"20 Mbit/s\" }"];
    let slow = gateways.map(|rate| (rate, rate.replace("30", "5").replace("20", "5")));
    let [near, far] = slow.each_ref().map(|(from, to)| (*from, to.as_str()));
    let s = scenario(&enriched(&[near, far, ("[[change]]\nat = \"20 s\"\nshaper", line)]));
    assert_eq!(s.changes.len(), 2);
    assert_eq!(scenario(&enriched(&[("shaper = \"spacer\"\nrate = \"5 Mbit/s\"", both)])).changes[0].rate, mbit(15));
    let pcr =
        scenario(&enriched(&[("pcr = \"30 Mbit/s\", mcr", "pcr = \"98.148 Mbit/s\", mcr")])).traffic[1].service.pcr();
    assert_eq!(pcr, Some(Rate::from_bps(98_148_000)));
    let sweep = "[sweep]\naxes = { \"link.wan.buffer.discard\" = [\"epd\", \"frame\"] }\n\n[observe]";
    let plan = Plan::parse(&enriched(&[("[observe]", sweep)]), "t.toml").unwrap();
    assert_eq!(plan.points().unwrap().len(), 2);
    // A link that does not discard as the others do inherits what it has no use for.
    let epd = "size = \"512 cell\"\ndiscard = \"epd\"\nthreshold = \"400 cell\"";
    let own = [("size = \"512 cell\"", epd), ("discard = \"epd\", threshold = \"512 cell\" }", "discard = \"cell\" }")];
    assert_eq!(scenario(&enriched(&own)).links[2].buffer.discard, Discard::Cell);
}

/// A change at 0 s sets the rate at the start, in its direction: bottlenecks and sizes in bdp go by it.
#[test]
fn a_change_at_the_start_is_the_initial_rate() {
    let later = "at = \"20 s\"\nshaper = \"spacer\"\nrate = \"5 Mbit/s\"";
    let with = |change: &str| {
        let s = scenario(&enriched(&[(later, change), ("size = \"512 cell\"", "size = \"1 bdp\"")]));
        let BufferSize::Cells(bdp) = s.buffer.size else { panic!("{:?}", s.buffer.size) };
        (s.traffic[0].bottleneck, bdp, s.run.rtt)
    };
    let change = |at: &str, rest: &str| format!("at = \"{at}\"\nlink = \"h-g1\"\nrate = \"4 Mbit/s\"\n{rest}");
    let bdp = |rate: Rate, rtt: Span| Cells((rate.as_bps() as f64 * rtt.as_secs_f64() / 424.0) as u64);
    let (unchanged, cells, rtt) = with(later);
    assert_eq!(cells, bdp(unchanged, rtt));
    for at_start in [change("0 s", ""), change("0 rtt", ""), change("0 s", "direction = \"forward\"")] {
        assert_eq!(with(&at_start), (mbit(4), bdp(mbit(4), rtt), rtt), "{at_start}");
    }
    for other in [change("1 ns", ""), change("0 s", "direction = \"back\"")] {
        assert_eq!(with(&other), (unchanged, cells, rtt), "{other}");
    }
}
