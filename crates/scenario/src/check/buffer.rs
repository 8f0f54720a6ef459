//! Buffers: sizes resolved into what fills them.

use cellway_settings::quantity::Format;
use cellway_units::{Bytes, CELL_OCTETS, Cells, Rate, Span};

use crate::check::network::Network;
use crate::check::{Check, MAX_BUFFER};
use crate::file::{BufferFile, BufferKeys, File, LinkFile};
use crate::model::{
    Buffer, BufferPer, BufferSize, Charge, Command, Discard, Emulate, Framing, Link, MultiplexingSpec, NodeIndex,
    NodeKind, Sharing, Traffic,
};
use crate::quantity::Size;
use crate::route;
use crate::tree::{Step, at};

/// The quantities by which sizes are resolved.
#[derive(Clone, Copy)]
pub(super) struct Scale<'t> {
    pub(super) traffic: Option<&'t [Traffic]>,
    /// The slowest line that sets a bandwidth-delay product.
    pub(super) slowest: Option<Rate>,
    pub(super) rtt: Option<Span>,
    pub(super) multiplexing: MultiplexingSpec,
}

impl Check<'_> {
    /// The buffer of all ports for which no link says otherwise.
    pub(super) fn buffer(
        &mut self,
        keys: Option<BufferKeys>,
        network: Option<&Network>,
        links: &[LinkFile],
        scale: Scale,
    ) -> Option<Buffer> {
        let keys = keys?;
        let size = at!["buffer", "size"];
        if keys.size.is_none() && !self.is_bad(&size) {
            self.refuse(&size, "is missing", Format::of::<Size>().accepted(None));
        }
        let unit =
            network.map_or(Charge::Cell, |network| shared_unit(network, links, scale.traffic.unwrap_or_default()));
        let buffer = self.resolve(None, keys.resolve()?, unit, scale)?;
        if let (Some(network), Some(traffic)) = (network, scale.traffic) {
            self.has_packet_queues(buffer.queue, network, traffic)?;
        }
        let groups: Vec<&Traffic> = scale.traffic?.iter().collect();
        // The port to a host that only one conversation uses has the memory of one.
        let to_packets = |t: &&Traffic| t.access.is_some_and(|access| access.framing != Framing::Atm);
        let hosts: Vec<&Traffic> = groups.iter().copied().filter(to_packets).collect();
        if buffer.per == BufferPer::Conversation {
            let place = " at the port to a host with one conversation";
            let port = Port { unit: Charge::Packet, conversations: 1, place };
            self.holds_packet(None, &buffer, port, scale.multiplexing, &hosts)?;
        }
        let port = Port { unit, conversations: conversations(&groups), place: "" };
        self.holds_packet(None, &buffer, port, scale.multiplexing, &groups)?;
        Some(buffer)
    }

    /// The buffer of each link.
    pub(super) fn link_buffers(
        &mut self,
        file: &File,
        network: &Network,
        shared: Buffer,
        scale: Scale,
    ) -> Option<Vec<Link>> {
        let files = file.link.as_deref()?;
        let crossing = crossing(network, scale.traffic?);
        let checked: Vec<Option<Link>> = network
            .links
            .iter()
            .zip(&crossing)
            .enumerate()
            .map(|(i, (link, crossing))| {
                let all = file.buffer?;
                let buffer = match files[i].buffer? {
                    None if all.count.is_some() || shared.count == unit_of(link.framing) => shared,
                    // Checked as the buffer of all ports.
                    None => self.resolve(Some(i), all.resolve()?, unit_of(link.framing), scale)?,
                    Some(own) => self.link_buffer(i, link, own.or(all).resolve()?, scale, crossing)?,
                };
                self.holds_transport(i, network, &buffer, scale, crossing)?;
                Some(Link { buffer, ..link.clone() })
            })
            .collect();
        checked.into_iter().collect()
    }

    fn link_buffer(
        &mut self,
        i: usize,
        link: &Link,
        merged: BufferFile,
        scale: Scale,
        crossing: &[Crossing],
    ) -> Option<Buffer> {
        let unit = unit_of(link.framing);
        if unit == Charge::Cell {
            self.is_no_queue_of_cells(i, merged.queue)?;
        }
        let buffer = self.resolve(Some(i), merged, unit, scale)?;
        // Segments of TCP do not cross the links between gateways.
        let crossing: Vec<&Traffic> = crossing.iter().filter(|c| c.gateways.is_none()).map(|c| c.traffic).collect();
        let port = Port { unit, conversations: conversations(&crossing), place: "" };
        self.holds_packet(Some(i), &buffer, port, scale.multiplexing, &crossing)?;
        Some(buffer)
    }

    /// The ports of a link between gateways must hold a packet of theirs. All connections of a pair are one
    /// conversation there.
    fn holds_transport(
        &mut self,
        i: usize,
        network: &Network,
        buffer: &Buffer,
        scale: Scale,
        crossing: &[Crossing],
    ) -> Option<()> {
        let mut pairs: Vec<[NodeIndex; 2]> = Vec::new();
        let mut conversations = 0;
        for one in crossing {
            match one.gateways {
                Some([a, b]) => pairs.push([a.min(b), a.max(b)]),
                None => conversations += u64::from(one.traffic.count),
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let specs = pairs.iter().flatten().filter_map(|node| network.nodes[node.0].gateway.as_ref());
        let Some(packet) = specs.map(|spec| spec.packet_octets()).max() else { return Some(()) };
        let path = self.buffer_path(Some(i), "size");
        let what = format!("packet of {packet} B between gateways");
        let unit = unit_of(network.links[i].framing);
        let port = Port { unit, conversations: conversations + pairs.len() as u64, place: "" };
        self.holds(&path, buffer, port, scale.multiplexing, (packet, &what))
    }

    /// Refuses a buffer that cannot hold one full packet of the programs that an emulation starts. Their packets have
    /// up to the MTU of their hosts; `traffic` does not limit them.
    pub(super) fn holds_commands(
        &mut self,
        network: &Network,
        links: &[Link],
        commands: &[Command],
        emulate: &Emulate,
        multiplexing: MultiplexingSpec,
    ) -> Option<()> {
        if commands.is_empty() {
            return Some(());
        }
        let is_host = |node: &NodeIndex| network.nodes[node.0].kind == NodeKind::Host;
        let own = links.iter().filter(|link| [link.a, link.b].iter().any(is_host)).map(|link| link.mtu.0);
        // Hosts of a conversation send packets up to the largest of its group.
        let Some(sent) = own.max() else { return Some(()) };
        for (i, link) in links.iter().enumerate() {
            let packet = sent.min(link.mtu.0);
            let what = format!("packet of the MTU ({packet} B)");
            let path = self.buffer_path(Some(i), "size");
            let unit = unit_of(link.framing);
            let port = Port { unit, conversations: emulate.conversations.into(), place: "" };
            self.holds(&path, &link.buffer, port, multiplexing, (packet, &what))?;
        }
        Some(())
    }

    /// Returns the path of `key` of a buffer: at link `own` if that gives it, else in [buffer].
    pub(super) fn buffer_path(&self, own: Option<usize>, key: &str) -> Vec<Step> {
        match own {
            Some(i) if self.tree.find(&at!["link", i, "buffer", key]).is_some() => {
                at!["link", i, "buffer", key].to_vec()
            }
            _ => at!["buffer", key].to_vec(),
        }
    }

    /// Resolves the keys of a buffer of ports that hold `unit`, the default of `count`.
    fn resolve(&mut self, own: Option<usize>, buffer: BufferFile, unit: Charge, scale: Scale) -> Option<Buffer> {
        let BufferFile { per, sharing, discard, .. } = buffer;
        let count = buffer.count.unwrap_or(unit);
        let size = self.buffer_size(&self.buffer_path(own, "size"), buffer.size, count, scale)?;
        if octets(size) == 0 {
            let path = self.buffer_path(own, "size");
            let unit = if count == Charge::Cell { "cell" } else { "B" };
            let message = format!("is a buffer of 0 {unit}: it drops everything");
            self.refuse_value(&path, &message, "at least one full packet, like \"1 bdp\", \"160 cell\" or \"8 KiB\"");
            return None;
        }
        let threshold = self.threshold(own, "threshold", buffer.threshold, size, scale);
        let clp_threshold = self.threshold(own, "clp-threshold", buffer.clp_threshold, size, scale);
        let (threshold, clp_threshold) = (threshold?, clp_threshold?);
        if discard == Discard::Epd && threshold.is_none() {
            let path = self.buffer_path(own, "discard");
            self.refuse_value(&path, "needs a threshold", "threshold = \"100 cell\", with your value, at most size");
            return None;
        }
        let path = match own {
            Some(i) => at!["link", i, "buffer", "threshold"].to_vec(),
            None => at!["buffer", "threshold"].to_vec(),
        };
        // One that a link inherits has its use elsewhere.
        let is_swept = self.is_swept(&self.buffer_path(own, "discard"));
        if discard != Discard::Epd && !is_swept && self.tree.find(&path).is_some() {
            let accepted = "discard = \"epd\", or no threshold";
            self.refuse_value(&path, "has no use: only \"epd\" has a threshold", accepted);
            return None;
        }
        let threshold = threshold.filter(|_| discard == Discard::Epd);
        let queue = self.queue(own, &buffer)?;
        Some(Buffer { size, per, sharing, count, discard, threshold, clp_threshold, queue })
    }

    /// `Some(None)` if there is none.
    fn threshold(
        &mut self,
        own: Option<usize>,
        key: &str,
        given: Option<Size>,
        size: BufferSize,
        scale: Scale,
    ) -> Option<Option<BufferSize>> {
        let path = self.buffer_path(own, key);
        let Some(given) = given else { return (!self.is_bad(&path)).then_some(None) };
        let count = if matches!(size, BufferSize::Cells(_)) { Charge::Cell } else { Charge::Packet };
        let threshold = self.buffer_size(&path, given, count, scale)?;
        if octets(threshold) == 0 {
            self.refuse_value(&path, "is zero: nothing would ever be let in", "more than 0, at most size");
            return None;
        }
        if octets(threshold) > octets(size) {
            let [threshold, size] = [threshold, size].map(told);
            let message = format!("{threshold} is more than the size of the buffer, {size}: it would never be reached");
            self.refuse(&path, message, format!("at most {size}"));
            return None;
        }
        Some(Some(threshold))
    }

    fn buffer_size(&mut self, path: &[Step], size: Size, count: Charge, scale: Scale) -> Option<BufferSize> {
        let bytes = match size {
            Size::Bytes(bytes) => Some(bytes.0),
            Size::Cells(cells) => cells.0.checked_mul(CELL_OCTETS),
            Size::Bdp(multiple) => {
                // One size for all ports: the slowest line that any group crosses sets it.
                let bits = u128::from(scale.slowest?.as_bps()) * u128::from(scale.rtt?.as_ps()) / 1_000_000_000_000;
                u64::try_from(bits).ok().and_then(|bits| multiple.times(bits)).map(|bits| bits / 8)
            }
        };
        let most = || format!("at most {MAX_BUFFER} B ({} GiB) or {} cell", MAX_BUFFER >> 30, MAX_BUFFER / CELL_OCTETS);
        let Some(bytes) = bytes else {
            self.refuse_value(path, "is more bytes than can be counted", most());
            return None;
        };
        if bytes > MAX_BUFFER {
            self.refuse_value(path, &format!("is a buffer of {bytes} B"), most());
            return None;
        }
        Some(match count {
            Charge::Cell => BufferSize::Cells(Cells(bytes / CELL_OCTETS)),
            Charge::Packet => BufferSize::Bytes(Bytes(bytes)),
        })
    }

    /// Refuses a buffer that cannot hold one full packet of any of `groups`, if there are any: it would stop every transfer.
    fn holds_packet(
        &mut self,
        own: Option<usize>,
        buffer: &Buffer,
        port: Port,
        multiplexing: MultiplexingSpec,
        groups: &[&Traffic],
    ) -> Option<()> {
        let Some(packet) = largest_packet(groups) else { return Some(()) };
        let what = format!("full packet of {packet} B{}", port.place);
        self.holds(&self.buffer_path(own, "size"), buffer, port, multiplexing, (packet, &what))
    }

    /// Refuses a buffer that cannot hold one packet of so many bytes; messages give it its name.
    fn holds(
        &mut self,
        path: &[Step],
        buffer: &Buffer,
        port: Port,
        multiplexing: MultiplexingSpec,
        (packet, what): (u64, &str),
    ) -> Option<()> {
        let (size, unit) = amount(buffer.size);
        let shares = match (buffer.per, buffer.sharing) {
            (BufferPer::Conversation, Sharing::Pool | Sharing::Channel) => port.conversations.max(1),
            _ => 1,
        };
        let needed = match (buffer.size, port.unit) {
            (BufferSize::Bytes(_), _) => packet,
            (BufferSize::Cells(_), Charge::Cell) => multiplexing.encapsulation.cells(Bytes(packet)).0,
            (BufferSize::Cells(_), Charge::Packet) => packet.div_ceil(CELL_OCTETS),
        };
        let drops_single_cells = port.unit == Charge::Cell && buffer.discard == Discard::Cell;
        let held = size.saturating_mul(shares);
        if drops_single_cells || held >= needed {
            return Some(());
        }
        let each =
            if shares == 1 { String::new() } else { format!(" ({size} {unit} for each of {shares} conversations)") };
        let takes = if unit == "cell" { format!(", which takes {needed} cell") } else { String::new() };
        self.refuse(
            path,
            format!("{held} {unit}{each} cannot hold one {what}{takes}"),
            format!("at least {} {unit}", needed.div_ceil(shares)),
        );
        None
    }
}

/// A port whose buffer is checked.
#[derive(Clone, Copy)]
struct Port {
    /// The unit that it holds: cells, or packets.
    unit: Charge,
    /// The conversations that use it.
    conversations: u64,
    /// The words for the port in messages; empty for any port with this buffer.
    place: &'static str,
}

/// A group of traffic on a link.
struct Crossing<'t> {
    traffic: &'t Traffic,
    /// The gateways at the ends of this part of the path, if any: the packets on the link are theirs.
    gateways: Option<[NodeIndex; 2]>,
}

/// Returns the groups whose packets cross each link.
fn crossing<'t>(network: &Network, traffic: &'t [Traffic]) -> Vec<Vec<Crossing<'t>>> {
    let mut crossing: Vec<Vec<Crossing>> = network.links.iter().map(|_| Vec::new()).collect();
    for traffic in traffic {
        let between = route::between_gateways(&network.links, traffic);
        for (place, link) in traffic.route.iter().enumerate() {
            let gateways = traffic.gateways().filter(|_| between.contains(&place));
            crossing[link.0].push(Crossing { traffic, gateways });
        }
    }
    crossing
}

/// The most bytes of an IP packet of any of `groups`.
fn largest_packet(groups: &[&Traffic]) -> Option<u64> {
    groups.iter().map(|t| t.largest_packet().0).max()
}

/// Returns the sum of the conversations of `groups`.
fn conversations(groups: &[&Traffic]) -> u64 {
    groups.iter().map(|group| u64::from(group.count)).sum()
}

/// Returns the unit of the ports without buffers of their own: cells if any of them holds some.
fn shared_unit(network: &Network, files: &[LinkFile], traffic: &[Traffic]) -> Charge {
    let access = traffic.iter().filter_map(|group| group.access).map(|access| access.framing);
    let inherits = |file: &LinkFile| matches!(file.buffer, Some(None));
    let links = network.links.iter().zip(files).filter(|(_, file)| inherits(file)).map(|(link, _)| link.framing);
    let framings = links.chain(access);
    if framings.map(unit_of).all(|unit| unit == Charge::Packet) { Charge::Packet } else { Charge::Cell }
}

/// Returns the unit that ports with this framing hold.
fn unit_of(framing: Framing) -> Charge {
    if framing == Framing::Atm { Charge::Cell } else { Charge::Packet }
}

fn amount(size: BufferSize) -> (u64, &'static str) {
    match size {
        BufferSize::Cells(cells) => (cells.0, "cell"),
        BufferSize::Bytes(bytes) => (bytes.0, "B"),
    }
}

fn told(size: BufferSize) -> String {
    let (amount, unit) = amount(size);
    format!("{amount} {unit}")
}

/// Returns the memory that a size takes.
fn octets(size: BufferSize) -> u64 {
    match size {
        BufferSize::Cells(cells) => cells.0.saturating_mul(CELL_OCTETS),
        BufferSize::Bytes(bytes) => bytes.0,
    }
}
