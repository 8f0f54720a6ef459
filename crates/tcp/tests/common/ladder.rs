//! Scripts that read like a ladder diagram, run against one endpoint.
//!
//! Each line is `TIME ACTION ...`, the time in milliseconds. Numbers are relative to the initial sequence numbers, so
//! the SYN is 0 and the first byte is 1.
//!
//! | action | meaning |
//! |---|---|
//! | `do connect`, `do write N`, `do shutdown`, `do abort`, `do consume N` | the application calls |
//! | `< SEGMENT` | the peer's segment arrives; `x3` at the end: three times |
//! | `> SEGMENT` | the endpoint sends exactly this, at exactly this time |
//! | `! EVENT` | the endpoint notifies the application |
//! | `? NAME VALUE ...` | the values of the endpoint |
//!
//! A segment is `[SYN|FIN|RST] [AE] [ECE] [CWR] [ace N] [ect0|ect1|ce] FROM[..TO] [ack N] [win N] [mss N] [ws N] [sackok]
//! [ts V E] [sack A..B,C..D] [acc0|acc1 N,N,N|none]`: `ace` sets AE, CWR and ECE to a number, `acc0` and `acc1` are the two
//! AccECN options with their fields. Timestamps are also relative to the initial sequence numbers; a sent segment's are compared if given.
//! The endpoint is woken at its deadlines. Every segment it sends must be in the script; so must events, except for
//! those that count bytes. A sent segment's `ack` and `win` are compared if given.

use std::collections::VecDeque;

use cellway_tcp::{
    AccEcnOption, Config, EcnMode, Endpoint, Event, FieldOrder, Flags, Output, SackBlock, Segment, SeqNum, Timestamps,
};
use cellway_units::{Ecn, Span, Time};

/// Near the wrap, so that every ladder crosses it.
pub const ISS: SeqNum = SeqNum(u32::MAX - 700);
pub const PEER_ISS: SeqNum = SeqNum(u32::MAX - 300);

pub struct Ladder {
    pub endpoint: Endpoint,
    sent: VecDeque<(Time, Segment)>,
    events: VecDeque<(Time, Event)>,
    out: Output,
    peer_window: u16,
    now: Time,
}

/// Returns an endpoint that will connect, run through `script`.
pub fn client(config: impl Into<Config>, script: &str) -> Ladder {
    let config = config.into();
    config.validate().unwrap();
    Ladder::new(Endpoint::active(config, ISS.0)).run(script)
}
/// Returns a listening endpoint, run through `script`.
pub fn server(config: impl Into<Config>, script: &str) -> Ladder {
    let config = config.into();
    config.validate().unwrap();
    Ladder::new(Endpoint::passive(config, ISS.0)).run(script)
}
/// Returns a client that connected within the first 100 ms to a peer with the same segment size and a window of 50,000
/// bytes.
pub fn connected(config: impl Into<Config>, script: &str) -> Ladder {
    let config = config.into();
    use cellway_tcp::LossRecovery;
    let sack = if matches!(config.tcp.recovery(), LossRecovery::Sack | LossRecovery::Rack) { "sackok" } else { "" };
    let (ts, ts_answer) = if config.tcp.timestamps { ("ts 0 none", "ts 50 0") } else { ("", "") };
    let mss = config.tcp.mss.0;
    let (ecn, ecn_answer, ecn_end) = match config.tcp.ecn {
        EcnMode::Off => ("", "", ""),
        EcnMode::Classic => ("ECE CWR", "ECE", ""),
        EcnMode::Accurate => ("AE ECE CWR", "CWR acc0 1,0,1", "CWR acc0 1,0,1"),
    };
    client(
        config,
        &format!(
            "0   do connect
             0   > SYN {ecn} 0 {sack} {ts}
             100 < SYN {ecn_answer} 0 ack 1 win 50000 mss {mss} {sack} {ts_answer}
             100 > {ecn_end} 1 ack 1
             100 ! Connected"
        ),
    )
    .run(script)
}

impl Ladder {
    fn new(endpoint: Endpoint) -> Ladder {
        let (sent, events) = (VecDeque::new(), VecDeque::new());
        Ladder { endpoint, sent, events, out: Output::default(), peer_window: 50_000, now: Time::ZERO }
    }

    pub fn run(mut self, script: &str) -> Ladder {
        for line in script.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
            self.line(line);
        }
        self.expect_quiet("the end of the script");
        self
    }

    fn line(&mut self, line: &str) {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let at = Time::ZERO + Span::from_us((words[0].parse::<f64>().unwrap() * 1000.0) as u64);
        let action = words[1];
        words.drain(..2);
        self.wake_until(at, line);
        match action {
            "do" => {
                self.expect_quiet(line);
                self.call(&words);
            }
            "<" => {
                self.expect_quiet(line);
                let times = words.last().and_then(|w| w.strip_prefix('x')).map(|n| n.parse().unwrap());
                if times.is_some() {
                    words.pop();
                }
                let segment = self.arriving(&words);
                for _ in 0..times.unwrap_or(1) {
                    self.endpoint.receive(self.now, &segment, &mut self.out);
                    self.collect();
                }
            }
            ">" => self.expect_sent(at, &words, line),
            "!" => self.expect_event(at, &words.join(" "), line),
            "?" => self.expect_state(&words, line),
            other => panic!("no such action: {other}"),
        }
    }

    /// Wakes at every deadline up to `at`; a deadline before the time of the line before is a bug.
    fn wake_until(&mut self, at: Time, line: &str) {
        assert!(at >= self.now, "the script goes back in time: {line}");
        while let Some((due, _)) = self.endpoint.deadline().filter(|&(due, _)| due <= at) {
            assert!(due >= self.now, "deadline {due} is in the past at {}", self.now);
            self.now = due;
            self.endpoint.wake(due, &mut self.out);
            self.collect();
        }
        self.now = at;
    }
    fn collect(&mut self) {
        self.sent.extend(self.out.segments.iter().map(|&s| (self.now, s)));
        self.events.extend(self.out.events.iter().map(|&e| (self.now, e)));
        self.out.clear();
    }
    /// Checks that no expected segment or event is left.
    fn expect_quiet(&mut self, line: &str) {
        let unsaid: Vec<_> = self.sent.iter().map(|(at, s)| format!("{at} > {}", show(s))).collect();
        assert!(unsaid.is_empty(), "sent, but not in the script before `{line}`:\n{}", unsaid.join("\n"));
        for (at, event) in self.events.drain(..) {
            let minor = matches!(event, Event::Readable { .. } | Event::Acked { .. });
            assert!(minor, "told, but not in the script before `{line}`: {at} ! {event:?}");
        }
    }
    fn call(&mut self, words: &[&str]) {
        let (now, out) = (self.now, &mut self.out);
        let number = || words[1].parse::<u64>().unwrap();
        match words[0] {
            "connect" => self.endpoint.connect(now, out),
            "write" => {
                let accepted = self.endpoint.write(now, number(), out);
                let expected = words.get(3).map_or(number(), |n| n.parse().unwrap());
                assert_eq!(accepted, expected, "accepted of {words:?}");
            }
            "shutdown" => self.endpoint.shutdown(now, out),
            "abort" => self.endpoint.abort(now, out),
            "consume" => self.endpoint.consume(now, number(), out),
            other => panic!("no such call: {other}"),
        }
        self.collect();
    }
    fn arriving(&mut self, words: &[&str]) -> Segment {
        let given = parse(words, PEER_ISS, ISS);
        if let Some(window) = given.window {
            self.peer_window = window;
        }
        Segment { window: self.peer_window, ..given.segment }
    }
    fn expect_sent(&mut self, at: Time, words: &[&str], line: &str) {
        let Some((sent_at, sent)) = self.sent.pop_front() else {
            panic!("nothing was sent; expected `{line}`; deadline {:?}", self.endpoint.deadline());
        };
        let given = parse(words, ISS, PEER_ISS);
        let mut expected = given.segment;
        // PSH is not written in ladders, nor are ACK, window and MSS if they do not matter.
        expected.flags = Flags(expected.flags.0 | sent.flags.0 & Flags::PSH.0);
        if !given.ack && !expected.is(Flags::SYN) && !expected.is(Flags::RST) {
            expected.flags |= Flags::ACK;
            expected.ack = sent.ack;
        }
        if expected.options.timestamps.is_none() && !expected.is(Flags::SYN) {
            expected.options.timestamps = sent.options.timestamps;
        }
        expected.window = given.window.unwrap_or(sent.window);
        if expected.options.mss.is_none() && expected.is(Flags::SYN) {
            expected.options.mss = sent.options.mss;
        }
        assert!(
            sent_at == at && sent == expected,
            "expected `{line}`\n  sent {sent_at} > {}\n  {sent:?}\n  {expected:?}",
            show(&sent)
        );
    }
    fn expect_event(&mut self, at: Time, text: &str, line: &str) {
        let name = |e: &Event| match e {
            Event::Readable { bytes } => format!("Readable {bytes}"),
            Event::Acked { bytes } => format!("Acked {bytes}"),
            other => format!("{other:?}"),
        };
        let found = self.events.iter().position(|(t, e)| *t == at && name(e) == text);
        let Some(found) = found else { panic!("not told: `{line}`; told: {:?}", self.events) };
        self.events.remove(found);
    }
    fn expect_state(&mut self, words: &[&str], line: &str) {
        let e = &self.endpoint;
        for pair in words.chunks(2) {
            let actual = match pair[0] {
                "cwnd" => e.congestion_window().to_string(),
                "ssthresh" => e.ssthresh().to_string(),
                "flight" => e.in_flight().to_string(),
                "window" => e.send_window().to_string(),
                "state" => format!("{:?}", e.state()),
                "rto" => e.retransmission_timeout().as_millis_f64().to_string(),
                "srtt" => e.smoothed_rtt().map_or("none".to_string(), |s| s.as_millis_f64().to_string()),
                "readable" => e.readable().to_string(),
                "recovery" => e.in_recovery().to_string(),
                "timeouts" => e.stats().timeouts.to_string(),
                "fast" => e.stats().fast_retransmits.to_string(),
                "old" => e.stats().timestamp_drops.to_string(),
                "undone" => e.stats().undone.to_string(),
                "dsacks" => e.stats().dsacks_received.to_string(),
                "probes" => e.stats().loss_probes.to_string(),
                "rate" => e.delivery_rate().map_or("none".to_string(), |s| s.rate.as_bps().to_string()),
                "limited" => e.delivery_rate().map_or("none".to_string(), |s| s.limited.to_string()),
                // Packets with CE that arrived here, and at the peer.
                "cep" => e.acc_ecn().map_or("none".to_string(), |[here, _]| here.ce_packets.to_string()),
                "scep" => e.acc_ecn().map_or("none".to_string(), |[_, there]| there.ce_packets.to_string()),
                "sceb" => e.acc_ecn().map_or("none".to_string(), |[_, there]| there.ce_bytes.to_string()),
                "marks" => e.stats().mark_reductions.to_string(),
                "ecn" => e.uses_ecn().to_string(),
                "resent" => e.stats().retransmissions.to_string(),
                "deadline" => e.deadline().map_or("none".to_string(), |(t, _)| (t.as_secs_f64() * 1e3).to_string()),
                "timer" => e.deadline().map_or("none".to_string(), |(_, k)| format!("{k:?}")),
                other => panic!("no such property: {other}"),
            };
            assert_eq!(actual, pair[1], "{} in `{line}`", pair[0]);
        }
    }
}

#[derive(Default)]
struct Given {
    segment: Segment,
    ack: bool,
    window: Option<u16>,
}

fn parse(words: &[&str], from: SeqNum, to: SeqNum) -> Given {
    let mut given = Given::default();
    let s = &mut given.segment;
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("a value");
        match word {
            "SYN" => s.flags |= Flags::SYN,
            "FIN" => s.flags |= Flags::FIN,
            "RST" => s.flags |= Flags::RST,
            "ECE" => s.flags |= Flags::ECE,
            "CWR" => s.flags |= Flags::CWR,
            "AE" => s.flags |= Flags::AE,
            "ace" => s.flags |= Flags(value().parse::<u16>().unwrap() << 6),
            "ect0" => s.ecn = Ecn::Ect0,
            "ect1" => s.ecn = Ecn::Ect1,
            "ce" => s.ecn = Ecn::Ce,
            "ack" => {
                s.flags |= Flags::ACK;
                s.ack = to.add(value().parse().unwrap());
                given.ack = true;
            }
            "win" => given.window = Some(value().parse().unwrap()),
            "mss" => s.options.mss = Some(value().parse().unwrap()),
            "ws" => s.options.window_scale = Some(value().parse().unwrap()),
            "ts" => {
                // The clocks start at the initial sequence numbers. A SYN echoes nothing.
                let value_at = from.add(value().parse().unwrap()).0;
                let echo = words.next().expect("an echo").parse().map_or(0, |echo| to.add(echo).0);
                s.options.timestamps = Some(Timestamps { value: value_at, echo });
            }
            "acc0" => s.options.acc_ecn = Some(acc_ecn(FieldOrder::Ect0First, value())),
            "acc1" => s.options.acc_ecn = Some(acc_ecn(FieldOrder::Ect1First, value())),
            "sackok" => s.options.sack_permitted = true,
            "sack" => {
                // The blocks report data that the receiver of this segment sent.
                for block in value().split(',') {
                    let (start, end) = range(block);
                    assert!(s.options.sack.push(SackBlock { start: to.add(start), end: to.add(end) }));
                }
            }
            place => {
                let (start, end) = range(place);
                s.seq = from.add(start);
                s.len = (end - start) as u32;
            }
        }
    }
    given
}
/// Returns the option with the fields in `text`, or with none.
fn acc_ecn(order: FieldOrder, text: &str) -> AccEcnOption {
    let fields = text.split(',').filter(|_| text != "none").map(|field| field.parse().unwrap()).collect::<Vec<u32>>();
    AccEcnOption::new(order, fields.len(), |codepoint| {
        let place = order.codepoints().iter().position(|c| *c == codepoint).unwrap();
        fields.get(place).copied().unwrap_or(0)
    })
}
fn range(text: &str) -> (u64, u64) {
    let (start, end) = text.split_once("..").unwrap_or((text, text));
    let number = |t: &str| t.parse().unwrap_or_else(|_| panic!("not a number: {t}"));
    (number(start), number(end))
}
fn show(s: &Segment) -> String {
    let start = s.seq.distance(ISS);
    let names = [
        (Flags::SYN, "SYN "),
        (Flags::FIN, "FIN "),
        (Flags::RST, "RST "),
        (Flags::AE, "AE "),
        (Flags::ECE, "ECE "),
        (Flags::CWR, "CWR "),
    ];
    let flags: String = names.iter().filter(|(f, _)| s.is(*f)).map(|(_, n)| *n).collect();
    let place = if s.len == 0 { start.to_string() } else { format!("{start}..{}", start + s.len as i32) };
    let sack: Vec<String> = s
        .options
        .sack
        .as_slice()
        .iter()
        .map(|b| format!("{}..{}", b.start.distance(PEER_ISS), b.end.distance(PEER_ISS)))
        .collect();
    let ts = s.options.timestamps;
    let ts = ts.map_or(String::new(), |ts| {
        let (value, echo) = (SeqNum(ts.value).distance(ISS), SeqNum(ts.echo).distance(PEER_ISS));
        format!(" ts {value} {echo}")
    });
    let acc_ecn = s.options.acc_ecn.map_or(String::new(), |option| {
        let kind = if option.order() == FieldOrder::Ect0First { "acc0" } else { "acc1" };
        format!(" {kind} {}", option.fields().map(|(_, n)| n.to_string()).collect::<Vec<_>>().join(","))
    });
    let sack = if sack.is_empty() { String::new() } else { format!(" sack {}", sack.join(",")) };
    format!("{flags}{place} ack {} win {}{sack}{ts}{acc_ecn} {:?}", s.ack.distance(PEER_ISS), s.window, s.ecn)
}
