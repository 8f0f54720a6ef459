//! Memory grows with the conversations, not with their square: the largest heap of whole runs, counted by the allocator
//! of this test.
#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::{run, scenario};

/// The allocator of the system; counts the bytes in use, and the most since [`Counting::restart`].
struct Counting {
    used: AtomicUsize,
    most: AtomicUsize,
}

impl Counting {
    fn restart(&self) {
        self.most.store(self.used.load(Relaxed), Relaxed);
    }
}

// SAFETY: passes everything on to the allocator of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = self.used.fetch_add(layout.size(), Relaxed) + layout.size();
        self.most.fetch_max(used, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let used = self.used.fetch_add(size, Relaxed) + size - layout.size();
        self.used.fetch_sub(layout.size(), Relaxed);
        self.most.fetch_max(used, Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.used.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting { used: AtomicUsize::new(0), most: AtomicUsize::new(0) };

/// Conversations with hosts of their own over one line; `access` is the framing of the hosts' lines, `line` that of
/// the line between the routers.
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

/// The most bytes of heap that a run takes.
fn most(text: &str) -> usize {
    let before = HEAP.used.load(Relaxed);
    HEAP.restart();
    let record = run(&scenario(text, &[]), 1);
    assert!(record.counts.packets > 0, "nothing was sent");
    HEAP.most.load(Relaxed) - before
}

/// Bytes that a conversation may take: two hosts, four ports, two TCP endpoints, its meters and its packets.
const EACH: usize = 20_000;

#[test]
fn memory_is_linear_in_the_conversations() {
    const OWN: &str = r#"{ size = "40 cell", per = "conversation" }"#;
    const POOL: &str = r#"{ size = "4000 cell", per = "port" }"#;
    const ABR: &str = r#"service = { class = "abr", pcr = "10 Mbit/s" }"#;
    let networks = [
        ("cells from host to host", "atm", "atm", POOL, ""),
        ("cells, buffers by conversation", "atm", "atm", OWN, ""),
        ("ABR", "atm", "atm", POOL, ABR),
        ("cells between packet lines", "packet", "atm", OWN, ""),
        ("packets", "packet", "packet", OWN, ""),
    ];
    for (name, access, line, buffer, group) in networks {
        let [few, many] = [500, 2000].map(|count| most(&network(count, access, line, buffer, group)) / count as usize);
        println!("{name}: {few} B each of 500 conversations, {many} B of 2000");
        assert!(many <= few + few / 8, "{name}: {few} B each of 500 conversations, {many} B of 2000");
        assert!(many <= EACH, "{name}: {many} B for each conversation");
    }
}
