//! Buffers: sizes resolved into what fills them.

use cellway_units::{Bytes, CELL_OCTETS, CELL_PAYLOAD_OCTETS, Cells, Span};

use crate::check::{Check, MAX_BUFFER};
use crate::file::BufferFile;
use crate::model::{Buffer, BufferCount, BufferPer, BufferSharing, BufferSize, Discard, Multiplexing, Traffic};
use crate::quantity::Size;
use crate::tree::at;

/// The AAL5 trailer, in bytes. ITU-T I.363.5.
const AAL5_TRAILER: u64 = 8;
/// IPv4 and TCP headers without options, in bytes.
const HEADERS: u64 = 40;

impl Check<'_> {
    pub(super) fn buffer(
        &mut self,
        buffer: Option<&BufferFile>,
        multiplexing: Multiplexing,
        traffic: Option<&[Traffic]>,
        rtt: Option<Span>,
    ) -> Option<Buffer> {
        let buffer = buffer?;
        let path = at!["buffer", "size"];
        let count = buffer.count.unwrap_or(BufferCount::Cell);
        let bytes = match buffer.size?.0 {
            Size::Bytes(bytes) => Some(bytes.0),
            Size::Cells(cells) => cells.0.checked_mul(CELL_OCTETS),
            Size::Bdp(multiple) => {
                // One size for all ports: the slowest line that any group crosses sets it.
                let slowest = traffic?.iter().map(|t| t.bottleneck).min()?;
                let bits = u128::from(slowest.as_bps()) * u128::from(rtt?.as_ps()) / 1_000_000_000_000;
                u64::try_from(bits).ok().and_then(|bits| multiple.times(bits)).map(|bits| bits / 8)
            }
        };
        let most = || format!("at most {MAX_BUFFER} B ({} GiB) or {} cell", MAX_BUFFER >> 30, MAX_BUFFER / CELL_OCTETS);
        let Some(bytes) = bytes else {
            self.refuse_value(&path, "is more bytes than can be counted", most());
            return None;
        };
        if bytes > MAX_BUFFER {
            self.refuse_value(&path, &format!("is a buffer of {bytes} B"), most());
            return None;
        }
        let size = match count {
            BufferCount::Cell => BufferSize::Cells(Cells(bytes / CELL_OCTETS)),
            BufferCount::Packet => BufferSize::Bytes(Bytes(bytes)),
        };
        let checked = Buffer {
            size,
            per: buffer.per.unwrap_or(BufferPer::Conversation),
            sharing: buffer.sharing.unwrap_or(BufferSharing::Pool),
            count,
            discard: buffer.discard.unwrap_or(Discard::Frame),
            threshold: None,
            clp_threshold: None,
        };
        self.holds_packet(&checked, multiplexing, traffic)?;
        Some(checked)
    }

    /// A buffer that no full packet fits into would stop every transfer. Told only where it is
    /// certain: what a conversation can fill at most is too little.
    fn holds_packet(&mut self, buffer: &Buffer, multiplexing: Multiplexing, traffic: Option<&[Traffic]>) -> Option<()> {
        let path = at!["buffer", "size"];
        let (size, unit) = match buffer.size {
            BufferSize::Cells(cells) => (cells.0, "cell"),
            BufferSize::Bytes(bytes) => (bytes.0, "B"),
        };
        if size == 0 {
            let message = format!("is a buffer of 0 {unit}: it drops everything");
            self.refuse_value(&path, &message, "at least one full packet, like \"1 bdp\", \"160 cell\" or \"8 KiB\"");
            return None;
        }
        let traffic = traffic?;
        let conversations: u64 = traffic.iter().map(|t| u64::from(t.count)).sum();
        let most = match (buffer.per, buffer.sharing) {
            (BufferPer::Conversation, BufferSharing::Pool | BufferSharing::Channel) => {
                size.saturating_mul(conversations.max(1))
            }
            _ => size,
        };
        let packet = traffic.iter().map(|t| t.tcp.mss.0 + HEADERS).max()?;
        let needed = match buffer.count {
            BufferCount::Packet => packet,
            BufferCount::Cell => {
                (packet + multiplexing.encapsulation.header().0 + AAL5_TRAILER).div_ceil(CELL_PAYLOAD_OCTETS)
            }
        };
        if buffer.discard == Discard::Frame && most < needed {
            let each = if most == size {
                String::new()
            } else {
                format!(" ({size} for each of {conversations} conversations)")
            };
            let message = format!("{most} {unit}{each} cannot hold one full packet of {packet} B: {needed} {unit}");
            self.refuse(&path, message, format!("at least {needed} {unit}"));
            return None;
        }
        // The port to a host that only one conversation uses has the memory of one, and takes packets whole.
        let (held, needed) = match buffer.size {
            BufferSize::Cells(cells) => (cells.0.saturating_mul(CELL_OCTETS), packet.div_ceil(CELL_OCTETS)),
            BufferSize::Bytes(bytes) => (bytes.0, packet),
        };
        if buffer.per == BufferPer::Conversation && traffic.iter().any(|t| t.access.is_some()) && held < packet {
            let message = format!(
                "{size} {unit} is {held} B at the port to a host with one conversation: no full packet of {packet} B fits"
            );
            self.refuse(&path, message, format!("at least {needed} {unit}"));
            return None;
        }
        Some(())
    }
}
