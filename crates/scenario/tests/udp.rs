//! Groups of UDP datagrams: what is taken, printed and refused.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::{Arrivals, Family, Plan, Video};
use cellway_units::{Bytes, Rate, Span};
use common::{edited, refusal, scenario};

/// The small file with a group of datagrams in place of its application.
fn with_udp(udp: &str, more: &[(&str, &str)]) -> String {
    let udp = format!("udp = {{ {udp} }}");
    let edits: Vec<(&str, &str)> = [("app = \"ftp\"", &udp[..])].into_iter().chain(more.iter().copied()).collect();
    edited(&edits)
}

#[test]
fn a_source_is_taken_with_its_defaults_and_printed_again() {
    let s = scenario(&with_udp("packet = \"200 B\", rate = \"80 kbit/s\"", &[]));
    let source = *s.traffic[0].udp().unwrap();
    assert_eq!((source.arrivals, source.packet, source.rate), (Arrivals::Constant, Bytes(200), Rate::from_bps(80_000)));
    assert_eq!((source.duration, source.family), (None, Family::Ipv4));
    assert!(s.traffic[0].tcp().is_none() && s.traffic[0].gateways().is_none());
    assert_eq!(s.traffic[0].largest_packet(), Bytes(200));
    let on_off = "source = \"on-off\", packet = \"60 B\", rate = \"24 kbit/s\", on = \"1 s\", off = \"1350 ms\", duration = \"9 s\"";
    let s = scenario(&with_udp(on_off, &[]));
    let source = s.traffic[0].udp().unwrap();
    assert_eq!(source.arrivals, Arrivals::OnOff { on: Span::from_secs(1), off: Span::from_ms(1350) });
    assert_eq!((source.duration, source.mean_rate().round()), (Some(Span::from_secs(9)), 10_213.0));
    let printed = s.to_toml();
    assert_eq!(Plan::parse(&printed, "printed.toml").unwrap().base(), &s, "{printed}");
}

#[test]
fn pings_have_an_interval_and_no_rate() {
    let ping = "source = \"ping\", packet = \"64 B\", interval = \"7 ms\"";
    let s = scenario(&with_udp(ping, &[]));
    let source = s.traffic[0].udp().unwrap();
    assert_eq!(source.arrivals, Arrivals::Ping { interval: Span::from_ms(7) });
    assert_eq!((source.rate, source.is_echoed()), (Rate::from_bps(73_143), true));
    let printed = s.to_toml();
    assert_eq!(Plan::parse(&printed, "printed.toml").unwrap().base(), &s, "{printed}");
    let told = |udp: &str| refusal(&with_udp(udp, &[])).to_string();
    for (text, expected) in [
        (told("source = \"ping\", packet = \"64 B\""), "traffic.ftp.udp.interval: is missing: pings need it"),
        (told(&format!("{ping}, rate = \"1 kbit/s\"")), "rate: is not for source = \"ping\""),
        (told("packet = \"64 B\", interval = \"7 ms\""), "interval: is for source = \"ping\""),
        (told("packet = \"64 B\""), "traffic.ftp.udp.rate: is missing"),
        (told(&format!("{ping}, on = \"1 s\"")), "is for source = \"on-off\""),
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_video_is_taken_with_its_defaults_and_printed_again() {
    let least = "source = \"video\", packet = \"1200 B\", rate = \"3 Mbit/s\", frame-rate = 29.97";
    let more = "key-frame-interval = 250, key-frame-ratio = 8, frame-sigma = 0, playout-delay = \"1 s\"";
    let playout_delay = Span::from_ms(150);
    let video =
        Video { frame_rate: 29.97, key_frame_interval: 60, key_frame_ratio: 5.0, frame_sigma: 0.25, playout_delay };
    let playout_delay = Span::from_secs(1);
    let own = Video { key_frame_interval: 250, key_frame_ratio: 8.0, frame_sigma: 0.0, playout_delay, ..video };
    for (text, expected) in [(least.to_owned(), video), (format!("{least}, {more}"), own)] {
        let s = scenario(&with_udp(&text, &[]));
        assert_eq!(s.traffic[0].udp().unwrap().video(), Some(&expected));
        let printed = s.to_toml();
        assert_eq!(Plan::parse(&printed, "printed.toml").unwrap().base(), &s, "{printed}");
    }
    let told = |udp: &str| refusal(&with_udp(udp, &[])).to_string();
    let cbr = "packet = \"200 B\", rate = \"80 kbit/s\"";
    for (text, expected) in [
        (told(&format!("source = \"video\", {cbr}")), "traffic.ftp.udp.frame-rate: is missing: a video needs it"),
        (told(&format!("{cbr}, frame-rate = 30")), "is for source = \"video\", which has frames"),
        (told(&format!("{least}, on = \"1 s\"")), "is for source = \"on-off\""),
        (told(&format!("{least}, key-frame-ratio = 0.5")), "from 1 to 1000"),
        (told(&format!("{least}, key-frame-interval = 0")), "key-frame-interval"),
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn what_a_source_cannot_have_is_refused_in_words() {
    let cbr = "packet = \"200 B\", rate = \"80 kbit/s\"";
    let told = |udp: &str, more: &[(&str, &str)]| refusal(&with_udp(udp, more)).to_string();
    for (text, expected) in [
        (told("rate = \"80 kbit/s\"", &[]), "traffic.ftp.udp.packet: is missing"),
        (
            told("packet = \"43 B\", rate = \"1 kbit/s\"", &[]),
            "\"43 B\" is out of range; accepted: from \"44 B\" to \"65535 B\"",
        ),
        (
            told("packet = \"70 kB\", rate = \"1 kbit/s\"", &[]),
            "\"70 kB\" is out of range; accepted: from \"44 B\" to \"65535 B\"",
        ),
        (told("packet = \"20 kB\", rate = \"1 Mbit/s\"", &[]), "or a larger mtu there"),
        (told("packet = \"200 B\", rate = \"0 bit/s\"", &[]), "accepted: more than \"0 bit/s\", like"),
        (told("packet = \"44 B\", rate = \"400 Gbit/s\"", &[]), "a lower rate"),
        (told(&format!("{cbr}, on = \"1 s\""), &[]), "is for source = \"on-off\""),
        (told(&format!("{cbr}, source = \"on-off\", on = \"1 s\""), &[]), "traffic.ftp.udp.off: is missing"),
        (
            told(&format!("{cbr}, source = \"on-off\", on = \"1 ms\", off = \"1 s\""), &[]),
            "shorter than the time between",
        ),
        (told(&format!("{cbr}, source = \"burst\""), &[]), "\"constant\", \"poisson\""),
        (
            told(&format!("{cbr}, duration = \"0 s\""), &[]),
            "more than \"0 s\", like \"22.5 ms\"; without the key: to the end of the run",
        ),
        (told(cbr, &[("count = 2", "count = 2\nrepeat = false")]), "traffic.ftp.repeat: is for conversations"),
        (told(cbr, &[("count = 2", "count = 2\ngateway = true")]), "gateways forward UDP datagrams as routers do"),
        (told(cbr, &[("count = 2", "count = 2\ntcp = { nagle = true }")]), "traffic.ftp.tcp: is for TCP"),
        (told(cbr, &[("count = 2", "count = 2\nworkload = { handshake = 1 }")]), "traffic.ftp.workload: is for an"),
        (told(cbr, &[("count = 2", "count = 2\napp = \"bulk\"")]), "not both"),
        (
            refusal(&edited(&[("app = \"ftp\"\n", "")])).to_string(),
            "traffic.ftp.app: is missing; accepted: an application over TCP",
        ),
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}
