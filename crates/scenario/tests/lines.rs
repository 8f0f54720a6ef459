//! Lines by name, framings, the largest packets, and profiles of TCP.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::*;
use cellway_units::{Bytes, Rate, Span};
use common::{edited, enriched, scenario};

#[test]
fn a_line_by_name_brings_its_rate_its_framing_and_its_largest_packet() {
    let link = |rate: &str| {
        let s = scenario(&enriched(&[("rate = \"ethernet\"", &format!("rate = {rate}"))]));
        (s.links[0].rate.as_bps(), s.links[0].framing, s.links[0].mtu.0)
    };
    assert_eq!(link("\"ethernet\""), (10_000_000, Framing::Ethernet, 1500));
    assert_eq!(link("\"fast-ethernet\""), (100_000_000, Framing::Ethernet, 1500));
    assert_eq!(link("\"fddi\""), (100_000_000, Framing::Fddi, 4352));
    assert_eq!(link("\"ds3\""), (96_000 * 424, Framing::Atm, 9180));
    assert_eq!(link("\"taxi\""), (98_148_148, Framing::Atm, 9180));
    // By default a rate in figures makes a link for packets, and a rate in cells one for cells.
    assert_eq!(link("\"155.52 Mbit/s\""), (155_520_000, Framing::Packet, 1500));
    assert_eq!(link("\"36000 cell/s\""), (15_264_000, Framing::Atm, 9180));
    assert_eq!(link("\"oc12c\"\nframing = \"packet\"\nmtu = \"4 KiB\""), (599_040_000, Framing::Packet, 4096));
    assert_eq!(link("\"36000 cell/s\"\nframing = \"atm\""), (15_264_000, Framing::Atm, 9180));
}

#[test]
fn access_links_go_by_the_same_names() {
    let access = |text: &str| {
        let s = scenario(&edited(&[("rate = \"10 Mbit/s\"", text)]));
        let access = s.traffic[0].access.unwrap();
        (access.rate.as_bps(), access.framing, access.mtu.0)
    };
    assert_eq!(access("rate = \"10 Mbit/s\""), (10_000_000, Framing::Packet, 1500));
    assert_eq!(access("rate = \"fddi\""), (100_000_000, Framing::Fddi, 4352));
    assert_eq!(access("rate = \"10 Mbit/s\", framing = \"ethernet\""), (10_000_000, Framing::Ethernet, 1500));
    assert_eq!(access("rate = \"oc3c\", mtu = \"1500 B\""), (149_760_000, Framing::Atm, 1500));
    // A host of its own at a switch has an ATM card.
    let s = scenario(&edited(&[("to = \"r2\"", "to = \"s1\""), ("rate = \"10 Mbit/s\"", "rate = \"oc3c\"")]));
    assert_eq!(s.traffic[0].to, Attachment::Router(NodeIndex(1)));
}

#[test]
fn the_path_has_the_least_of_its_largest_packets() {
    let s = scenario(&edited(&[("delay = \"22.5 ms\"", "delay = \"22.5 ms\"\nmtu = \"1500 B\"")]));
    assert_eq!((s.links[0].mtu, s.links[1].mtu, s.traffic[0].mtu), (Bytes(1500), Bytes(9180), Bytes(1500)));
    let s = scenario(&edited(&[("delay = \"0 s\" }", "delay = \"0 s\", mtu = \"552 B\" }")]));
    assert_eq!(s.traffic[0].mtu, Bytes(552), "512 B of payload and 40 B of headers just fit");
}

/// A path without cells is a path too; its slowest link is the one that counts.
#[test]
fn routers_join_lans_and_the_access_links_count_where_there_are_no_cells() {
    let lan = edited(&[
        ("kind = \"switch\"", "kind = \"router\""),
        ("rate = \"1.5 Mbit/s\"", "rate = \"ethernet\""),
        ("rate = \"3 Mbit/s\"", "rate = \"fddi\""),
        ("access = { rate = \"10 Mbit/s\"", "access = { rate = \"2 Mbit/s\""),
    ]);
    let s = scenario(&lan);
    assert_eq!(s.links.iter().map(|l| l.framing).collect::<Vec<_>>(), [Framing::Ethernet, Framing::Fddi]);
    assert_eq!(s.traffic[0].bottleneck, Rate::from_bps(2_000_000));
    let mixed = lan.replace("\"fddi\"", "\"oc3c\"");
    assert_eq!(scenario(&mixed).traffic[0].bottleneck, Rate::from_bps(10_000_000));
}

#[test]
fn slow_start_has_a_threshold_where_the_file_gives_one() {
    assert_eq!(scenario(&edited(&[])).traffic[0].tcp().unwrap().tcp.initial_ssthresh, None);
    let given = edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\ninitial-ssthresh = \"4 KiB\"")]);
    assert_eq!(scenario(&given).traffic[0].tcp().unwrap().tcp.initial_ssthresh, Some(Bytes(4096)));
}

#[test]
fn profiles_say_what_the_file_leaves_out() {
    let tcp = |text: &str| {
        let own = "profile = \"classic\"\nvariant = \"reno\"\nmss = \"512 B\"\nwindow = \"8 KiB\"";
        let access = ("delay = \"0 s\" }", "delay = \"0 s\", mtu = \"9180 B\" }");
        scenario(&edited(&[(own, text), ("1 bdp", "2 bdp"), access])).traffic[0].tcp().unwrap().tcp
    };
    let bsd = tcp("profile = \"bsd-4.4\"");
    assert_eq!((bsd.variant, bsd.mss, bsd.window), (Variant::Reno, Bytes(512), Bytes(8192)));
    assert_eq!((bsd.delayed_ack.0, bsd.timer_granularity), (Some(Span::from_ms(200)), Span::from_ms(500)));
    assert_eq!((bsd.limited_transmit, bsd.idle_restart, bsd.nagle), (false, true, true));
    assert_eq!(bsd.profile, TcpProfile::Bsd44);
    assert_eq!(tcp("profile = \"sunos-4.1.3\"").variant, Variant::Tahoe);
    // As large as the path takes: 9180 B on ATM less 40 B, but no larger than the file says.
    let solaris = tcp("profile = \"solaris-2.5\"\nwindow = \"36592 B\"");
    assert_eq!((solaris.mss, solaris.window, solaris.rto_min), (Bytes(9140), Bytes(36_592), Span::from_ms(200)));
    let given = tcp("profile = \"solaris-2.5\"\nmss = \"1460 B\"\ndelayed-ack = \"off\"");
    assert_eq!((given.mss, given.window, given.delayed_ack.0), (Bytes(1460), Bytes(8760), None));
    let linux = tcp("profile = \"linux-6\"");
    assert_eq!((linux.variant, linux.initial_window), (Variant::Cubic, 10));
    assert_eq!((linux.timestamps, linux.window_scaling, linux.hystart, linux.pacing), (true, true, true, false));
    assert_eq!((linux.window, linux.send_buffer, linux.mss), (Bytes(3 << 20), Bytes(4 << 20), Bytes(9140)));
    assert_eq!((linux.rto_initial, linux.rto_margin), (Span::from_secs(1), Some(Span::from_ms(200))));
    // Those of the 1990s have none of it, nor has a file that says nothing.
    for old in [bsd, solaris, scenario(&edited(&[])).traffic[0].tcp().unwrap().tcp] {
        assert_eq!((old.timestamps, old.pacing, old.pacing_rate, old.rto_margin), (false, false, None, None));
    }
    let keys =
        "variant = \"cubic\"\nmss = \"512 B\"\nwindow = \"8 KiB\"\ntimestamps = true\nhystart = false\npacing = true";
    let given = tcp(&format!("{keys}\npacing-rate = \"2 Mbit/s\"\nrto-margin = \"5 ms\""));
    assert_eq!((given.variant, given.timestamps, given.hystart, given.pacing), (Variant::Cubic, true, false, true));
    assert_eq!((given.pacing_rate, given.rto_margin), (Some(Rate::from_bps(2_000_000)), Some(Span::from_ms(5))));
    // Every profile is whole and without contradictions.
    for name in ["bsd-4.4", "sunos-4.1.3", "solaris-2.5", "irix-6.3", "osf1", "windows-95", "linux-6", "classic"] {
        tcp(&format!("profile = \"{name}\"\nmss = \"1460 B\""));
    }
}

#[test]
fn a_group_s_profile_yields_to_what_all_traffic_says() {
    let s = scenario(&edited(&[("access = {", "tcp = { profile = \"windows-95\" }\naccess = {")]));
    let tcp = s.traffic[0].tcp().unwrap().tcp;
    assert_eq!((tcp.mss, tcp.window), (Bytes(512), Bytes(8192)), "[tcp] gives these");
    assert_eq!((tcp.max_retransmissions, tcp.limited_transmit), (5, false), "the profile gives these");
}
