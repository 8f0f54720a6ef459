//! The conversations of a capture, in bounded memory.

use crate::left_out::{PacketCounts, PacketReason};
use crate::packet::{Endpoint, Packet, Segment, Transport};
use crate::reader::Record;
use crate::table::{At, Key, List, Table};
use crate::tcp::{Leaving, Tcp, TcpConversation};
use crate::udp::{Datagram, Udp, UdpConversation, UdpLeaving};

/// The limits of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most open conversations of TCP, and the most of UDP.
    pub open: usize,
    /// The most exchanges that wait for the ends of their conversations. The conversation that exceeds it reports its
    /// own before its end.
    pub pending: usize,
    /// The most messages of open conversations that are recorded; none if 0. A conversation that exceeds it is not
    /// recorded.
    pub messages: usize,
    /// The idle time after which a TCP conversation has ended, in ns.
    pub tcp_idle: u64,
    /// The idle time after which a UDP conversation has ended, in ns.
    pub udp_idle: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { open: 100_000, pending: 1_000_000, messages: 0, tcp_idle: 300_000_000_000, udp_idle: 60_000_000_000 }
    }
}

/// The time for which packets of a TCP conversation that has ended are still counted for it, in ns.
const LINGER: u64 = 10_000_000_000;

/// The protocol of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// The consumer of conversations.
pub trait Observer {
    /// Returns the class of a new conversation.
    fn classify(&mut self, id: u64, protocol: Protocol, originator: Endpoint, responder: Endpoint) -> u16;
    /// Takes a TCP conversation that has ended, or a part of it.
    fn tcp(&mut self, class: u16, conversation: &TcpConversation);
    /// Takes a datagram.
    fn datagram(&mut self, class: u16, datagram: Datagram);
    /// Takes a UDP conversation that has ended.
    fn udp(&mut self, class: u16, conversation: &UdpConversation);
    /// Notes that the capture has ended. Another one may follow.
    fn ended(&mut self) {}
}

/// The totals of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Records of the files.
    pub records: u64,
    /// Packets that belong to no conversation, by reason.
    pub left_out: PacketCounts,
    /// Conversations that were removed from a full table.
    pub evicted: u64,
    /// Packets of TCP and UDP with an earlier time than the one before them in the same capture.
    pub earlier: u64,
    /// Time of the first and the last packet, in ns since the start of 1970.
    pub time: Option<(u64, u64)>,
}

/// Joins packets to conversations.
#[derive(Debug)]
pub struct Conversations {
    limits: Limits,
    tcp: Table<Tcp>,
    udp: Table<Udp>,
    next_id: u64,
    pending: usize,
    messages: usize,
    totals: Totals,
    /// The latest time of this capture, in ns, by its clock since that was set back.
    last: u64,
    /// The time of the packet before, in ns.
    before: u64,
}

impl Conversations {
    /// Starts without any.
    pub fn new(limits: Limits) -> Conversations {
        let (tcp, udp) = (Table::new(), Table::new());
        let totals = Totals::default();
        Conversations { limits, tcp, udp, next_id: 0, pending: 0, messages: 0, totals, last: 0, before: 0 }
    }

    /// Returns the totals up to now.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Takes a record.
    pub fn record(&mut self, record: &Record<'_>, to: &mut impl Observer) {
        self.totals.records += 1;
        if let Err(reason) = self.accept(record, to) {
            self.totals.left_out.add(reason);
        }
    }

    fn accept(&mut self, record: &Record<'_>, to: &mut impl Observer) -> Result<(), PacketReason> {
        let link = record.link.ok_or(PacketReason::LinkType)?;
        let header = link.header(record.octets)?;
        let packet = Packet::parse(&record.octets[header..], record.wire.saturating_sub(header as u32))?;
        let now = record.time.ok_or(PacketReason::NoTime)?;
        let (first, last) = self.totals.time.unwrap_or((now, now));
        self.totals.time = Some((first.min(now), last.max(now)));
        self.totals.earlier += u64::from(now < self.before);
        self.before = now;
        let is_set_back = self.last.saturating_sub(now) > self.limits.udp_idle;
        self.last = if is_set_back { now } else { self.last.max(now) };
        self.expire(now, to);
        let (key, side) = Key::of(packet.source, packet.destination);
        match packet.transport {
            Transport::Tcp(segment) => self.segment(&key, side, &segment, now, to),
            Transport::Udp { payload } => {
                self.datagram(&key, side, payload, now, to);
                Ok(())
            }
        }
    }

    fn segment(
        &mut self,
        key: &Key,
        side: usize,
        segment: &Segment,
        now: u64,
        to: &mut impl Observer,
    ) -> Result<(), PacketReason> {
        let mut found = self.tcp.find(key);
        if let Some(at) = found
            && self.tcp.value(at).is_some_and(|tcp| tcp.is_another(side, segment))
        {
            self.remove_tcp(at, Leaving::Ended, to);
            found = None;
        }
        let at = match found {
            Some(at) => at,
            None if segment.rst => return Err(PacketReason::StrayReset),
            None => {
                self.make_room(to);
                let mut tcp = Tcp::new(self.new_id(), key, side, segment, now);
                if self.limits.messages > 0 {
                    tcp.record_messages();
                }
                let [originator, responder] = tcp.ends(key);
                tcp.class = to.classify(tcp.id, Protocol::Tcp, originator, responder);
                self.tcp.insert(*key, now, tcp)
            }
        };
        let Some(tcp) = self.tcp.value(at) else { return Ok(()) };
        let (before, recorded) = (tcp.pending(), tcp.messages());
        if !tcp.packet(side, segment, now) {
            return Err(PacketReason::OutsideWindow);
        }
        self.messages = self.messages - recorded + tcp.messages();
        if self.messages > self.limits.messages {
            self.messages -= tcp.messages();
            tcp.forget_messages();
        }
        let after = tcp.pending();
        self.pending = self.pending + after - before;
        if after > before && self.pending > self.limits.pending {
            let part = tcp.part(key);
            self.pending -= after;
            to.tcp(tcp.class, &part);
        }
        let list = if tcp.has_ended() { List::Ended } else { List::Open };
        self.tcp.touch(at, list, now);
        Ok(())
    }

    fn datagram(&mut self, key: &Key, side: usize, size: u32, now: u64, to: &mut impl Observer) {
        let at = match self.udp.find(key) {
            Some(at) => at,
            None => {
                if self.udp.len() >= self.limits.open
                    && let Some((oldest, _)) = self.udp.oldest(List::Open)
                {
                    self.totals.evicted += 1;
                    self.remove_udp(oldest, UdpLeaving::Evicted, to);
                }
                let mut udp = Udp::new(self.new_id(), side, now);
                let [originator, responder] = udp.ends(key);
                udp.class = to.classify(self.next_id - 1, Protocol::Udp, originator, responder);
                self.udp.insert(*key, now, udp)
            }
        };
        if let Some(udp) = self.udp.value(at) {
            let datagram = udp.packet(side, size, now);
            to.datagram(udp.class, datagram);
            self.udp.touch(at, List::Open, now);
        }
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Removes a conversation of TCP if the table is full: one that has ended, else the one that is idle for longest.
    fn make_room(&mut self, to: &mut impl Observer) {
        if self.tcp.len() < self.limits.open {
            return;
        }
        if let Some((at, _)) = self.tcp.oldest(List::Ended) {
            self.remove_tcp(at, Leaving::Ended, to);
        } else if let Some((at, _)) = self.tcp.oldest(List::Open) {
            self.totals.evicted += 1;
            self.remove_tcp(at, Leaving::Evicted, to);
        }
    }

    /// Removes the conversations that are idle, and those of a time to come: after the clock was set back they would stay
    /// until then, with all behind them.
    fn expire(&mut self, now: u64, to: &mut impl Observer) {
        for (list, idle) in [(List::Ended, LINGER), (List::Open, self.limits.tcp_idle)] {
            while let Some((at, _)) = self.tcp.oldest(list).filter(|(_, last)| now.abs_diff(*last) > idle) {
                self.remove_tcp(at, Leaving::Ended, to);
            }
        }
        let idle = self.limits.udp_idle;
        while let Some((at, _)) = self.udp.oldest(List::Open).filter(|(_, last)| now.abs_diff(*last) > idle) {
            self.remove_udp(at, UdpLeaving::Idle, to);
        }
    }

    fn remove_tcp(&mut self, at: At, leaving: Leaving, to: &mut impl Observer) {
        if let Some((key, tcp)) = self.tcp.remove(at) {
            self.pending -= tcp.pending();
            self.messages -= tcp.messages();
            let class = tcp.class;
            to.tcp(class, &tcp.finish(&key, leaving));
        }
    }

    fn remove_udp(&mut self, at: At, leaving: UdpLeaving, to: &mut impl Observer) {
        if let Some((key, udp)) = self.udp.remove(at) {
            to.udp(udp.class, &udp.finish(&key, leaving));
        }
    }

    /// Removes all conversations: the capture has ended.
    pub fn finish(&mut self, to: &mut impl Observer) {
        for list in [List::Ended, List::Open] {
            while let Some((at, _)) = self.tcp.oldest(list) {
                self.remove_tcp(at, Leaving::CaptureEnded, to);
            }
        }
        let last = std::mem::take(&mut self.last);
        self.before = 0;
        while let Some((at, _)) = self.udp.oldest(List::Open) {
            self.remove_udp(at, UdpLeaving::CaptureEnded { last }, to);
        }
        to.ended();
    }
}
