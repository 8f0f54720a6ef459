//! Classes of conversations by their sizes: k-means over logarithms.
//!
//! Source of the algorithm: S. P. Lloyd, *Least squares quantization in PCM*, IEEE Trans. Inf. Theory 28(2), 1982; of
//! the first centres: D. Arthur, S. Vassilvitskii, *k-means++: the advantages of careful seeding*, SODA 2007, here with
//! the farthest conversation in place of a random one, so that the result depends on the captures alone.

use crate::classes::UNASSIGNED;
use crate::conversations::{Observer, Protocol};
use crate::packet::Endpoint;
use crate::tcp::TcpConversation;
use crate::udp::{Datagram, UdpConversation};

/// The most conversations that are clustered; later ones have no cluster.
const MAX: usize = 4_000_000;
/// The most conversations from which the centres are found.
const SAMPLE: usize = 100_000;
/// The most rounds of the algorithm.
const ROUNDS: usize = 100;

/// The logarithms of octets of the originator and of the responder, and of exchanges or packets.
type Point = [f32; 3];

/// The features of all conversations, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Features {
    tcp: Vec<(u32, Point)>,
    udp: Vec<(u32, Point)>,
    conversations: usize,
}

fn logarithms(values: [u64; 3]) -> Point {
    values.map(|value| (value as f32).ln_1p())
}

impl Observer for Features {
    fn classify(&mut self, id: u64, _: Protocol, _: Endpoint, _: Endpoint) -> u16 {
        self.conversations = self.conversations.max(usize::try_from(id).map_or(0, |id| id + 1));
        0
    }

    fn tcp(&mut self, _: u16, conversation: &TcpConversation) {
        let has_data = conversation.directions.iter().any(|direction| direction.octets > 0);
        if !conversation.is_last || !conversation.is_established || !has_data {
            return;
        }
        let [there, back] = conversation.directions.map(|direction| direction.octets);
        let exchanges = conversation.exchanges_before + conversation.exchanges.len() as u64;
        self.tcp.extend(numbered(conversation.id, [there, back, exchanges], self.tcp.len()));
    }

    fn datagram(&mut self, _: u16, _: Datagram) {}

    fn udp(&mut self, _: u16, conversation: &UdpConversation) {
        let [there, back] = conversation.octets;
        let packets = conversation.packets[0] + conversation.packets[1];
        self.udp.extend(numbered(conversation.id, [there, back, packets], self.udp.len()));
    }
}

fn numbered(id: u64, values: [u64; 3], known: usize) -> Option<(u32, Point)> {
    let id = u32::try_from(id).ok().filter(|_| known < MAX)?;
    Some((id, logarithms(values)))
}

impl Features {
    /// Returns the cluster of each conversation, `count` clusters for each protocol. The clusters are in the order of
    /// the octets of their centres.
    pub(crate) fn clusters(self, count: usize) -> Vec<u8> {
        let mut clusters = vec![UNASSIGNED; self.conversations];
        for points in [self.tcp, self.udp] {
            // Every n-th conversation is enough for the centres.
            let every = points.len().div_ceil(SAMPLE).max(1);
            let sample: Vec<Point> = points.iter().step_by(every).map(|(_, point)| *point).collect();
            let centres = centres(&sample, count);
            for (id, point) in points {
                if let Some(cluster) = clusters.get_mut(id as usize) {
                    *cluster = u8::try_from(nearest(&centres, &point).0).unwrap_or(UNASSIGNED);
                }
            }
        }
        clusters
    }
}

fn distance(a: &Point, b: &Point) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Returns the index of the nearest centre, and the square of its distance.
fn nearest(centres: &[Point], point: &Point) -> (usize, f32) {
    let distances = centres.iter().map(|centre| distance(centre, point)).enumerate();
    distances.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
}

fn centres(points: &[Point], count: usize) -> Vec<Point> {
    let mean = |sum: [f64; 3], count: usize| sum.map(|sum| (sum / count as f64) as f32);
    let total = |points: &mut dyn Iterator<Item = &Point>| {
        points.fold([0.0; 3], |sum: [f64; 3], point| {
            let mut sum = sum;
            sum.iter_mut().zip(point).for_each(|(sum, value)| *sum += f64::from(*value));
            sum
        })
    };
    if points.is_empty() {
        return Vec::new();
    }
    let mut centres = vec![mean(total(&mut points.iter()), points.len())];
    while centres.len() < count {
        let farthest = points.iter().max_by(|a, b| nearest(&centres, a).1.total_cmp(&nearest(&centres, b).1));
        match farthest.filter(|point| nearest(&centres, point).1 > 0.0) {
            Some(point) => centres.push(*point),
            None => break,
        }
    }
    let mut of: Vec<usize> = Vec::new();
    for _ in 0..ROUNDS {
        let now: Vec<usize> = points.iter().map(|point| nearest(&centres, point).0).collect();
        if now == of {
            break;
        }
        of = now;
        for (at, centre) in centres.iter_mut().enumerate() {
            let mut own = points.iter().zip(&of).filter(|(_, of)| **of == at).map(|(point, _)| point);
            let size = of.iter().filter(|of| **of == at).count();
            // A centre without conversations stays where it is.
            if size > 0 {
                *centre = mean(total(&mut own), size);
            }
        }
    }
    centres.sort_by(|a, b| (a[0] + a[1]).total_cmp(&(b[0] + b[1])));
    centres
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_far_apart_are_clusters() {
        let groups = [[100, 1_000, 1], [300, 5_000_000, 2], [40_000, 30_000, 100]];
        let points: Vec<Point> = (0..300u64)
            .map(|n| logarithms(groups[n as usize % 3].map(|value| value + value * (n / 3) / 300)))
            .collect();
        let found = centres(&points, 3);
        let clusters: Vec<usize> = points.iter().map(|point| nearest(&found, point).0).collect();
        assert!((0..300).all(|n| clusters[n] == clusters[n % 3]), "{found:?}");
        assert_eq!(clusters[0], 0, "the smallest is the first");
        assert_eq!(centres(&points[..1], 3).len(), 1);
        assert!(centres(&[], 3).is_empty());
    }
}
