//! Exchange of packets between the network and the devices of its hosts, with the instants assigned to them.
//!
//! A packet enters the network at an instant read from the clock after the packet was read from its device, and
//! leaves it before the instant at which it is written: whatever stops this thread in between, a host never gets a
//! packet earlier than the path allows.

use std::io::{self, IoSlice};

use cellway_units::Time;
use cellway_wire::ip::VirtioNetHeader;

use super::Pump;
use crate::batch::batches;
use crate::clock::TimeSource;
use crate::engine::HostIndex;
use crate::error::Error;
use crate::sys::Tun;

/// The most packets that one pass reads from one host; further packets wait for the next pass.
const READS: u32 = 64;

/// The network device of a host. Each packet is preceded by a virtio-net header.
pub(crate) trait Device {
    /// Reads one packet into `buffer`; returns `None` if there is none.
    fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Writes one packet in parts; returns `None` if the device cannot take it now.
    fn write_vectored(&self, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>>;
}

impl Device for Tun {
    fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.read(buffer)
    }

    fn write_vectored(&self, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        self.write_vectored(parts)
    }
}

impl<D: Device, C: TimeSource> Pump<D, C> {
    /// Advances the network to now, or to `end` if that is earlier, and writes what has arrived to the hosts. Returns
    /// that instant.
    pub(super) fn catch_up(&mut self, end: Time) -> Result<Time, Error> {
        let now = self.clock.now().unwrap_or(Time::ZERO).min(end);
        self.engine.advance(now)?;
        self.hand_out();
        Ok(now)
    }

    /// Reads the packets that hosts have sent before `end`. Returns true if the devices may have more for which the
    /// hosts' lines have room.
    pub(super) fn take_in(&mut self, end: Time) -> Result<bool, Error> {
        for host in (0..self.devices.len()).map(HostIndex) {
            if !self.intake[host.0].readable {
                continue;
            }
            let mut reads = 0;
            // True if the device is empty, or the host has to wait for its line.
            let mut clear = true;
            while self.engine.has_room(host) {
                if reads == READS {
                    clear = false;
                    break;
                }
                reads += 1;
                let octets = match self.devices[host.0].read(&mut self.buffer) {
                    Ok(Some(octets)) => octets,
                    Ok(None) => {
                        self.intake[host.0].readable = false;
                        break;
                    }
                    Err(source) => return Err(Error::Device { host: self.engine.name(host).to_owned(), source }),
                };
                // After the read: the packet was sent before this instant, wherever this thread was stopped.
                let read = self.clock.now().unwrap_or(Time::ZERO);
                if read > end {
                    return Ok(false);
                }
                self.engine.advance(read)?;
                self.engine.receive(host, &self.buffer[..octets])?;
                self.lateness.record_early(read.since(self.engine.now()));
                self.ingress.record(self.intake[host.0].ingress.read(read));
                self.engine.serve();
            }
            if clear {
                // The engine's instant is not later than the last read of the device.
                self.intake[host.0].ingress.clear(self.engine.now());
            }
            self.hand_out();
        }
        // A line may have become free while other hosts were read.
        let may_have_more = |host: &usize| self.intake[*host].readable && self.engine.has_room(HostIndex(*host));
        Ok((0..self.devices.len()).any(|host| may_have_more(&host)))
    }

    /// Writes the packets that have arrived to their hosts.
    fn hand_out(&mut self) {
        if self.engine.due().is_empty() {
            return;
        }
        let due = std::mem::take(self.engine.due());
        for mut batch in batches(&due, self.joins) {
            let device = &self.devices[batch.host.0];
            // Read before the write: the host cannot have the packet before this instant, and may have it at any time
            // after.
            let before = self.clock.now().unwrap_or(Time::ZERO);
            let taken = match batch.joined.as_mut().filter(|joined| joined.count() > 1) {
                Some(joined) => {
                    let header = joined.header_len();
                    let (offload, headers) = joined.finish();
                    let offload = offload.octets();
                    let mut parts = vec![IoSlice::new(&offload), IoSlice::new(headers)];
                    parts.extend(batch.members.iter().map(|&place| IoSlice::new(&due[place].octets[header..])));
                    device.write_vectored(&parts)
                }
                None => {
                    // Checksums are complete: none is offloaded to the host.
                    let offload = VirtioNetHeader::default().octets();
                    device.write_vectored(&[IoSlice::new(&offload), IoSlice::new(&due[batch.members[0]].octets)])
                }
            };
            if !matches!(taken, Ok(Some(_))) {
                self.untaken += batch.members.len() as u64;
            }
            let now = self.clock.now().unwrap_or(Time::ZERO);
            for &place in &batch.members {
                let late = now.since(due[place].at);
                self.lateness.record(late);
                self.lateness.record_early(due[place].at.since(before));
                self.recent.record(late);
            }
        }
        // The allocation of the list is reused.
        let list = self.engine.due();
        *list = due;
        list.clear();
    }
}
