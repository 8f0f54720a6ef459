//! Conversations from packets, made one by one.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_capture::{
    ConversationReason, Conversations, Datagram, Endpoint, Exchange, Limits, Link, Message, Observer, PacketReason,
    Protocol, Record, TcpConversation, UdpConversation,
};
use common::{FIN, RST, SYN, Tcp, udp, v4};

const MS: u64 = 1_000_000;

/// Keeps all that it gets.
#[derive(Default)]
struct Kept {
    opened: Vec<(Protocol, u16)>,
    tcp: Vec<TcpConversation>,
    udp: Vec<UdpConversation>,
    datagrams: Vec<Datagram>,
}

impl Observer for Kept {
    fn classify(&mut self, id: u64, protocol: Protocol, _: Endpoint, responder: Endpoint) -> u16 {
        assert_eq!(id, self.opened.len() as u64);
        self.opened.push((protocol, responder.port));
        0
    }
    fn tcp(&mut self, _: u16, conversation: &TcpConversation) {
        self.tcp.push(conversation.clone());
    }
    fn datagram(&mut self, _: u16, datagram: Datagram) {
        self.datagrams.push(datagram);
    }
    fn udp(&mut self, _: u16, conversation: &UdpConversation) {
        self.udp.push(*conversation);
    }
}

/// A tap 10 ms from the client (10.0.0.1) and 30 ms from the server (10.0.0.2), there and back.
struct Tap {
    conversations: Conversations,
    kept: Kept,
    now: u64,
    client: u16,
    /// The initial sequence numbers.
    isn: [u32; 2],
}

impl Tap {
    fn new(limits: Limits) -> Tap {
        let (conversations, kept) = (Conversations::new(limits), Kept::default());
        Tap { conversations, kept, now: 5_000 * MS, client: 40_000, isn: [u32::MAX - 100, 7] }
    }

    fn packet(&mut self, octets: &[u8]) {
        let wire = octets.len() as u32;
        let record = Record { time: Some(self.now), link: Some(Link::RawIp), wire, octets };
        self.conversations.record(&record, &mut self.kept);
    }

    /// A segment after `wait` ms: offsets are octets of data from the start of each direction, which begin at 0.
    fn segment(&mut self, wait: u64, is_client: bool, flags: u8, seq: u32, ack: Option<u32>, payload: usize) {
        self.now += wait * MS;
        let (own, other) = (usize::from(!is_client), usize::from(is_client));
        let is_syn = flags & SYN != 0;
        let seq = self.isn[own].wrapping_add(u32::from(!is_syn)).wrapping_add(seq);
        let ack = ack.map(|ack| self.isn[other].wrapping_add(1).wrapping_add(ack));
        let (ports, ends) = if is_client { ((self.client, 80), (1, 2)) } else { ((80, self.client), (2, 1)) };
        self.packet(&v4(ends, 6, &Tcp { ports, seq, ack, flags, payload }.octets()));
    }

    fn handshake(&mut self) {
        self.segment(0, true, SYN, 0, None, 0);
        self.segment(30, false, SYN, 0, Some(0), 0);
        self.segment(10, true, 0, 0, Some(0), 0);
    }

    /// Both sides have sent these octets.
    fn close(&mut self, client: u32, server: u32) {
        self.segment(1, true, FIN, client, Some(server), 0);
        self.segment(30, false, FIN, server, Some(client + 1), 0);
        self.segment(10, true, 0, client + 1, Some(server + 1), 0);
    }

    fn finish(mut self) -> Kept {
        self.conversations.finish(&mut self.kept);
        self.kept
    }

    fn one(self) -> TcpConversation {
        let mut all = self.finish().tcp;
        assert_eq!(all.len(), 1);
        all.remove(0)
    }
}

#[test]
fn exchanges_of_a_whole_conversation() {
    let mut tap = Tap::new(Limits::default());
    tap.handshake();
    tap.segment(0, true, 0, 0, Some(0), 200);
    tap.segment(1, true, 0, 200, Some(0), 100);
    // The server takes 25 ms.
    tap.segment(55, false, 0, 0, Some(300), 1000);
    tap.segment(2, false, 0, 1000, Some(300), 500);
    tap.segment(10, true, 0, 300, Some(1500), 0);
    // The client thinks for 400 ms.
    tap.segment(400, true, 0, 300, Some(1500), 50);
    tap.segment(31, false, 0, 1500, Some(350), 70);
    tap.close(350, 1570);
    let found = tap.one();
    assert_eq!((found.left_out, found.is_established, found.is_last), (None, true, true));
    assert_eq!((found.originator.port, found.responder.port), (40_000, 80));
    assert_eq!(found.round_trip.unwrap().seconds(), 0.040);
    assert_eq!(
        found.exchanges,
        [
            Exchange { request: 300, response: 1500, pause: Some(0.025), think: Some(0.4) },
            Exchange { request: 50, response: 70, pause: Some(0.001), think: None },
        ]
    );
    let [there, back] = found.directions;
    assert_eq!((there.octets, there.packets, back.octets, back.packets), (350, 8, 1570, 5));
}

#[test]
fn retransmitted_and_reordered_octets_count_once() {
    let mut tap = Tap::new(Limits::default());
    tap.handshake();
    tap.segment(0, true, 0, 0, Some(0), 100);
    tap.segment(31, false, 0, 0, Some(100), 1000);
    // Lost before the tap, and sent again after the one behind it, over the wrap of the client's numbers.
    tap.segment(1, false, 0, 2000, Some(100), 1000);
    tap.segment(40, false, 0, 1000, Some(100), 1000);
    tap.segment(9, false, 0, 2000, Some(100), 1000);
    tap.segment(0, true, 0, 0, Some(3000), 100);
    // A keep-alive is none.
    tap.segment(100, true, 0, 99, Some(3000), 1);
    tap.close(100, 3000);
    let found = tap.one();
    let [there, back] = found.directions;
    assert_eq!((back.octets, back.late, back.retransmitted), (3000, 1, 1));
    assert_eq!((there.octets, there.late, there.retransmitted), (100, 0, 1));
    assert_eq!(found.exchanges.len(), 1);
    assert_eq!((found.exchanges[0].request, found.exchanges[0].response), (100, 3000));
    assert!(!back.has_missing);
}

#[test]
fn octets_that_the_capture_lacks_belong_to_their_message() {
    let mut tap = Tap::new(Limits::default());
    tap.handshake();
    tap.segment(0, true, 0, 0, Some(0), 100);
    tap.segment(31, false, 0, 0, Some(100), 1000);
    tap.segment(1, false, 0, 2000, Some(100), 1000);
    tap.close(100, 3000);
    let found = tap.one();
    assert_eq!(found.exchanges[0].response, 3000);
    assert!(found.directions[1].has_missing && found.directions[1].octets == 2000);
}

#[test]
fn both_at_the_same_time_are_concurrent_and_pipelining_is() {
    let run = |script: &dyn Fn(&mut Tap)| {
        let mut tap = Tap::new(Limits::default());
        tap.handshake();
        script(&mut tap);
        tap.close(200, 1000);
        tap.one().left_out
    };
    let answered = run(&|tap| {
        tap.segment(0, true, 0, 0, Some(0), 200);
        tap.segment(31, false, 0, 0, Some(200), 1000);
    });
    assert_eq!(answered, None);
    // The second request leaves before the response to the first has arrived.
    let pipelined = run(&|tap| {
        tap.segment(0, true, 0, 0, Some(0), 100);
        tap.segment(31, false, 0, 0, Some(100), 1000);
        tap.segment(1, true, 0, 100, Some(0), 100);
    });
    assert_eq!(pipelined, Some(ConversationReason::Concurrent));
    // The same, but the rest of the request had arrived at the server when it answered.
    let reordered = run(&|tap| {
        tap.segment(0, true, 0, 0, Some(0), 100);
        tap.segment(31, false, 0, 0, Some(200), 1000);
        tap.segment(1, true, 0, 100, Some(0), 100);
    });
    assert_eq!(reordered, None);
}

/// A conversation that exchanges cannot describe is recorded whole, if that is wanted and there are not too many messages.
#[test]
fn a_concurrent_conversation_has_its_messages() {
    let run = |messages, is_whole: bool| {
        let mut tap = Tap::new(Limits { messages, ..Limits::default() });
        tap.handshake();
        tap.segment(0, true, 0, 0, Some(0), 100);
        tap.segment(31, false, 0, 0, Some(100), 1000);
        // It has not received the response.
        tap.segment(1, true, 0, 100, Some(0), 100);
        // It has, and sends 7 ms later: the response passed the tap 17 ms before, 10 ms from the client and back.
        tap.segment(16, true, 0, 200, Some(1000), 50);
        if is_whole {
            tap.close(250, 1000);
        }
        tap.one()
    };
    let found = run(1000, true);
    assert_eq!(found.left_out, Some(ConversationReason::Concurrent));
    let message = |octets, after, delay| Message { octets, after, delay };
    let [there, back] = found.messages.unwrap();
    assert_eq!(back, [message(1000, 100, 0.001)]);
    assert_eq!(there, [message(200, 0, 0.0), message(50, 1000, 0.007)]);
    assert_eq!([run(0, true), run(2, true), run(1000, false)].map(|found| found.messages), [None, None, None]);
}

/// After the handshake of TLS 1.3 the tickets of the server cross the first request, seen in either order.
#[test]
fn session_tickets_are_no_concurrency() {
    for is_first in [false, true] {
        let mut tap = Tap::new(Limits::default());
        tap.handshake();
        tap.segment(0, true, 0, 0, Some(0), 500);
        tap.segment(31, false, 0, 0, Some(500), 3000);
        tap.segment(11, true, 0, 500, Some(3000), 80);
        if is_first {
            tap.segment(1, false, 0, 3000, Some(580), 500);
            tap.segment(0, true, 0, 580, Some(3000), 300);
        } else {
            tap.segment(0, true, 0, 580, Some(3000), 300);
            tap.segment(1, false, 0, 3000, Some(580), 500);
        }
        tap.segment(31, false, 0, 3500, Some(880), 20_000);
        tap.segment(200, true, 0, 880, Some(23_500), 300);
        tap.segment(31, false, 0, 23_500, Some(1180), 1_000);
        tap.close(1180, 24_500);
        let found = tap.one();
        assert_eq!(found.left_out, None, "tickets first: {is_first}");
        let sizes: Vec<_> = found.exchanges.iter().map(|exchange| (exchange.request, exchange.response)).collect();
        let expected: &[(u64, u64)] = if is_first {
            &[(500, 3000), (80, 500), (300, 20_000), (300, 1_000)]
        } else {
            &[(500, 3000), (380, 20_500), (300, 1_000)]
        };
        assert_eq!(sizes, expected);
    }
}

#[test]
fn what_is_not_whole_is_left_out_with_its_reason() {
    let reason = |script: &dyn Fn(&mut Tap)| {
        let mut tap = Tap::new(Limits::default());
        script(&mut tap);
        tap.one().left_out
    };
    use ConversationReason as R;
    assert_eq!(reason(&|tap| tap.segment(0, true, 0, 5, Some(9), 100)), Some(R::CutAtStart));
    assert_eq!(reason(&|tap| tap.segment(0, false, SYN, 0, Some(0), 0)), Some(R::CutAtStart));
    assert_eq!(reason(&|tap| tap.segment(0, true, SYN, 0, None, 0)), Some(R::NotEstablished));
    let refused = |tap: &mut Tap| {
        tap.segment(0, true, SYN, 0, None, 0);
        tap.segment(30, false, RST, 0, Some(0), 0);
    };
    assert_eq!(reason(&refused), Some(R::NotEstablished));
    assert_eq!(
        reason(&|tap| {
            tap.handshake();
            tap.close(0, 0)
        }),
        Some(R::NoData)
    );
    let open = |tap: &mut Tap| {
        tap.handshake();
        tap.segment(0, true, 0, 0, Some(0), 10);
    };
    assert_eq!(reason(&open), Some(R::CutAtEnd));
    assert_eq!(
        reason(&|tap| {
            open(tap);
            tap.segment(0, true, RST, 10, Some(0), 0)
        }),
        None
    );
}

#[test]
fn a_conversation_that_is_cut_at_the_end_has_its_complete_exchanges() {
    let mut tap = Tap::new(Limits::default());
    tap.handshake();
    tap.segment(0, true, 0, 0, Some(0), 10);
    tap.segment(31, false, 0, 0, Some(10), 20);
    tap.segment(10, true, 0, 10, Some(20), 10);
    let found = tap.one();
    assert_eq!((found.left_out, found.exchanges.len()), (Some(ConversationReason::CutAtEnd), 1));
}

/// Each packet twice, as a mirror of both ports of a link has it.
#[test]
fn copies_of_packets_change_no_size_and_no_time() {
    let run = |copies: usize| {
        let mut tap = Tap::new(Limits::default());
        for (wait, is_client, flags, seq, ack, payload) in [
            (0, true, SYN, 0, None, 0),
            (30, false, SYN, 0, Some(0), 0),
            (10, true, 0, 0, Some(0), 0),
            (1, true, 0, 0, Some(0), 200),
            (50, false, 0, 0, Some(200), 900),
            (300, true, 0, 200, Some(900), 20),
            (31, false, FIN, 900, Some(220), 0),
            (10, true, FIN, 220, Some(901), 0),
            (30, false, 0, 901, Some(221), 0),
        ] {
            (0..copies)
                .for_each(|copy| tap.segment(if copy == 0 { wait } else { 0 }, is_client, flags, seq, ack, payload));
        }
        tap.one()
    };
    let (once, twice) = (run(1), run(2));
    assert_eq!((&once.exchanges, once.round_trip, once.left_out), (&twice.exchanges, twice.round_trip, None));
    assert_eq!((once.directions[0].octets, twice.directions[0].octets), (220, 220));
    assert_eq!(twice.left_out, None);
    assert_eq!(once.exchanges[0].pause, Some(0.02));
}

#[test]
fn the_same_ports_are_used_again() {
    let mut tap = Tap::new(Limits::default());
    for _ in 0..3 {
        tap.handshake();
        tap.segment(0, true, 0, 0, Some(0), 10);
        tap.segment(30, false, 0, 0, Some(10), 20);
        tap.close(10, 20);
        tap.isn = tap.isn.map(|isn| isn.wrapping_add(1_000_000));
    }
    // A SYN that is sent again is of the same conversation, and the round trip is unknown.
    tap.segment(50, true, SYN, 0, None, 0);
    tap.segment(1000, true, SYN, 0, None, 0);
    tap.segment(30, false, SYN, 0, Some(0), 0);
    tap.segment(10, true, 0, 0, Some(0), 0);
    let kept = tap.finish();
    assert_eq!(kept.tcp.len(), 4);
    assert!(kept.tcp[..3].iter().all(|found| found.left_out.is_none() && found.exchanges.len() == 1));
    assert_eq!((kept.tcp[3].round_trip, kept.tcp[3].is_established), (None, true));
}

#[test]
fn idle_conversations_end_and_the_table_is_bounded() {
    let limits = Limits { open: 4, ..Limits::default() };
    let mut tap = Tap::new(limits);
    for port in 0..10 {
        tap.client = 40_000 + port;
        tap.handshake();
        tap.segment(0, true, 0, 0, Some(0), 10);
    }
    assert_eq!(tap.conversations.totals().evicted, 6);
    // Much later the others are idle.
    tap.now += limits.tcp_idle;
    tap.client = 50_000;
    tap.segment(1, true, SYN, 0, None, 0);
    let all: Vec<_> = tap.kept.tcp.iter().map(|found| found.left_out).collect();
    assert_eq!(all[..6], [Some(ConversationReason::Evicted); 6]);
    assert_eq!(all[6..], [None; 4]);
}

#[test]
fn a_long_conversation_reports_in_parts() {
    let limits = Limits { pending: 3, ..Limits::default() };
    let mut tap = Tap::new(limits);
    tap.handshake();
    for n in 0..10 {
        tap.segment(50, true, 0, 10 * n, Some(20 * n), 10);
        tap.segment(50, false, 0, 20 * n, Some(10 * n + 10), 20);
    }
    tap.close(100, 200);
    let kept = tap.finish();
    let counts: Vec<_> =
        kept.tcp.iter().map(|part| (part.exchanges_before, part.exchanges.len(), part.is_last)).collect();
    assert_eq!(counts, [(0, 4, false), (4, 4, false), (8, 2, true)]);
    assert!(kept.tcp.iter().all(|part| part.left_out.is_none()));
}

#[test]
fn packets_without_a_conversation_have_a_reason() {
    let mut tap = Tap::new(Limits::default());
    tap.segment(0, true, RST, 0, None, 0);
    tap.packet(&[0x45; 10]);
    tap.handshake();
    tap.segment(0, true, 0, 1 << 31, Some(0), 10);
    let left_out = tap.conversations.totals().left_out;
    for reason in [PacketReason::StrayReset, PacketReason::Cut, PacketReason::OutsideWindow] {
        assert_eq!(left_out.of(reason), 1, "{reason}");
    }
    assert_eq!((left_out.total(), tap.conversations.totals().records), (3, 6));
}

#[test]
fn datagrams_by_direction_with_their_gaps() {
    let mut tap = Tap::new(Limits::default());
    let send = |tap: &mut Tap, wait: u64, is_client: bool, payload: usize| {
        tap.now += wait * MS;
        let (ends, ports) = if is_client { ((1, 2), (40_000, 53)) } else { ((2, 1), (53, 40_000)) };
        tap.packet(&v4(ends, 17, &udp(ports, payload)));
    };
    send(&mut tap, 0, true, 30);
    send(&mut tap, 20, false, 400);
    send(&mut tap, 30, true, 31);
    send(&mut tap, 61_000, true, 32);
    let kept = tap.finish();
    let gaps: Vec<_> = kept.datagrams.iter().map(|d| (d.is_back, d.size, d.gap)).collect();
    assert_eq!(gaps, [(false, 30, None), (true, 400, None), (false, 31, Some(0.05)), (false, 32, None)]);
    let all: Vec<_> = kept.udp.iter().map(|found| (found.packets, found.octets, found.left_out)).collect();
    assert_eq!(all, [([2, 1], [61, 400], None), ([1, 0], [32, 0], None)]);
    assert_eq!(kept.opened, [(Protocol::Udp, 53); 2]);
}

/// One packet has a time of the day after. Idle conversations end as before, and none is joined to a later one.
#[test]
fn conversations_end_also_after_a_clock_that_was_set_back() {
    let mut tap = Tap::new(Limits::default());
    let send = |tap: &mut Tap, port: u16| tap.packet(&v4((1, 2), 17, &udp((port, 53), 30)));
    let day = 24 * 3_600_000 * MS;
    tap.now += day;
    send(&mut tap, 40_000);
    tap.now -= day;
    for _ in 0..3 {
        send(&mut tap, 40_001);
        tap.now += 61_000 * MS;
    }
    tap.client = 40_002;
    tap.handshake();
    tap.now += 301_000 * MS;
    tap.handshake();
    assert_eq!(tap.conversations.totals().earlier, 1);
    let kept = tap.finish();
    let all: Vec<_> = kept.udp.iter().map(|found| (found.originator.port, found.packets[0])).collect();
    assert_eq!(all, [(40_000, 1), (40_001, 1), (40_001, 1), (40_001, 1)]);
    assert_eq!(kept.tcp.len(), 2);
}

/// At the end of the capture one has been silent for 49 ms and one for 50 ms, and neither was for longer than 50 ms.
#[test]
fn datagrams_that_may_go_on_are_cut_off_at_the_end() {
    let mut tap = Tap::new(Limits::default());
    let send = |tap: &mut Tap, wait: u64, port: u16| {
        tap.now += wait * MS;
        tap.packet(&v4((1, 2), 17, &udp((port, 53), 30)));
    };
    for (wait, port) in [(0, 40_000), (1, 40_001), (49, 40_000), (1, 40_001), (49, 40_002), (0, 40_002)] {
        send(&mut tap, wait, port);
    }
    let kept = tap.finish();
    let mut all: Vec<_> =
        kept.udp.iter().map(|found| (found.originator.port, found.packets[0], found.left_out)).collect();
    all.sort_unstable_by_key(|found| found.0);
    let cut = Some(ConversationReason::CutAtEnd);
    assert_eq!(all, [(40_000, 2, None), (40_001, 2, cut), (40_002, 2, None)]);
}
