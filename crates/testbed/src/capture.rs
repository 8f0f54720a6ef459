//! Writes the packets that pass a node as a pcap file.

use std::collections::BTreeMap;
use std::io::Write;

use cellway_net::{Cell, ChannelId, Direction, Encapsulation, NodeKind, Packet, PortId, TapRecord, TapUnit};
use cellway_units::CELL_PAYLOAD_OCTETS;
use cellway_wire::pcap::{self, AtmFrame, LinkType, Writer};
use cellway_wire::{Channel, SduFormat, aal5};

use crate::bed::Testbed;
use crate::error::Error;

/// A capture at one node.
///
/// A host is captured as raw IP packets. At a router or switch each AAL5 frame is written at the instant of its last
/// cell, made of the cells that passed (a frame that lost cells is written as it arrives, so its CRC fails, as it
/// should), as well as the IP packets of the router's host links. Channel n of the simulation is VPI/VCI 0/(32 + n).
pub struct Capture<'a> {
    node: String,
    to: Option<&'a mut (dyn Write + Send)>,
    writer: Option<Writer<&'a mut (dyn Write + Send)>>,
    encapsulation: SduFormat,
    frames: BTreeMap<(PortId, bool, ChannelId), Assembly>,
    records: &'a mut u64,
}

/// The octets of one channel since its last end of frame, and the frame they now come from.
#[derive(Default)]
struct Assembly {
    octets: Vec<u8>,
    frame: Option<(Cell, Vec<u8>)>,
}

impl<'a> Capture<'a> {
    /// Creates a capture at the node called `node` (an implicit host is called as its conversation, `ftp-1`, or
    /// `ftp-1-sink`); `records` receives the number of records written.
    pub fn new(node: &str, to: &'a mut (dyn Write + Send), records: &'a mut u64) -> Capture<'a> {
        let (frames, encapsulation) = (BTreeMap::new(), SduFormat::VcMux);
        Capture { node: node.to_owned(), to: Some(to), writer: None, encapsulation, frames, records }
    }

    /// Begins to tap the node.
    ///
    /// # Errors
    /// There is no such node, or the beginning of the file cannot be written.
    pub fn begin<B: Clone>(&mut self, bed: &mut Testbed<B>) -> Result<(), Error> {
        let known = || bed.names().into_keys().collect::<Vec<_>>().join(", ");
        let node = bed.names().get(&*self.node).copied();
        let node = node.ok_or_else(|| Error::NoSuchNode { name: self.node.clone(), known: known() })?;
        self.encapsulation = match bed.scenario().multiplexing.encapsulation {
            Encapsulation::VcMux => SduFormat::VcMux,
            Encapsulation::LlcSnap => SduFormat::LlcSnap,
            // Packets of a host are written whole; AAL5 frames are needed at other nodes only.
            Encapsulation::None if bed.fabric.kind(node) == NodeKind::Host => SduFormat::VcMux,
            Encapsulation::None => return Err(Error::NoFrames { name: self.node.clone() }),
        };
        bed.fabric.tap(node);
        if let Some(to) = self.to.take() {
            let is_host = bed.fabric.kind(node) == NodeKind::Host;
            let link = if is_host { LinkType::RawIp } else { LinkType::Erf };
            self.writer = Some(Writer::new(to, link).map_err(written)?);
        }
        Ok(())
    }

    /// Writes the packets that have passed since the last call; `octets` returns those of a packet.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write<B: Clone>(
        &mut self,
        bed: &mut Testbed<B>,
        octets: impl Fn(&Packet<B>) -> Vec<u8>,
    ) -> Result<(), Error> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        for TapRecord { at, port, direction, channel, unit } in bed.fabric.tapped() {
            let way = match direction {
                Direction::In => pcap::Direction::Received,
                Direction::Out => pcap::Direction::Sent,
            };
            match unit {
                TapUnit::Packet(packet) => writer.packet(at, way, &octets(&packet)).map_err(written)?,
                TapUnit::Cell(cell, packet) => {
                    let channel = channel.expect("cells travel on channels");
                    let key = (port, direction == Direction::In, channel);
                    let assembly = self.frames.entry(key).or_default();
                    if assembly.frame.as_ref().is_none_or(|(known, _)| !known.is_of_frame_of(cell)) {
                        let sdu = self.encapsulation.wrap(&octets(&packet));
                        let pdu = aal5::build(&sdu, 0, 0).expect("an IP packet fits into an AAL5 frame");
                        assembly.frame = Some((cell, pdu));
                    }
                    let (_, pdu) = assembly.frame.as_ref().expect("it has just been set");
                    let from = usize::from(cell.index()) * CELL_PAYLOAD_OCTETS as usize;
                    assembly.octets.extend_from_slice(&pdu[from..from + CELL_PAYLOAD_OCTETS as usize]);
                    if cell.is_last() {
                        let number = channel.0;
                        let channel = Channel::user((number >> 15) as u8, number & 0x7fff)
                            .expect("fifteen bits are within the channels of a path");
                        let frame = AtmFrame { time: at, direction: way, channel, pdu: &assembly.octets };
                        writer.frame(&frame).map_err(written)?;
                        *assembly = Assembly::default();
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Its end cannot be written.
    pub fn finish(self) -> Result<(), Error> {
        if let Some(writer) = self.writer {
            *self.records = writer.records();
            writer.finish().map_err(written)?;
        }
        Ok(())
    }
}

fn written(error: pcap::Error) -> Error {
    match error {
        pcap::Error::Io(error) => Error::Capture(error),
        other => Error::Capture(std::io::Error::other(other)),
    }
}
