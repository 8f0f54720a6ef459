//! Queue disciplines of packet lines.

use cellway_net::{QdiscSpec, Stream};
use cellway_scenario::Buffer;
use cellway_units::Bytes;

use crate::build::Builder;

impl<B: Clone> Builder<'_, B> {
    /// Returns the queue disciplines of both ports of a link; those of hosts are FIFOs. Each port has a random stream of its
    /// own, named as for losses and with its discipline: "link/r1-r2/r1>r2/red", or "link/r1>ftp-1/red" for the only link of
    /// an implicit host.
    pub(crate) fn queues(
        &self,
        buffer: &Buffer,
        mtu: Bytes,
        [a, b]: [&str; 2],
        link: Option<&str>,
        is_host: [bool; 2],
    ) -> [Option<QdiscSpec>; 2] {
        let link = link.map_or(String::new(), |name| format!("{name}/"));
        let discipline = buffer.queue.discipline().name();
        [(is_host[0], a, b), (is_host[1], b, a)].map(|(is_host, from, to)| {
            let mut stream = self.streams.stream(&format!("link/{link}{from}>{to}/{discipline}"));
            let stream = Stream::new(move || stream.bits());
            (!is_host).then_some(QdiscSpec { queue: buffer.queue, largest: mtu, stream })
        })
    }
}
