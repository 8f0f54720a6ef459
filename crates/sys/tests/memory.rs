//! The C library's allocator before and after [`cellway_sys::return_large_blocks`] and [`cellway_sys::return_free_memory`].
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::hint::black_box;
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn};
use std::time::Duration;

use cellway_sys::{return_free_memory, return_large_blocks};

const MIB: usize = 1 << 20;
const SMALL: usize = 1 << 10;
/// The last line of libtest, from which `tools/test.py` counts the tests of a program.
const PASSED: &str = "test result: ok. 1 passed; 0 failed; 0 ignored";

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
    // The end of the heap is returned in any case: the large block must not be at the end.
    let _small = black_box(vec![1_u8; 64 << 10]);
    assert!(resident() >= before + (large - 1) * MIB, "the block is resident");
    drop(block);
    resident().saturating_sub(before) / MIB
}

/// Returns small blocks of `size` MiB in all.
fn small(size: usize) -> Vec<Vec<u8>> {
    (0..size * MIB / SMALL).map(|_| black_box(vec![1; SMALL])).collect()
}

fn main() {
    if !cfg!(target_env = "gnu") {
        println!("skipped: only glibc keeps large blocks");
        println!("{PASSED}");
        return;
    }
    let (end, ended) = channel::<()>();
    let other = spawn(move || ended.recv());
    return_large_blocks();
    assert!(kept(8) >= 7, "beside a second thread nothing changes");
    drop(end);
    let _ = other.join().unwrap();
    // A thread that has been joined may still be in /proc for a moment.
    while std::fs::read_dir("/proc/self/task").unwrap().count() > 1 {
        sleep(Duration::from_millis(1));
    }
    return_large_blocks();
    // Larger, so that it does not fit into the free space of the first one.
    assert_eq!(kept(16), 0, "a freed block is returned");
    // Small blocks of 4 MiB in all, freed at the end of the heap.
    return_free_memory();
    let before = resident();
    drop(small(4));
    assert!(resident() >= before + 3 * MIB, "the end of the heap is kept for the next ones");
    drop(small(16));
    assert!(resident() <= before + 9 * MIB, "no more than 8 MiB of it");
    return_free_memory();
    assert!(resident() < before + MIB, "until free memory is returned");
    // Small blocks of 16 MiB in all, freed below one that lasts.
    let before = resident();
    let small = small(16);
    let last = black_box(vec![1_u8; 64 * SMALL]);
    drop(small);
    assert!(resident() >= before + 15 * MIB, "the allocator keeps them");
    return_free_memory();
    assert!(resident() < before + MIB, "freed blocks are returned");
    drop(last);
    println!("{PASSED}");
}
