//! Series of flows and figures of sets over the kernel's TCP, of both versions of IP.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod common;

use cellway_emu::Control;
use cellway_record::Row;
use common::{one_at_a_time, possible, run};

const NET: &str = r#"version = 1
name = "families"
buffer = { size = "64 KiB", per = "port" }
node = [{ name = "r1", kind = "router" }, { name = "r2", kind = "router" }]
link = [{ between = ["r1", "r2"], rate = "8 Mbit/s", delay = "20 ms" }]
run = { duration = "4 s", warmup = "1 s", emulate = { lateness-limit = "10 s" } }

[observe]
interval = "500 ms"
fairness-window = "1 s"
flows = ["all"]
set = [{ name = "both", flows = ["all"] }]

[[traffic]]
name = "six"
app = "bulk"
family = "ipv6"
from = "r1"
to = "r2"
access = { rate = "1 Gbit/s", delay = "0 s" }

[[traffic]]
name = "voice"
family = "ipv6"
from = "r1"
to = "r2"
access = { rate = "1 Gbit/s", delay = "0 s" }
udp = { packet = "200 B", rate = "80 kbit/s" }
"#;

#[test]
fn real_packets_of_ipv6_have_series_and_sets() {
    if !possible("real_packets_of_ipv6_have_series_and_sets") {
        return;
    }
    let _one = one_at_a_time();
    let emulated = run(NET, &[], Control::default()).unwrap();
    let values = |rows: &[Row], subject: &str, metric: &str| -> Vec<f64> {
        rows.iter().filter(|row| &*row.subject == subject && row.metric == metric).map(|row| row.value).collect()
    };
    let series = |subject, metric| values(&emulated.record.series, subject, metric);
    // The last bin ends with the run. The first may end before the first report of the kernel.
    for metric in ["cwnd", "srtt", "in_flight", "pacing_rate", "min_rtt", "one_way_delay", "sojourn_mean"] {
        assert!((7..=8).contains(&series("six-1", metric).len()), "{metric}: {:?}", emulated.notes);
    }
    // The propagation, and the packet on a line of 1.5 ms; a queue of 64 KiB waits for 66 ms.
    assert!(series("six-1", "one_way_delay").iter().all(|delay| (0.0215..0.1).contains(delay)));
    assert!(series("six-1", "srtt").iter().all(|&rtt| rtt >= 0.0415));
    // That of the SYN at the least, which has no payload.
    let [least, smoothed] = ["min_rtt", "srtt"].map(|metric| series("six-1", metric));
    assert!(least.iter().zip(smoothed).all(|(&least, smoothed)| least >= 0.04 && least <= smoothed), "{least:?}");
    // Linux, `tcp_update_pacing_rate`: window / smoothed round trip, times 2 in slow start and 1.2 later.
    let [rates, windows, smoothed] = ["pacing_rate", "cwnd", "srtt"].map(|metric| series("six-1", metric));
    let mut factors: Vec<f64> = (0..rates.len()).map(|i| rates[i] * smoothed[i] / (8.0 * windows[i])).collect();
    factors.sort_by(f64::total_cmp);
    // In microseconds; the window may grow or shrink by a few segments after the rate is set.
    assert!((factors[factors.len() / 2 - 1] - 1.2).abs() <= 1e-3 && factors[0] > 1.1, "{factors:?}");
    assert!(factors[factors.len() - 1] < 2.2, "{factors:?}");
    assert!(series("six-1", "sojourn_mean").iter().all(|wait| (0.0..0.067).contains(wait)));
    assert!(series("voice-1", "cwnd").is_empty() && series("voice-1", "one_way_delay").len() >= 7);
    let figure = |subject, metric| values(&emulated.record.summary, subject, metric);
    let later: Vec<f64> = (emulated.record.series.iter())
        .filter(|row| &*row.subject == "six-1" && row.metric == "srtt" && row.t.is_some_and(|t| t > 1.0))
        .map(|row| row.value)
        .collect();
    let mean = later.iter().sum::<f64>() / later.len() as f64;
    assert!((figure("six-1", "srtt_mean")[0] / mean - 1.0).abs() < 1e-9, "{mean}");
    assert!(figure("both", "rtt_p50").is_empty(), "the kernel reports no single measurements");
    for metric in ["goodput_total", "loss_ratio", "one_way_delay_p50", "one_way_delay_p99", "jain"] {
        assert_eq!(figure("both", metric).len(), 1, "{metric}");
    }
    // Without extension headers, a datagram has 152 B of payload: 50 of them in a second.
    let goodput = figure("voice-1", "goodput")[0];
    assert!((goodput / (50.0 * 152.0 * 8.0) - 1.0).abs() <= 2.0 / 150.0, "{goodput}");
}
