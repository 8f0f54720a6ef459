//! A link without delay between two devices: packets that leave one enter the other.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use cellway_emu::sys::{Interest, Readiness, Tun, now_ns};

/// Octets of `struct virtio_net_hdr`.
pub(crate) const HEADER: usize = Tun::HEADER;

/// The packets that passed.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Seen {
    /// Packets of either direction.
    pub(crate) packets: u64,
    /// Those that the kernel left uncut.
    pub(crate) segments: u64,
    /// Octets of the largest, its header included.
    pub(crate) largest: usize,
}

/// A thread that carries packets.
pub(crate) struct Bridge {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

impl Bridge {
    /// Joins two devices until stopped.
    pub(crate) fn start(a: Tun, b: Tun) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        Self { stop, thread: std::thread::spawn(move || carry(&[a, b], &stopped)) }
    }

    /// Stops, removes the devices and returns the packets that passed.
    pub(crate) fn stop(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn carry(devices: &[Tun; 2], stop: &AtomicBool) -> Seen {
    let mut set = Readiness::new().unwrap();
    for (device, token) in devices.iter().zip(0..) {
        set.add(device.as_fd(), token, Interest::Read).unwrap();
    }
    let (mut seen, mut ready) = (Seen::default(), Vec::new());
    let mut buffer = vec![0; Tun::LARGEST];
    while !stop.load(Ordering::Relaxed) {
        set.wait(Some(now_ns() + 10_000_000), &mut ready).unwrap();
        for &token in &ready {
            let from = usize::try_from(token).unwrap();
            while let Some(octets) = devices[from].read(&mut buffer).unwrap() {
                seen.packets += 1;
                seen.segments += u64::from(buffer[1] != 0);
                seen.largest = seen.largest.max(octets);
                let (header, packet) = buffer[..octets].split_at(HEADER);
                let parts = [std::io::IoSlice::new(header), std::io::IoSlice::new(packet)];
                assert_eq!(devices[1 - from].write_vectored(&parts).unwrap(), Some(octets));
            }
        }
    }
    seen
}
