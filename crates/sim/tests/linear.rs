//! Memory grows linearly with the conversations: the peak heap of whole runs, counted by the allocator of this test.
#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{run, scenario};

thread_local! {
    /// The bytes in use by this thread, which runs one test, and their peak since [`most`] set it.
    static USED: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, with a count of the bytes in use.
struct Counting;

fn count(taken: usize, given_back: usize) {
    let used = USED.get().wrapping_add(taken);
    MOST.set(MOST.get().max(used));
    USED.set(used.wrapping_sub(given_back));
}

// SAFETY: passes all calls on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new block exist at the same time while the bytes are copied.
        count(size, layout.size());
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, layout.size());
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// Conversations with their own hosts over one line; `access` is the framing of the hosts' lines, `line` that of the
/// line between the routers.
fn network(conversations: u32, access: &str, line: &str, buffer: &str, group: &str) -> String {
    format!(
        r#"version = 1
name = "many"
node = [{{ name = "r1", kind = "router" }}, {{ name = "r2", kind = "router" }}]
run = {{ duration = "300 ms", warmup = "100 ms" }}
buffer = {buffer}
tcp = {{ profile = "classic", variant = "newreno", mss = "536 B", window = "4 KiB", initial-window = 1 }}
link = [{{ between = ["r1", "r2"], rate = "600 Mbit/s", delay = "20 ms", framing = "{line}" }}]
observe = {{ interval = "300 ms", fairness-window = "200 ms" }}

[[traffic]]
name = "bulk"
app = "bulk"
from = "r1"
to = "r2"
count = {conversations}
stagger = "20 us"
access = {{ rate = "10 Mbit/s", delay = "1 ms", framing = "{access}" }}
{group}
"#
    )
}

const ENGINES: [&str; 2] = ["\"cells\"", "\"windows\""];

/// Returns the peak heap of a run with an engine, in bytes.
fn most(text: &str, engine: &str) -> usize {
    let before = USED.get();
    MOST.set(before);
    let record = run(&scenario(text, &[("run.engine", engine)]), 1);
    assert!(record.counts.packets > 0, "nothing was sent");
    MOST.get() - before
}

/// Ten thousand conversations whose whole windows are in flight on their own lines: the case of the published figures.
#[test]
fn ten_thousand_conversations_take_less_than_seventy_five_megabytes() {
    const OWN: &str = r#"{ size = "40 cell", per = "conversation" }"#;
    const LINUX: &str = r#"tcp = { profile = "linux-6", mss = "1460 B", window = "64 KiB" }"#;
    for (access, group) in [("atm", ""), ("packet", ""), ("atm", LINUX)] {
        let text = network(10_000, access, "atm", OWN, group)
            .replace("10 Mbit/s", "155 Mbit/s")
            .replace("600 Mbit/s", "155 Mbit/s")
            .replace("300 ms", "1 s");
        for engine in ENGINES {
            let most = most(&text, engine);
            println!("{access} {group}, {engine}: {most} B");
            assert!(most <= 75_000_000, "{access} {group}, {engine}: {most} B");
        }
    }
}

#[test]
fn memory_is_linear_in_the_conversations() {
    const OWN: &str = r#"{ size = "40 cell", per = "conversation" }"#;
    const POOL: &str = r#"{ size = "4000 cell", per = "port" }"#;
    const ABR: &str = r#"service = { class = "abr", pcr = "10 Mbit/s" }"#;
    // With the most bytes for a conversation: two hosts, four ports, two TCP endpoints, its meters and its packets; a few
    // per cent more than in windows, which take more than the calendar.
    let networks = [
        ("cells from host to host", "atm", "atm", POOL, "", 9_700),
        ("cells, buffers by conversation", "atm", "atm", OWN, "", 9_900),
        ("ABR", "atm", "atm", POOL, ABR, 12_600),
        ("cells between packet lines", "packet", "atm", OWN, "", 9_500),
        ("packets", "packet", "packet", OWN, "", 10_200),
    ];
    for ((name, access, line, buffer, group, each), engine) in
        networks.iter().flat_map(|of| ENGINES.map(|engine| (*of, engine)))
    {
        let text = |count| network(count, access, line, buffer, group);
        let [few, many] = [500, 2000].map(|count| most(&text(count), engine) / count as usize);
        println!("{name}, {engine}: {few} B each of 500 conversations, {many} B of 2000");
        assert!(many <= few + few / 8, "{name}, {engine}: {few} B each of 500 conversations, {many} B of 2000");
        assert!(many <= each, "{name}, {engine}: {many} B for each conversation");
    }
}
