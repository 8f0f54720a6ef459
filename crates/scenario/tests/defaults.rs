//! The meaning of a file that gives neither the framing of its links nor TCP keys: today's network.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::*;
use cellway_units::{Bytes, Span};
use common::{enriched, refusal, scenario};

/// Two routers and a rate in figures, without a framing, a segment size or a window.
const BARE: &str = r#"version = 1
name = "bare"
run = { duration = "60 s" }
buffer = { size = "1 bdp" }
node = [{ name = "a", kind = "router" }, { name = "b", kind = "router" }]
link = [{ between = ["a", "b"], rate = "10 Mbit/s", delay = "20 ms" }]
traffic = [{ name = "t", app = "bulk", from = "a", to = "b", access = { rate = "1 Gbit/s", delay = "0 s" } }]
"#;

fn with_tcp(tcp: &str) -> String {
    BARE.replacen("node = [", &format!("tcp = {{ {tcp} }}\nnode = ["), 1)
}

fn tcp(keys: &str) -> TcpSpec {
    scenario(&with_tcp(keys)).traffic[0].tcp().unwrap().tcp
}

#[test]
fn routers_joined_at_a_rate_in_figures_send_packets_of_1500_bytes() {
    let s = scenario(BARE);
    assert_eq!((s.links[0].framing, s.links[0].mtu), (Framing::Packet, Bytes(1500)));
    let link = |edit: &str| {
        let s = scenario(&BARE.replacen("rate = \"10 Mbit/s\"", edit, 1));
        (s.links[0].framing, s.links[0].mtu)
    };
    let atm = (Framing::Atm, Bytes(9180));
    assert_eq!(link("rate = \"10 Mbit/s\", framing = \"atm\""), atm, "said");
    assert_eq!(link("rate = \"24000 cell/s\""), atm, "counted in cells");
    assert_eq!(link("rate = \"e3\""), atm, "ATM by name");
}

#[test]
fn a_switch_has_cells_on_every_link() {
    let s = scenario(&BARE.replacen("name = \"b\", kind = \"router\"", "name = \"b\", kind = \"switch\"", 1));
    assert_eq!(s.links[0].framing, Framing::Atm);
    assert_eq!(s.traffic[0].access.unwrap().framing, Framing::Atm, "the hosts of its own, too");
}

#[test]
fn tcp_is_that_of_linux_6() {
    let said = tcp("profile = \"linux-6\"");
    assert_eq!(scenario(BARE).traffic[0].tcp().unwrap().tcp, said);
    assert_eq!((said.variant, said.mss, said.window), (Variant::Cubic, Bytes(1460), Bytes(3 << 20)));
    assert_eq!((said.profile, said.initial_window), (TcpProfile::Linux6, 10));
    // A key of the file replaces that of the profile; the others remain.
    let reno = tcp("variant = \"reno\"");
    assert_eq!(TcpSpec { variant: Variant::Cubic, ..reno }, said);
}

/// RFC 1122 section 4.2.2.6 (536 B), RFC 2988 section 2 (3 s, 1 s), and the clock of 4.3BSD.
#[test]
fn classic_tcp_has_no_options() {
    let classic = tcp("profile = \"classic\"");
    assert_eq!((classic.variant, classic.mss, classic.window), (Variant::Reno, Bytes(536), Bytes(65_535)));
    assert_eq!((classic.send_buffer, classic.initial_window), (Bytes(65_535), 1));
    assert_eq!((classic.timestamps, classic.window_scaling, classic.nagle), (false, false, false));
    assert_eq!((classic.delayed_ack.0, classic.timer_granularity), (None, Span::from_ms(500)));
    assert_eq!((classic.rto_initial, classic.rto_min), (Span::from_secs(3), Span::from_secs(1)));
}

#[test]
fn a_window_of_the_file_is_not_held_back_by_the_send_buffer_of_the_profile() {
    assert_eq!(tcp("window = \"64 MiB\"").send_buffer, Bytes(64 << 20));
    assert_eq!(tcp("window = \"64 KiB\"").send_buffer, Bytes(4 << 20));
    assert_eq!(tcp("window = \"64 MiB\", send-buffer = \"1 MiB\"").send_buffer, Bytes(1 << 20));
}

/// Keys of the file take precedence over any profile, those of a group over those of all traffic, and a group's profile
/// over that of all traffic.
#[test]
fn the_nearest_profile_fills_in_what_no_table_says() {
    let of_group = |all: &str, group: &str| {
        let text = with_tcp(all).replacen("app = \"bulk\"", &format!("app = \"bulk\", tcp = {{ {group} }}"), 1);
        scenario(&text).traffic[0].tcp().unwrap().tcp
    };
    let both = of_group("profile = \"classic\", window = \"32 KiB\"", "profile = \"windows-95\"");
    assert_eq!((both.profile, both.max_retransmissions, both.window), (TcpProfile::Windows95, 5, Bytes(32 << 10)));
    let own = of_group("window = \"32 KiB\"", "window = \"16 KiB\", profile = \"classic\"");
    assert_eq!((own.profile, own.window, own.mss), (TcpProfile::Classic, Bytes(16 << 10), Bytes(536)));
    assert_eq!(of_group("variant = \"sack\"", "nagle = false").profile, TcpProfile::Linux6);
}

#[test]
fn a_gateway_without_a_profile_has_that_of_the_group() {
    let s = scenario(&enriched(&[("tcp = { window = \"64 kB\" }", "tcp = { initial-window = 7 }")]));
    let [near, far] = s.traffic[0].tcp().unwrap().gateway_tcp;
    assert_eq!((near.profile, near.initial_window), (TcpProfile::Classic, 7));
    assert_eq!((far.profile, far.initial_window), (TcpProfile::Classic, 1));
}

/// The error about a key that contradicts a value of the profile names the profile.
#[test]
fn a_key_against_the_profile_is_refused_where_the_key_stands() {
    let problem = |keys: &str| {
        let error = refusal(&with_tcp(keys));
        assert_eq!(error.problems.len(), 1, "{error}");
        (error.problems[0].key.clone(), error.problems[0].message.clone())
    };
    let (key, message) = problem("window-scaling = false");
    assert_eq!(key, "tcp.window-scaling");
    assert_eq!(
        message,
        "a window of 3145728 B (of profile linux-6) is more than TCP can announce without window scaling"
    );
    let (key, message) = problem("timer-granularity = \"500 ms\"");
    assert_eq!(key, "tcp.timer-granularity");
    assert_eq!(message, "rto-min, 200 ms (of profile linux-6), is less than two ticks of 500 ms");
}
