//! Buffers of packet links, and warnings about values that they, or a link, cannot hold.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use cellway_scenario::{Buffer, BufferSize, Plan, Scenario};
use cellway_units::{Bytes, Cells};

/// Two routers, the link between them, and a group.
fn text(buffer: &str, link: &str, group: &str) -> String {
    format!(
        r#"version = 1
name = "path"
run = {{ duration = "60 s" }}
node = [{{ name = "a", kind = "router" }}, {{ name = "b", kind = "router" }}]

[buffer]
{buffer}

[[link]]
between = ["a", "b"]
rate = "4 Mbit/s"
delay = "20 ms"
{link}

[[traffic]]
name = "t"
from = "a"
to = "b"
access = {{ rate = "100 Mbit/s", delay = "1 ms" }}
{group}
"#
    )
}

fn parsed(text: &str) -> Result<Scenario, String> {
    Plan::parse(text, "t.toml").map(|plan| plan.base().clone()).map_err(|error| error.to_string())
}

const BULK: &str = "app = \"bulk\"";

/// A packet link holds packets: a buffer is as large as the file says, not rounded to cells.
#[test]
fn a_packet_link_holds_the_bytes_of_the_file() {
    let scenario = parsed(&text("size = \"1500 B\"\nper = \"port\"", "", BULK)).unwrap();
    assert_eq!(scenario.links[0].buffer.size, BufferSize::Bytes(Bytes(1500)));
    assert_eq!(scenario.buffer.size, BufferSize::Bytes(Bytes(1500)), "also at the ports to hosts");
    let refused = parsed(&text("size = \"1499 B\"\nper = \"port\"", "", BULK)).unwrap_err();
    assert!(refused.contains("1499 B cannot hold one full packet of 1500 B; accepted: at least 1500 B"), "{refused}");
    let own = "buffer = { size = \"1500 B\" }";
    let scenario = parsed(&text("size = \"64 KiB\"\nper = \"port\"", own, BULK)).unwrap();
    assert_eq!(scenario.links[0].buffer.size, BufferSize::Bytes(Bytes(1500)));
}

/// Cells are counted at ATM links, unless the file says otherwise.
#[test]
fn a_file_with_both_counts_what_each_link_carries() {
    let more = "\n[[link]]\nbetween = [\"b\", \"c\"]\nrate = \"4 Mbit/s\"\ndelay = \"0 s\"\nframing = \"atm\"\n";
    let with_atm = |buffer: &str| {
        let text = text(buffer, "", BULK)
            .replace("name = \"b\", kind", "name = \"c\", kind = \"router\" }, { name = \"b\", kind");
        let text = text.replace("to = \"b\"", "to = \"c\"").replace("\n[[traffic]]", &format!("{more}\n[[traffic]]"));
        let scenario = parsed(&text).unwrap();
        [scenario.links[0].buffer, scenario.links[1].buffer].map(|Buffer { size, .. }| size)
    };
    let [packets, cells] = with_atm("size = \"64 KiB\"");
    assert_eq!([packets, cells], [BufferSize::Bytes(Bytes(65_536)), BufferSize::Cells(Cells(65_536 / 53))]);
    assert_eq!(with_atm("size = \"64 KiB\"\ncount = \"cell\""), [cells; 2]);
    assert_eq!(with_atm("size = \"64 KiB\"\ncount = \"packet\""), [packets; 2]);
}

/// A link that inherits the buffer is no stricter than the buffer itself, and ATM links with their own buffers do not
/// count for the others.
#[test]
fn links_of_the_other_kind_do_not_change_what_is_accepted() {
    let atm = |buffer: &str| {
        format!(
            "\n[[link]]\nbetween = [\"b\", \"c\"]\nrate = \"4 Mbit/s\"\ndelay = \"0 s\"\nframing = \"atm\"\n{buffer}\n[[traffic]]"
        )
    };
    let with = |size: &str, own: &str| {
        let text = text(size, "", BULK).replace("\n[[traffic]]", &atm(own)).replace("to = \"b\"", "to = \"c\"");
        let text = text.replace("name = \"b\", kind", "name = \"c\", kind = \"router\" }, { name = \"b\", kind");
        let text = text.replace("app = \"bulk\"", "app = \"bulk\"\ncount = 8");
        parsed(&text).map(|scenario| scenario.links[0].buffer.size)
    };
    let own = "buffer = { size = \"64 KiB\" }";
    assert_eq!(with("size = \"1500 B\"\nper = \"port\"", own), Ok(BufferSize::Bytes(Bytes(1500))));
    assert!(with("size = \"1500 B\"\nper = \"port\"", "").unwrap_err().contains("at least 32 cell"));
    // 8 conversations have 8 times the size, whether a link states it or inherits it.
    for own in ["", "buffer = { size = \"1000 B\" }"] {
        let stated = text("size = \"64 KiB\"", own, "count = 8\napp = \"bulk\"").replace("64 KiB", "1500 B");
        assert_eq!(parsed(&stated).err(), None, "{own}");
    }
}

fn warnings(text: &str) -> Vec<String> {
    let plan = Plan::parse(text, "t.toml").unwrap_or_else(|error| panic!("{error}"));
    let warnings = plan.warnings(&plan.points().unwrap());
    warnings.iter().map(|warning| format!("{}: {}", warning.key, warning.message)).collect()
}

#[test]
fn red_thresholds_above_the_buffer_cause_a_warning() {
    let red = |size: &str, keys: &str| {
        warnings(&text(&format!("size = \"{size}\"\nper = \"port\"\nqueue = \"red\"\n{keys}"), "", BULK))
    };
    assert_eq!(red("22500 B", ""), [""; 0], "15 packets of 1500 B");
    assert_eq!(
        red("22499 B", ""),
        [
            "buffer.queue: the max of RED is 15 packet, but the buffer holds 14 packets of 1500 B: the buffer overflows before RED \
          drops or marks as many packets as max-p says"
        ]
    );
    assert_eq!(
        red("64 KiB", "red = { min = \"100 kB\", max = \"200 kB\" }"),
        ["buffer.red.min: the min of RED is 100000 B, but the buffer holds 65536 B: RED never drops or marks"]
    );
    // A sweep that makes the buffer large enough is no mistake.
    let sweep = "\n[sweep]\naxes = { \"buffer.size\" = [\"3000 B\", \"1 MB\"] }\n";
    let small = text("size = \"3000 B\"\nper = \"port\"\nqueue = \"red\"", "", BULK);
    assert_eq!(warnings(&(small + sweep)), [""; 0]);
}

#[test]
fn datagrams_above_the_link_of_their_host_cause_a_warning() {
    let udp = |rate: &str, more: &str| {
        let group = format!("count = 3\nudp = {{ packet = \"200 B\", rate = \"{rate}\"{more} }}");
        warnings(&text("size = \"64 KiB\"\nper = \"port\"", "", &group))
    };
    assert_eq!(udp("100 Mbit/s", ""), [""; 0], "each slot has a link of its own");
    assert_eq!(
        udp("101 Mbit/s", ""),
        [
            "traffic.t.udp.rate: 101 Mbit/s is more than the link of the host carries, 100 Mbit/s: the queue of the host grows \
          without limit"
        ]
    );
    assert_eq!(
        udp("150 Mbit/s", ", source = \"on-off\", on = \"1 s\", off = \"1 s\""),
        [""; 0],
        "75 Mbit/s in the mean"
    );
}

/// A change at the start sets the rate of the link.
#[test]
fn the_rate_from_the_start_on_bounds_datagrams() {
    let with = |rate: &str| {
        let changed = format!("[[change]]\nat = \"0 s\"\nlink = \"a-b\"\nrate = \"{rate}\"\n");
        let group = "udp = { packet = \"200 B\", rate = \"5 Mbit/s\" }";
        let text = text("size = \"64 KiB\"\nper = \"port\"", "", group);
        warnings(&(text.replace("name = \"a\", kind = \"router\"", "name = \"a\", kind = \"host\"") + &changed)).len()
    };
    assert_eq!([with("5 Mbit/s"), with("4999 kbit/s")], [0, 1]);
}

/// A size that an error names as enough for several conversations is enough.
#[test]
fn the_accepted_size_for_several_conversations_is_accepted() {
    let group = "count = 8\napp = \"bulk\"";
    let hosts = |text: String| {
        let nodes = "node = [{ name = \"a\", kind = \"host\" }, { name = \"m\", kind = \"router\" }, { name = \"b\", kind = \"host\" }]";
        let more = "[[link]]\nbetween = [\"m\", \"b\"]\nrate = \"4 Mbit/s\"\ndelay = \"0 s\"\n\n[[traffic]]";
        let nodes_of_text = "node = [{ name = \"a\", kind = \"router\" }, { name = \"b\", kind = \"router\" }]";
        text.replace(nodes_of_text, nodes).replace("[\"a\", \"b\"]", "[\"a\", \"m\"]").replace("[[traffic]]", more)
    };
    let with = |size: &str| {
        let text = hosts(text(&format!("size = \"{size}\""), "", group));
        parsed(&text.replace("access = { rate = \"100 Mbit/s\", delay = \"1 ms\" }\n", ""))
    };
    let refused = with("187 B").unwrap_err();
    assert!(refused.contains("1496 B (187 B for each of 8 conversations)"), "{refused}");
    assert!(refused.contains("at least 188 B") && with("188 B").is_ok(), "{refused}");
}
