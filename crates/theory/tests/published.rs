//! Values that the papers print, by the equations' ids and text arguments.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use cellway_theory::{Predicted, equations, evaluate};

fn predicted(id: &str, arguments: &[(&str, &str)]) -> Predicted {
    let arguments = arguments.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    evaluate(id, &arguments).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the value, inside the domain.
fn value(id: &str, arguments: &[(&str, &str)]) -> f64 {
    let result = predicted(id, arguments);
    assert_eq!(result.caveats, Vec::<String>::new(), "{id} {arguments:?}");
    result.value
}

#[test]
fn kdd_equation_1() {
    let th = |window, rtt, segment, rate| {
        value("window-limited", &[("window", window), ("rtt", rtt), ("mtu", segment), ("rate", rate)])
    };
    // "8 K bytes" are 8192: 8000 would give 301.5 and 104.5 kbit/s, not roughly 310 and 110. The
    // paper's own example has a window below its M, and so a caveat.
    let example = |window, rtt| {
        let arguments = [("window", window), ("rtt", rtt), ("mtu", "9188 B"), ("rate", "6 Mbit/s")];
        let result = predicted("window-limited", &arguments);
        assert!(result.caveats.len() == 1 && result.caveats[0].contains("below one segment"), "{:?}", result.caveats);
        format!("{:.1}", result.value / 1e3)
    };
    assert_eq!(example("8 KiB", "200 ms"), "308.8");
    assert_eq!(example("8 KiB", "600 ms"), "107.0");
    assert_eq!(example("8 kB", "200 ms"), "301.5");
    // Section 4.4.1: four segments of 8192 B at PCR 30.0 Mbit/s, 27.1 of payload; five of 1460 B over Ethernet.
    let printed = |bps: f64| format!("{:.2}", bps / 1e6);
    assert_eq!(printed(th("32768 B", "175 ms", "9188 B", "27.1 Mbit/s")), "1.48");
    assert_eq!((th("32768 B", "175 ms", "9188 B", "27.1 Mbit/s") / 1e3).round(), 1475.0);
    assert_eq!(printed(th("7300 B", "175 ms", "1500 B", "ethernet")), "0.33");
    assert_eq!((th("7300 B", "175 ms", "1500 B", "10 Mbit/s") / 1e3).round(), 331.0);
}

#[test]
fn magic_table_1() {
    let rows = [
        ("512 B", "0.47", 2),
        ("1 KiB", "0.93", 2),
        ("2 KiB", "1.9", 1),
        ("4 KiB", "3.7", 1),
        ("8 KiB", "7.4", 1),
        ("16 KiB", "14.9", 1),
        ("32 KiB", "29.8", 1),
        ("64 KiB", "59.6", 1),
        ("128 KiB", "119", 0),
    ];
    for (window, printed, digits) in rows {
        let mbps = value("window-over-rtt", &[("window", window), ("rtt", "8.8 ms")]) / 1e6;
        assert_eq!(format!("{mbps:.digits$}"), printed, "{window}");
    }
    // The paper prints 1.8 for 2k: its only value that is cut, not rounded.
    let mbps = value("window-over-rtt", &[("window", "2 KiB"), ("rtt", "8.8 ms")]) / 1e6;
    assert_eq!((mbps * 10.0).floor() / 10.0, 1.8);
}

#[test]
fn nasa_window_of_a_ds3_at_60_ms() {
    // 40.704 Mbit/s of cells are 36.864 of payload, and 91 % of that the 33.46 of the slides.
    assert_eq!(value("bandwidth-delay", &[("rate", "36.864 Mbit/s"), ("rtt", "60 ms")]), 276_480.0);
    let framed =
        value("bandwidth-delay", &[("rate", "ds3"), ("rtt", "60 ms"), ("framing", "aal5-llc-snap"), ("mss", "9140 B")]);
    assert!((framed - 40.704e6 * 9140.0 / (192.0 * 53.0) * 0.06 / 8.0).abs() < 1e-6);
    assert_eq!((36.864e6_f64 * 0.91 / 1e4).floor(), 3354.0);
}

#[test]
fn rates_of_lines() {
    let rows = [
        ("e1", 1_920_000.0),
        ("ds1", 1_536_000.0),
        ("e3", 33_920_000.0),
        ("ds3", 40_704_000.0),
        ("oc3c", 149_760_000.0),
        ("oc12c", 599_040_000.0),
        ("taxi", 98_148_148.0),
        ("ethernet", 10_000_000.0),
        ("fast-ethernet", 100_000_000.0),
        ("fddi", 100_000_000.0),
    ];
    for (line, bps) in rows {
        assert_eq!(value("line-rate", &[("line", line)]), bps, "{line}");
    }
    assert_eq!(40_704_000 / 424, 96_000);
    assert_eq!(33_920_000 / 424, 80_000);
}

#[test]
fn aal5_efficiency_for_each_mss() {
    let rows = [
        (1, "1.41", "0.0142"),
        (472, "121.25", "1.2144"),
        (512, "120.56", "1.2075"),
        (536, "116.50", "1.1669"),
        (1460, "128.92", "1.2913"),
        (4312, "133.89", "1.3411"),
        (9140, "134.51", "1.3473"),
    ];
    for (mss, oc3, slow) in rows {
        let over = |rate| value("aal5-goodput", &[("mss", &format!("{mss} B")), ("rate", rate)]) / 1e6;
        assert_eq!(format!("{:.2}", over("oc3c")), oc3, "{mss}");
        assert_eq!(format!("{:.4}", over("1.5 Mbit/s")), slow, "{mss}");
    }
}

#[test]
fn octets_of_a_packet_on_each_line() {
    let rows = [
        ("40 B", "aal5-vc-mux", 53.0),
        ("40 B", "aal5-llc-snap", 106.0),
        ("1500 B", "aal5-vc-mux", 32.0 * 53.0),
        ("9180 B", "aal5-llc-snap", 192.0 * 53.0),
        ("40 B", "ethernet", 84.0),
        ("1500 B", "ethernet", 1538.0),
        ("4352 B", "fddi", 4388.0),
        ("40 B", "packet", 40.0),
    ];
    for (packet, framing, octets) in rows {
        assert_eq!(value("line-octets", &[("packet", packet), ("framing", framing)]), octets, "{packet} {framing}");
    }
    // The best known number of Ethernet: 1460 of 1538 octets.
    assert_eq!(value("ethernet-goodput", &[("mss", "1460 B")]).round(), 9_492_848.0);
    assert_eq!(value("fddi-goodput", &[("mss", "4312 B")]).round(), 98_268_004.0);
}

#[test]
fn spacing_equation_24() {
    let arguments = [
        ("segment", "32 cell"),
        ("peak", "33.920 Mbit/s"),
        ("rate", "36000 cell/s"),
        ("rtt", "3.6 ms"),
        ("window", "1312 cell"),
    ];
    let at = |more: &[(&str, &str)]| value("spacer-theorem-3", &[&arguments[..], more].concat());
    assert!((at(&[("bound", "lower")]) - 1182.4).abs() < 1e-6);
    assert!((at(&[]) - 1217.6).abs() < 1e-6);
    assert_eq!((at(&[("bound", "lower")]).floor(), at(&[]).floor()), (1182.0, 1217.0));
    assert_eq!((at(&[("count", "cells")]), at(&[("count", "waiting")])), (1219.0, 1218.0));
    let same = [&arguments[..2], &[("rate", "15.264 Mbit/s")], &arguments[3..4], &[("window", "41 segments")]].concat();
    assert!((value("spacer-theorem-3", &same) - 1217.6).abs() < 1e-6);
    // The content is the final oscillation: slow start stays below.
    let buffer = [&arguments[..], &[("acks", "second")]].concat();
    assert!((value("spacer-buffer", &buffer) - 1217.6).abs() < 1e-6);
    // Recursion (17): intervals 2 and 3 have one burst of three segments each.
    let third = [&arguments[..], &[("acks", "second"), ("interval", "3")]].concat();
    assert!((value("spacer-interval", &third) - 3.0 * 32.0 * 0.55).abs() < 1e-6);
}

#[test]
fn mathis_and_pftk_at_100_ms() {
    // Loss; Mathis; PFTK short b = 1, 2; full b = 1, 2; in packets of 1000 B per second.
    let rows = [
        ("0.0001", ["1224.7", "1222.0", "864.1", "1219.6", "861.6"]),
        ("0.001", ["387.3", "378.8", "267.8", "376.6", "265.6"]),
        ("0.01", ["122.5", "99.9", "70.7", "98.8", "69.5"]),
        ("0.05", ["54.8", "24.7", "17.5", "26.0", "18.6"]),
    ];
    for (loss, printed) in rows {
        let at = |id, ack| {
            let result = predicted(id, &[("mss", "1000 B"), ("rtt", "100 ms"), ("loss", loss), ("delayed-ack", ack)]);
            assert_eq!(result.caveats.len(), usize::from(id == "mathis" && loss == "0.05"), "{id} {loss}");
            format!("{:.1}", result.value / 8000.0)
        };
        let found =
            [at("mathis", "no"), at("pftk-short", "no"), at("pftk-short", "yes"), at("pftk", "no"), at("pftk", "yes")];
        assert_eq!(found, printed, "{loss}");
    }
}

/// RFC 9438, tables 1 and 2: the average windows of CUBIC with C = 0.4 where they exceed those of Reno, in segments.
#[test]
fn rfc_9438_tables_1_and_2() {
    let window = |rtt, loss| {
        let rate = value("cubic", &[("mss", "1000 B"), ("rtt", rtt), ("loss", loss)]) / 8000.0;
        (rate * if rtt == "100 ms" { 0.1 } else { 0.01 }).round()
    };
    let of_100_ms = ["1e-4", "1e-5", "1e-6", "1e-7", "1e-8"].map(|loss| window("100 ms", loss));
    assert_eq!(of_100_ms, [187.0, 1054.0, 5926.0, 33325.0, 187400.0]);
    let of_10_ms = ["1e-7", "1e-8"].map(|loss| window("10 ms", loss));
    assert_eq!(of_10_ms, [5926.0, 33325.0]);
}

#[test]
fn magic_table_2_burst_through_taxi() {
    let needs = |packets| {
        value("burst-loss", &[("packets", packets), ("packet", "192 cell"), ("peak", "oc3c"), ("rate", "taxi")])
    };
    // Three packets fit 256 cells, four do not: any buffer from 199 to 264 cells behaves alike.
    assert_eq!((needs("3"), needs("4")), (199.0, 265.0));
    let survives = |buffer| value("burst-survives", &[("buffer", buffer), ("peak", "oc3c"), ("rate", "taxi")]);
    assert!(survives("256 cell") < 4.0 * 192.0 && survives("265 cell") >= 4.0 * 192.0);
}

#[test]
fn cells_and_segments_of_spacing_section_6() {
    // An MSS of 1516 B must be the IP packet: 32 cells, and 41 segments of 60 × 1024 B.
    assert_eq!(value("aal5-cells", &[("packet", "1516 B"), ("encapsulation", "vc-mux")]), 32.0);
    assert_eq!(value("aal5-cells", &[("packet", "1516 B")]), 32.0);
    assert_eq!(value("window-segments", &[("window", "61440 B"), ("mss", "1476 B")]), 41.0);
    assert_eq!(value("cell-time", &[("rate", "33.92 Mbit/s")]), 12.5e-6);
    assert_eq!(value("cell-payload", &[("rate", "ds3")]), 36_864_000.0);
    let any = value("tcp-goodput", &[("mss", "1476 B"), ("rate", "5 Mbit/s"), ("framing", "aal5-llc-snap")]);
    assert_eq!(any, value("aal5-goodput", &[("mss", "1476 B"), ("rate", "5 Mbit/s")]));
    // Without a trailer a packet of 1496 B fills 32 cells less 40 octets, and a TELNET packet of 41 B one cell.
    let bare = value("bare-cells-goodput", &[("mss", "1456 B"), ("rate", "5.3 Mbit/s")]);
    assert_eq!(bare, 5.3e6 * 1456.0 / (32.0 * 53.0));
    assert_eq!(value("line-octets", &[("packet", "41 B"), ("framing", "bare-cells")]), 53.0);
}

#[test]
fn delay_behind_other_queues() {
    let wait = |token| value("fair-queue-delay", &[("others", "5"), ("rate", "1.5 Mbit/s"), ("token", token)]);
    assert!((wait("after") - 5.0 * 424.0 / 1.5e6).abs() < 1e-15);
    assert!((wait("before") - 6.0 * 424.0 / 1.5e6).abs() < 1e-15);
}

#[test]
fn outside_its_domain_a_result_says_so() {
    let window = |window, rtt| {
        predicted("window-limited", &[("window", window), ("rtt", rtt), ("mtu", "9188 B"), ("rate", "6 Mbit/s")])
    };
    assert!(window("512 B", "200 ms").caveats[0].contains("below one segment"));
    assert!(window("1 MiB", "200 ms").caveats[0].contains("the limit"));
    let packet = |mss| predicted("packet-goodput", &[("mss", mss), ("rate", "40 Mbit/s")]).caveats;
    assert!(packet("9140 B")[0].contains("above the usual MTU of 1500 B"));
    assert_eq!(packet("1460 B"), Vec::<String>::new());
    let taxi = predicted("burst-survives", &[("buffer", "10 cell"), ("peak", "taxi"), ("rate", "oc3c")]);
    assert!(taxi.value.is_infinite() && taxi.caveats.len() == 1);
    let early = [
        ("segment", "32 cell"),
        ("peak", "oc3c"),
        ("rate", "36000 cell/s"),
        ("rtt", "3.6 ms"),
        ("window", "41 segment"),
        ("threshold", "2 segment"),
        ("initial", "1 segment"),
    ];
    assert!(predicted("spacer-theorem-1", &early).caveats[0].contains("C1"));
}

#[test]
fn questions_that_cannot_be_answered_are_refused() {
    let refused = |id: &str, arguments: &[(&str, &str)]| {
        let arguments = arguments.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        evaluate(id, &arguments).unwrap_err().to_string()
    };
    assert!(refused("window", &[]).contains("accepted: window-limited, window-over-rtt"));
    assert!(refused("window-over-rtt", &[("window", "8 KiB")]).contains("rtt is missing; accepted: a time"));
    assert!(refused("window-over-rtt", &[("w", "8 KiB")]).contains("accepted: window, rtt"));
    assert!(refused("window-over-rtt", &[("window", "8 ms"), ("rtt", "1 ms")]).contains("window-over-rtt: window:"));
    assert!(refused("window-over-rtt", &[("window", "8 KiB"), ("rtt", "0 s")]).contains("above 0"));
    for loss in ["0", "1"] {
        let lossy = [("mss", "1 kB"), ("rtt", "1 s"), ("loss", loss)];
        assert!(refused("mathis", &lossy).contains("0 < loss < 1") && refused("pftk", &lossy).contains("0 < loss < 1"));
    }
    assert!(refused("pftk", &[("mss", "1 kB"), ("rtt", "1 s"), ("loss", "1.5")]).contains("from 0 to 1"));
    let rates = [("rate", "0.5 cell/s"), ("line", "1.0001 cell/s"), ("tolerance", "1 s")];
    assert!(refused("gcra-burst", &rates).contains("whole number of bit/s"));
}

/// Each argument of each equation in turn, as large as its kind of text permits: refused with the limit, at once.
#[test]
fn arguments_past_their_limits_are_refused() {
    use cellway_theory::Kind;
    let (small, large, most) = (0, 1, 2);
    let text = |kind: Kind| match kind {
        Kind::Rate => ["1 Mbit/s", "18446744 Gbit/s", "1000 Gbit/s"],
        Kind::Time => ["100 ms", "5000 h", "24 h"],
        Kind::Bytes => ["1000 B", "17179869183 GiB", "1024 GiB"],
        Kind::Cells => ["10 cell", "18446744073709551615 cell", "1000000000000 cell"],
        Kind::Segments => ["40 segment", "1000000000000 segment", "1000000 segment"],
        Kind::Probability => ["0.01", "", "0.01"],
        Kind::Count => ["2", "18446744073709551615", "1000000000"],
        Kind::Word(words) => [words[0], "", words[0]],
    };
    for equation in equations() {
        let arguments = |which: usize| -> std::collections::BTreeMap<String, String> {
            equation.arguments.iter().map(|a| (a.name.to_owned(), text(a.kind)[which].to_owned())).collect()
        };
        for argument in equation.arguments.iter().filter(|a| !text(a.kind)[large].is_empty()) {
            let mut one = arguments(small);
            one.insert(argument.name.to_owned(), text(argument.kind)[large].to_owned());
            let error = evaluate(equation.id, &one).unwrap_err().to_string();
            let told = format!("{}: {}: ", equation.id, argument.name);
            assert!(error.starts_with(&told) && error.contains("is too much; accepted: "), "{error}");
            assert!(error.contains("at most"), "{error}");
        }
        // The largest accepted values lead to an answer or a refusal, not to a panic or an endless loop.
        let _ = evaluate(equation.id, &arguments(most));
    }
    // Also if the window is given in cells, and half-way to the limit.
    let spacer = [("segment", "1 cell"), ("peak", "oc3c"), ("rate", "ds3"), ("rtt", "1 s")];
    let with = |window| -> std::collections::BTreeMap<String, String> {
        spacer
            .iter()
            .chain(&[("window", window), ("threshold", "2 segment")])
            .map(|(k, v)| ((*k).into(), (*v).into()))
            .collect()
    };
    let error = evaluate("spacer-window-time", &with("1000000000000 cell")).unwrap_err().to_string();
    assert!(error.contains("windows of at most 1000000 segments"), "{error}");
    assert!(evaluate("spacer-window-time", &with("1000000 cell")).unwrap().value > 0.0);
}

#[test]
fn every_equation_is_documented_and_has_an_id_of_its_own() {
    let ids: std::collections::BTreeSet<_> = equations().iter().map(|e| e.id).collect();
    assert_eq!(ids.len(), equations().len());
    for equation in equations() {
        for text in [equation.title, equation.source, equation.formula, equation.domain] {
            assert!(!text.is_empty(), "{}", equation.id);
        }
        for argument in equation.arguments {
            assert!(!argument.help.is_empty() && !argument.kind.accepted().is_empty(), "{}", equation.id);
        }
    }
}
