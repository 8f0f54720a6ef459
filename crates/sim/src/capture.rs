//! Writes what passes a node as a pcap file, with the octets that the simulation only counts.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::Ipv4Addr;

use cellway_apps::random::Streams;
use cellway_net::{Cell, ChannelId, Direction, NodeId, Packet, PortId, TapRecord, TapUnit};
use cellway_scenario::Scenario;
use cellway_tcp::{Flags, Segment};
use cellway_testbed::{Leg, Testbed};
use cellway_units::CELL_PAYLOAD_OCTETS;
use cellway_wire::pcap::{self, AtmFrame, LinkType, Writer};
use cellway_wire::{Channel, Encapsulation, Ipv4Tcp, TcpFlags, TcpOptions, aal5, ipv4_opaque};

use crate::body::Body;
use crate::error::Error;
use crate::slot::Slot;

/// First port of the originators' connections; those below are reserved. RFC 6335 section 6.
const FIRST_DYNAMIC_PORT: u32 = 1024;
/// What one gateway tells the other has no port: a protocol number for experiments. RFC 3692.
const GATEWAY_PROTOCOL: u8 = 253;
/// Hops that a packet may take.
const TIME_TO_LIVE: u8 = 64;

/// A capture at one node.
///
/// A host is captured as raw IP packets. At a router or switch each AAL5 frame is written at the
/// instant of its last cell, made of the cells that passed (a frame that lost cells is written as
/// it arrives, so its CRC fails, as it should), beside the IP packets of the router's host links.
/// Channel n of the simulation is VPI/VCI 0/(32 + n).
pub struct Capture<'a> {
    node: String,
    to: Option<&'a mut dyn Write>,
    writer: Option<Writer<&'a mut dyn Write>>,
    encapsulation: Encapsulation,
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
    /// A capture at the node called `node` (an implicit host is called as its conversation,
    /// `ftp-1`, or `ftp-1-sink`); `records` will say how much was written.
    pub fn new(node: &str, to: &'a mut dyn Write, records: &'a mut u64) -> Capture<'a> {
        let (frames, encapsulation) = (BTreeMap::new(), Encapsulation::VcMux);
        Capture { node: node.to_owned(), to: Some(to), writer: None, encapsulation, frames, records }
    }

    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    pub(crate) fn begin(&mut self, is_host: bool, encapsulation: cellway_net::Encapsulation) -> Result<(), Error> {
        self.encapsulation = match encapsulation {
            cellway_net::Encapsulation::VcMultiplexed => Encapsulation::VcMux,
            cellway_net::Encapsulation::LlcSnap => Encapsulation::LlcSnap,
        };
        if let Some(to) = self.to.take() {
            let link = if is_host { LinkType::RawIp } else { LinkType::Erf };
            self.writer = Some(Writer::new(to, link).map_err(written)?);
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, records: Vec<TapRecord<Body>>, slots: &[Slot], legs: &[Leg]) -> Result<(), Error> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        for TapRecord { at, port, direction, unit } in records {
            let way = match direction {
                Direction::In => pcap::Direction::Received,
                Direction::Out => pcap::Direction::Sent,
            };
            match unit {
                TapUnit::Packet(packet) => writer.packet(at, way, &octets(&packet, slots, legs)).map_err(written)?,
                TapUnit::Cell(cell, packet) => {
                    let key = (port, direction == Direction::In, cell.channel());
                    let assembly = self.frames.entry(key).or_default();
                    if assembly.frame.as_ref().is_none_or(|(known, _)| !known.is_of_frame_of(cell)) {
                        let sdu = self.encapsulation.wrap(&octets(&packet, slots, legs));
                        let pdu = aal5::build(&sdu, 0, 0).expect("an IP packet fits into an AAL5 frame");
                        assembly.frame = Some((cell, pdu));
                    }
                    let (_, pdu) = assembly.frame.as_ref().expect("it has just been set");
                    let from = usize::from(cell.index()) * CELL_PAYLOAD_OCTETS as usize;
                    assembly.octets.extend_from_slice(&pdu[from..from + CELL_PAYLOAD_OCTETS as usize]);
                    if cell.is_last() {
                        let number = cell.channel().0;
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

    pub(crate) fn finish(self) -> Result<(), Error> {
        if let Some(writer) = self.writer {
            *self.records = writer.records();
            writer.finish().map_err(written)?;
        }
        Ok(())
    }
}

/// The nodes of `scenario` that a [`Capture`] may name: those of the file and the implicit hosts,
/// in the order of their names. Refuses what a run would refuse.
pub fn node_names(scenario: &Scenario) -> Result<Vec<String>, Error> {
    let mut bed = Testbed::<()>::new(scenario, &Streams::new(0))?;
    bed.open_planned()?;
    Ok(bed.names().keys().cloned().collect())
}

fn written(error: pcap::Error) -> Error {
    match error {
        pcap::Error::Io(error) => Error::Capture(error),
        other => Error::Capture(std::io::Error::other(other)),
    }
}

/// The packet as it would be on a wire: addresses by host, ports by connection, a fixed payload.
fn octets(packet: &Packet<Body>, slots: &[Slot], legs: &[Leg]) -> Vec<u8> {
    let (serial, conn, number, segment) = match (&packet.body, legs[packet.conversation as usize]) {
        (&Body::Segment { serial, conn, number, segment }, Leg::Slot { slot, .. }) => {
            (serial, (slot, conn), number, segment)
        }
        // The numbers of gateways' packets count up; so do identifications.
        (Body::Transport { packet: body, .. }, _) => {
            let (from, to) = (address(packet.from), address(packet.to));
            let identification = identification(body.number);
            return ipv4_opaque(from, to, GATEWAY_PROTOCOL, identification, TIME_TO_LIVE, packet.octets)
                .expect("the gateway makes packets that fit");
        }
        (Body::Segment { .. }, Leg::Gateways { .. }) => unreachable!("gateways speak their own transport"),
    };
    let (slot, conn) = conn;
    let slot = &slots[slot as usize];
    let dynamic = FIRST_DYNAMIC_PORT + (packet.conversation * 4099 + serial) % (65_536 - FIRST_DYNAMIC_PORT);
    let known = slot.plan.well_known_ports[usize::from(conn > 0)];
    let [originator, responder] = slot.plan.hosts;
    let ports = [dynamic as u16, known];
    let towards_responder = packet.from == originator || packet.to == responder;
    let [source_port, destination_port] = if towards_responder { ports } else { [ports[1], ports[0]] };
    let Segment { seq, ack, window, len, options, .. } = segment;
    Ipv4Tcp {
        source: address(packet.from),
        destination: address(packet.to),
        source_port,
        destination_port,
        identification: identification(number),
        ttl: TIME_TO_LIVE,
        seq: seq.0,
        ack: ack.0,
        flags: tcp_flags(&segment),
        window,
        options: TcpOptions {
            mss: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            sack: options.sack.as_slice().iter().map(|block| (block.start.0, block.end.0)).collect(),
            timestamps: options.timestamps.map(|stamp| (stamp.value, stamp.echo)),
        },
        payload_len: len,
    }
    .octets()
    .expect("the endpoint makes segments that fit")
}

/// A packet that may not be fragmented may have any identification (RFC 6864 section 4.1): the packet's
/// number. But in a frame without LLC header Wireshark guesses what it holds, and takes these two, at
/// their place, for the protocol identifiers of Frame Relay (RFC 2427).
fn identification(number: u64) -> u16 {
    match number as u16 {
        0x03cc | 0x038e => 0,
        number => number,
    }
}

fn tcp_flags(segment: &Segment) -> TcpFlags {
    TcpFlags {
        fin: segment.is(Flags::FIN),
        syn: segment.is(Flags::SYN),
        rst: segment.is(Flags::RST),
        psh: segment.is(Flags::PSH),
        ack: segment.is(Flags::ACK),
        ..TcpFlags::default()
    }
}

fn address(host: NodeId) -> Ipv4Addr {
    let [_, b, c, d] = (host.0 + 1).to_be_bytes();
    Ipv4Addr::new(10, b, c, d)
}
