//! Properties of two endpoints over a bad channel.
#![allow(clippy::unwrap_used)]

mod common;

use cellway_tcp::{AckDelay, Config, EcnMode, Endpoint, Event, FastRetransmit, LossRecovery, Output, TcpSpec, Variant};
use cellway_units::{Bytes, Rate, Span, Time};
use common::channel::{App, Channel, Pair};
use proptest::prelude::*;

fn variant() -> impl Strategy<Value = Variant> {
    prop_oneof![
        Just(Variant::Tahoe),
        Just(Variant::Reno),
        Just(Variant::NewReno),
        Just(Variant::Sack),
        Just(Variant::Cubic)
    ]
}

/// Returns a variant, or RACK with another control; records of segments or none; and a mode of ECN that the control can
/// have.
fn pair() -> impl Strategy<Value = (Variant, Option<LossRecovery>, bool, EcnMode)> {
    let all = vec![Variant::Reno, Variant::Cubic, Variant::Bbr, Variant::Dctcp, Variant::Prague];
    let recovery = prop_oneof![
        3 => variant().prop_map(|v| (v, None)),
        3 => prop::sample::select(all).prop_map(|v| (v, Some(LossRecovery::Rack)))
    ];
    let ecn = prop_oneof![Just(EcnMode::Off), Just(EcnMode::Classic), Just(EcnMode::Accurate)];
    (recovery, any::<bool>(), ecn).prop_map(|((variant, recovery), records, ecn)| {
        let ecn = match (variant, ecn) {
            (Variant::Bbr, _) => EcnMode::Off,
            (Variant::Dctcp, EcnMode::Off) => EcnMode::Classic,
            (Variant::Prague, _) => EcnMode::Accurate,
            (_, ecn) => ecn,
        };
        (variant, recovery, records, ecn)
    })
}

/// Returns any configuration of a reasonable scenario.
fn config() -> impl Strategy<Value = Config> {
    let sizes = (prop_oneof![1u32..20, 100u32..1500], 1u64..80, 1u64..80);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    // Timestamps, D-SACK, HyStart++, pacing by the window, and a rate between 64 kbit/s and 10 Mbit/s.
    let later = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), prop::option::of(64_000u64..10_000_000));
    let delayed = prop_oneof![Just(None), (1u64..=500).prop_map(|ms| Some(Span::from_ms(ms)))];
    let tick = prop_oneof![Just(0u64), Just(10), Just(500)];
    let resend = prop_oneof![Just(FastRetransmit::GoBackN), Just(FastRetransmit::OneSegment)];
    (pair(), sizes, flags, later, delayed, tick, 1u32..12, (2u32..5, resend)).prop_map(
        |(
            (variant, recovery, delivery_rate, ecn),
            (mss, window, buffer),
            flags,
            later,
            delayed_ack,
            tick,
            initial_window,
            duplicates,
        )| {
            let (duplicate_threshold, fast_retransmit) = duplicates;
            let (window_scaling, nagle, limited_transmit, idle_restart, immediate_read) = flags;
            let (timestamps, dsack, hystart, pacing, pacing_rate) = later;
            // Room for the option and some payload.
            let mss = if timestamps { mss + 12 } else { mss };
            let part = u64::from(mss) / 3;
            let tcp = TcpSpec {
                variant,
                recovery,
                control: None,
                mss: Bytes(mss.into()),
                window: Bytes(u64::from(mss) * window + part),
                send_buffer: Bytes(u64::from(mss) * buffer + part),
                window_scaling,
                timestamps,
                dsack,
                hystart,
                ecn,
                abe: ecn != EcnMode::Off && matches!(variant, Variant::Reno | Variant::Cubic),
                pacing,
                pacing_rate: pacing_rate.map(Rate::from_bps),
                delayed_ack: AckDelay(delayed_ack),
                nagle,
                initial_window,
                initial_ssthresh: None,
                duplicate_threshold,
                fast_retransmit,
                limited_transmit,
                idle_restart,
                rto_initial: Span::from_secs(1),
                rto_min: Span::from_secs(1),
                rto_max: Span::from_secs(8),
                timer_granularity: Span::from_ms(tick),
                rto_margin: None,
                max_retransmissions: 30,
                // Longer than the other side can be kept from hearing of the end.
                time_wait: Span::from_secs(240),
                ..TcpSpec::default()
            };
            Config { immediate_read, delivery_rate, ..tcp.into() }
        },
    )
}

/// Returns any initial sequence number, mostly close to the wrap.
fn iss() -> impl Strategy<Value = u32> {
    prop_oneof![(0u32..20_000).prop_map(|n| u32::MAX - n), any::<u32>()]
}

/// Up to 120 segments, in pieces of up to 4.
fn least_mss(configs: &[Config; 2]) -> u64 {
    configs[0].tcp.mss.min(configs[1].tcp.mss).0
}

fn app(mss: u64) -> impl Strategy<Value = App> {
    (prop_oneof![Just(0), 0..120 * mss], 1..=4 * mss, any::<bool>()).prop_map(|(bytes, piece, waits_for_peer)| App {
        bytes,
        piece,
        waits_for_peer,
    })
}

prop_compose! {
    fn case()(configs in [config(), config()])(
        apps in [app(least_mss(&configs)), app(least_mss(&configs))],
        configs in Just(configs),
        iss in [iss(), iss()],
        seed in any::<u64>(),
    ) -> ([Config; 2], [u32; 2], [App; 2], u64) {
        // Someone has to close first.
        let [a, mut b] = apps;
        b.waits_for_peer &= !a.waits_for_peer;
        (configs, iss, [a, b], seed)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_in_order_over_a_bad_channel(
        (configs, iss, apps, seed) in case(),
        delay in 1u64..150,
        jitter in prop_oneof![Just(0u64), 0u64..200],
        loss in prop_oneof![Just(0u64), 0u64..300],
        duplicates in prop_oneof![Just(0u64), 0u64..200],
        marks in prop_oneof![Just(0u64), 0u64..500],
    ) {
        let channel = Channel {
            delay: Span::from_ms(delay),
            jitter: Span::from_ms(jitter),
            loss_per_mille: loss,
            duplicate_per_mille: duplicates,
            mark_per_mille: marks,
            losses: 200,
        };
        let mut pair = Pair::new(configs, iss, apps, channel, seed);
        pair.run();
        pair.check_delivered();
        for side in &pair.sides {
            let undone = side.endpoint.stats().undone;
            // A FIN alone may have been needless, too. The reports of packets that the channel duplicates also count.
            prop_assert!(duplicates > 0 || undone <= side.needless + 1, "{undone} undone, {} needless", side.needless);
        }
    }

    #[test]
    fn nothing_is_resent_over_a_good_channel((configs, iss, apps, seed) in case(), delay in 1u64..100, marks in 0u64..500) {
        // A round trip and the delay of an acknowledgement stay below the least that two ticks can be.
        let configs = configs.map(|mut config| {
            config.tcp.delayed_ack.0 = config.tcp.delayed_ack.0.map(|delay| delay.min(Span::from_ms(250)));
            config
        });
        let (jitter, losses) = (Span::ZERO, 0);
        let delay = Span::from_ms(delay);
        let channel = Channel { delay, jitter, loss_per_mille: 0, duplicate_per_mille: 0, mark_per_mille: marks, losses };
        let mut pair = Pair::new(configs, iss, apps, channel, seed);
        pair.run();
        pair.check_delivered();
        for side in &pair.sides {
            let stats = side.endpoint.stats();
            prop_assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 0));
            // A delayed acknowledgement can take longer than the two round trips before a loss probe.
            prop_assert!(stats.retransmissions <= stats.loss_probes);
        }
        // RFC 9768 §3.2: the sender's count of marks is that of the receiver.
        let counts = pair.sides.each_ref().map(|side| side.endpoint.acc_ecn());
        if let [Some([here, reported]), Some([there, reported_there])] = counts {
            prop_assert_eq!((reported.ce_packets, reported_there.ce_packets), (there.ce_packets, here.ce_packets));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_trace((configs, iss, apps, seed) in case()) {
        let trace = || {
            let channel = Channel {
                delay: Span::from_ms(20),
                jitter: Span::from_ms(30),
                loss_per_mille: 50,
                duplicate_per_mille: 20,
                mark_per_mille: 50,
                losses: 50,
            };
            let mut pair = Pair::new(configs, iss, apps, channel, seed);
            pair.run();
            pair.trace
        };
        prop_assert_eq!(trace(), trace());
    }
}

/// The losses occur: a property over a channel that never loses would prove little.
#[test]
fn the_channel_is_as_bad_as_it_says() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack, Variant::Cubic, Variant::Bbr] {
        let tcp = TcpSpec {
            variant,
            initial_window: 4,
            window: Bytes(16_000),
            send_buffer: Bytes(16_000),
            time_wait: Span::from_secs(240),
            ..TcpSpec::default()
        };
        let channel = Channel {
            delay: Span::from_ms(30),
            jitter: Span::from_ms(2),
            loss_per_mille: 30,
            duplicate_per_mille: 10,
            mark_per_mille: 0,
            losses: 1000,
        };
        let apps = [
            App { bytes: 500_000, piece: 5000, waits_for_peer: false },
            App { bytes: 0, piece: 1, waits_for_peer: true },
        ];
        let mut pair = Pair::new([tcp.into(); 2], [u32::MAX - 100_000, 5], apps, channel, 11);
        pair.run();
        pair.check_delivered();
        let stats = pair.sides[0].endpoint.stats();
        assert!(pair.lost > 20, "{variant:?} lost {}", pair.lost);
        assert!(stats.fast_retransmits > 5, "{variant:?}: {stats:?}");
        assert_eq!(stats.bytes_sent, 500_000 + stats.bytes_retransmitted, "{variant:?}");
    }
}

/// Sequence numbers wrap more than once.
#[test]
fn a_transfer_of_more_than_four_gibibytes() {
    const BYTES: u64 = 9_000_000_000;
    let tcp = TcpSpec {
        variant: Variant::NewReno,
        mss: Bytes(65_000),
        window: Bytes(64 << 20),
        send_buffer: Bytes(64 << 20),
        window_scaling: true,
        delayed_ack: AckDelay(Some(Span::from_ms(100))),
        ..TcpSpec::default()
    };
    let mut ends = [Endpoint::active(Config::from(tcp), u32::MAX - 9), Endpoint::passive(Config::from(tcp), 7)];
    let (mut out, mut sent, mut now) = (Output::default(), Vec::new(), Time::ZERO);
    let (mut written, mut delivered) = (0, 0);
    ends[0].connect(now, &mut out);
    let mut to = 1;
    while ends[0].stats().bytes_acked < BYTES {
        std::mem::swap(&mut sent, &mut out.segments);
        assert!(!sent.is_empty() || ends[to].deadline().is_some(), "stuck at {delivered} B");
        now += Span::from_ms(20);
        for segment in sent.drain(..) {
            ends[to].receive(now, &segment, &mut out);
        }
        ends[to].wake(now, &mut out);
        for event in out.events.drain(..) {
            match event {
                Event::Readable { bytes } => delivered += bytes,
                Event::Connected | Event::Acked { .. } | Event::Writable => {}
                other => panic!("{other:?}"),
            }
        }
        if to == 0 {
            written += ends[0].write(now, BYTES - written, &mut out);
        }
        to = 1 - to;
    }
    assert_eq!((written, delivered), (BYTES, BYTES));
    assert_eq!(ends[0].stats().retransmissions, 0);
}

/// A wake before the deadline sends nothing, reports nothing and changes nothing.
#[test]
fn waking_early_does_nothing() {
    let tcp = TcpSpec { delayed_ack: AckDelay(Some(Span::from_ms(200))), ..TcpSpec::default() };
    let mut out = Output::default();
    let mut client = Endpoint::active(Config::from(tcp), 1);
    let mut server = Endpoint::passive(Config::from(tcp), 2);
    let mut checked = 0;
    let mut check = |e: &Endpoint, now: Time| {
        let mut early = e.clone();
        let mut out = Output::default();
        early.wake(now, &mut out);
        assert_eq!(out, Output::default());
        assert_eq!(format!("{early:?}"), format!("{e:?}"));
        if let Some((at, _)) = e.deadline() {
            early.wake(Time::from_ps(at.as_ps() - 1), &mut out);
            assert_eq!(format!("{early:?}"), format!("{e:?}"));
            // At the deadline something does happen.
            early.wake(at, &mut out);
            assert_ne!(format!("{early:?}"), format!("{e:?}"));
            checked += 1;
        }
    };
    let mut now = Time::ZERO;
    client.connect(now, &mut out);
    let mut to_server = true;
    for round in 0..40 {
        check(&client, now);
        check(&server, now);
        now += Span::from_ms(30);
        client.wake(now, &mut out);
        server.wake(now, &mut out);
        let segments = std::mem::take(&mut out.segments);
        for segment in &segments {
            let end = if to_server { &mut server } else { &mut client };
            end.receive(now, segment, &mut out);
        }
        to_server = !to_server;
        if out.events.contains(&Event::Connected) && to_server {
            client.write(now, 5_000, &mut out);
        }
        if round == 20 {
            to_server = true;
            client.shutdown(now, &mut out);
        }
        out.events.clear();
    }
    assert!(checked > 20, "{checked}");
}
