//! The frames of a video against arithmetic: when each is whole, and which are late or incomplete.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_record::RunRecord;
use cellway_scenario::Scenario;
use common::{figure, hosts_at_a_line, run, scenario};

/// A frame has 2000 B in the mean: frames of 1000 B, and every fourth of 5000 B.
const GROUP: &str = r#"[[traffic]]
name = "video"
from = "a"
to = "b"

[traffic.udp]
source = "video"
packet = "1000 B"
rate = "400 kbit/s"
frame-rate = 25
key-frame-interval = 4
key-frame-ratio = 5
frame-sigma = 0
playout-delay = "50 ms"
"#;

fn line(set: &[(&str, &str)]) -> Scenario {
    scenario(&hosts_at_a_line(GROUP), set)
}

fn of<'a>(record: &'a RunRecord, subject: &'a str) -> impl Fn(&str) -> f64 + 'a {
    move |metric| figure(record, subject, metric)
}

/// A packet of 1000 B takes 0.8 ms and 1 ms, 8 ms and 20 ms, 0.8 ms and 1 ms; a key frame has five of them on the line,
/// which ends with the last when the next frame arrives there, 40 ms later.
#[test]
fn frames_alone_take_the_time_of_their_packets() {
    let record = run(&line(&[]), 1);
    for subject in ["video-1", "video"] {
        let of = of(&record, subject);
        assert!((of("frame_delay_p50") / 0.0316 - 1.0).abs() < 0.004, "{}", of("frame_delay_p50"));
        for metric in ["frame_delay_p95", "frame_delay_p99"] {
            assert!((of(metric) / 0.0636 - 1.0).abs() < 0.004, "{metric}: {}", of(metric));
        }
        // Frames 50 to 498, whose play-out is before 20 s; of these the key frames 52 to 496.
        assert_eq!([of("frames_sent"), of("frames_late")], [449.0, 112.0 / 449.0]);
        assert_eq!([of("frames_incomplete"), of("packets_lost")], [0.0; 2]);
    }
    // The delay of a key frame to the picosecond.
    let with = |playout| run(&line(&[("traffic.video.udp.playout-delay", playout)]), 1);
    assert_eq!(of(&with("\"63599999999 ps\""), "video")("frames_late"), 112.0 / 449.0);
    let all_in_time = with("\"63600 us\"");
    assert_eq!(of(&all_in_time, "video")("frames_late"), 0.0);
    // 25 frames a second of 2000 B, less 28 B of headers of each of 2 packets in the mean.
    let goodput = of(&all_in_time, "video")("goodput_total");
    assert!((goodput / (25.0 * (2000.0 - 2.0 * 28.0) * 8.0) - 1.0).abs() < 0.01, "{goodput}");
}

#[test]
fn losses_make_frames_incomplete_and_seeds_repeat() {
    let set = [("traffic.video.udp.rate", "\"2 Mbit/s\""), ("traffic.video.udp.frame-sigma", "0.3")];
    let overload = line(&set);
    let record = run(&overload, 1);
    let of_overload = of(&record, "video");
    let [late, incomplete] = ["frames_late", "frames_incomplete"].map(&of_overload);
    // Half of the packets are lost, and all others wait for a full queue of 160 ms.
    assert!(incomplete > 0.5 && late + incomplete > 0.95 && late + incomplete <= 1.0, "{late} {incomplete}");
    let rows = |record: &RunRecord| record.summary.iter().map(|row| row.value).collect::<Vec<_>>();
    assert_eq!(rows(&run(&overload, 1)), rows(&record));
    assert_ne!(rows(&run(&overload, 2)), rows(&record));
    let dead = run(&line(&[("link.line.loss", "\"99.9999%\"")]), 1);
    assert_eq!([of(&dead, "video")("frames_incomplete"), of(&dead, "video")("frames_late")], [1.0, 0.0]);
}
