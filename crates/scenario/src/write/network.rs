//! Buffers, nodes and links.

use std::fmt::Write;

use cellway_settings::in_file::Printed;

use crate::model::{Buffer, BufferSize, Direction, DirectionKeys, GatewaySpec, HostKeys, HostSpec, Queue, Scenario};
use crate::tree::quoted;
use crate::write::word;

impl Scenario {
    pub(super) fn write_network(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "\n[buffer]\n{}", buffer(&self.buffer, false).join("\n"))?;
        for node in &self.nodes {
            writeln!(out, "\n[[node]]\nname = {}\nkind = {}", quoted(&node.name), word(node.kind))?;
            if node.host != HostSpec::default() {
                writeln!(out, "host = {}", HostKeys::from(node.host).print())?;
            }
            if let Some(gateway) = &node.gateway {
                writeln!(out, "peer = {}", quoted(&self.nodes[gateway.peer.0].name))?;
                write_gateway(out, gateway)?;
            }
        }
        for link in &self.links {
            let [a, b] = [link.a, link.b].map(|end| quoted(&self.nodes[end.0].name));
            writeln!(out, "\n[[link]]\nname = {}\nbetween = [{a}, {b}]", quoted(&link.name))?;
            writeln!(out, "rate = \"{}\"\ndelay = \"{}\"", link.rate, link.delay)?;
            writeln!(out, "framing = {}\nmtu = \"{}\"", word(link.framing), link.mtu)?;
            writeln!(out, "loss = \"{}\"", link.loss)?;
            let [forward, back] = &link.lost;
            if !(forward.is_empty() && back.is_empty()) {
                writeln!(out, "lost = {{ forward = {forward:?}, back = {back:?} }}")?;
            }
            for (key, direction) in Direction::TABLES.into_iter().zip(&link.directions) {
                let keys = DirectionKeys::from(direction.clone());
                if Some(direction) != DirectionKeys::NONE.resolve().as_ref() {
                    writeln!(out, "{key} = {}", keys.print())?;
                }
            }
            // A link inherits what it does not say, so that all it differs in can be written.
            if link.buffer != self.buffer {
                writeln!(out, "buffer = {{ {} }}", buffer(&link.buffer, self.buffer.queue != Queue::PLAIN).join(", "))?;
            }
        }
        Ok(())
    }
}

fn write_gateway(out: &mut String, gateway: &GatewaySpec) -> std::fmt::Result {
    let mut keys = vec![
        format!("window = \"{}\"", gateway.window),
        format!("total-buffer = \"{}\"", gateway.total_buffer),
        format!("rate = \"{}\"", gateway.rate),
        format!("packet = \"{}\"", gateway.packet),
        format!("transport = {}", word(gateway.transport)),
        format!("send = \"{}\"", gateway.host.send),
        format!("receive = \"{}\"", gateway.host.receive),
    ];
    keys.extend(gateway.host.rate.map(|rate| format!("cpu-rate = \"{rate}\"")));
    writeln!(out, "gateway = {{ {} }}\ntcp = {{ {} }}", keys.join(", "), gateway.tcp.lines().join(", "))
}

/// The keys of a buffer; `queue` is left out for the plain FIFO unless `inherits` another.
fn buffer(buffer: &Buffer, inherits: bool) -> Vec<String> {
    let size = |size: BufferSize| match size {
        BufferSize::Cells(cells) => cells.to_string(),
        BufferSize::Bytes(bytes) => bytes.to_string(),
    };
    let mut keys = vec![
        format!("size = \"{}\"", size(buffer.size)),
        format!("per = {}", word(buffer.per)),
        format!("sharing = {}", word(buffer.sharing)),
        format!("count = {}", word(buffer.count)),
        format!("discard = {}", word(buffer.discard)),
    ];
    keys.extend(buffer.threshold.map(|threshold| format!("threshold = \"{}\"", size(threshold))));
    if inherits || buffer.queue != Queue::PLAIN {
        let discipline = buffer.queue.discipline();
        keys.push(format!("queue = {}", word(discipline)));
        keys.push(format!("{} = {}", discipline.name(), buffer.queue.print()));
    }
    keys.extend(buffer.clp_threshold.map(|threshold| format!("clp-threshold = \"{}\"", size(threshold))));
    keys
}
