//! Wire formats: ATM cell, AAL5, LLC/SNAP, IP and TCP headers, and a pcap writer.
//!
//! The simulator counts bytes and moves none. This crate builds the bytes, for captures that other tools check, and
//! parses them, so that each format is tested against itself and against published values. Module [`ip`] handles the
//! packets of real hosts for the emulator. Parsers accept any input: they return an error for malformed input and never
//! panic.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod aal5;
mod cell;
pub mod ip;
mod ip_packet;
mod llc;
mod packet;
mod packet_v6;
pub mod pcap;
mod tcp_options;

pub use cell::{CellHeader, CellView, Channel, HeaderError, PayloadType, hec};
pub use ip_packet::{ip_packet, udp_packet};
pub use llc::{LLC_SNAP_IPV4, LLC_SNAP_IPV6, LlcError, SduFormat};
pub use packet::{IpTcp, Ipv4Tcp, Ipv6Tcp, PacketError, TcpFlags, payload_octet};
pub use tcp_options::{AccEcn, TcpOptions};
