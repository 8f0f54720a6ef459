//! The C library's allocator before and after [`cellway_sys::return_large_blocks`].
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use cellway_sys::return_large_blocks;

const MIB: usize = 1 << 20;

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Allocates and frees a block of `large` MiB, below a small one that lasts. Returns the MiB of it that the process keeps.
fn kept(large: usize) -> usize {
    // The first one is mapped in any case. When it is freed, glibc raises the threshold to its size.
    drop(black_box(vec![1_u8; (large + 1) * MIB]));
    let before = resident();
    let block = black_box(vec![1_u8; large * MIB]);
    // The end of the heap is returned in any case: the large block must not be there.
    let _small = black_box(vec![1_u8; 64 << 10]);
    assert!(resident() >= before + (large - 1) * MIB, "the block is resident");
    drop(block);
    resident().saturating_sub(before) / MIB
}

fn main() {
    if !cfg!(target_env = "gnu") {
        println!("skipped: only glibc keeps large blocks");
        return;
    }
    let (end, ended) = channel::<()>();
    let other = spawn(move || ended.recv());
    return_large_blocks();
    assert!(kept(8) >= 7, "beside a second thread nothing changes");
    drop(end);
    let _ = other.join().unwrap();
    // A thread that has been joined may still be in /proc for a moment.
    let begin = Instant::now();
    while std::fs::read_dir("/proc/self/task").unwrap().count() > 1 {
        assert!(begin.elapsed() < Duration::from_secs(20), "the thread has not ended");
        sleep(Duration::from_millis(1));
    }
    return_large_blocks();
    // Larger, so that it does not fit where the first one was.
    assert_eq!(kept(16), 0, "a freed block is returned");
}
