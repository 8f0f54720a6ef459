//! Queue disciplines in whole runs: the wait of TCP, and the shares of flows.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{count, figure, queue_before_a_line, run, scenario};

const GROUP: &str = "from = \"r1\"\nto = \"r2\"\naccess = { rate = \"1 Gbit/s\", delay = \"0 s\" }\n";

fn with(discipline: &str, groups: &[&str]) -> String {
    let groups = groups.iter().zip(1..).map(|(keys, i)| format!("[[traffic]]\nname = \"t{i}\"\n{GROUP}{keys}\n"));
    format!("{}\n{}", queue_before_a_line(discipline), groups.collect::<String>())
}

/// Two transfers by the control of Reno, with windows of 1 MiB, of which the path holds 50 kB.
const TWO: &str = "app = \"bulk\"\ncount = 2\nstagger = \"1 s\"\ntcp = { control = \"reno\", byte-counting = false, window = \"1 MiB\" }";

/// Returns utilisation, mean and 99th percentile of the wait (s), packets dropped early and packets marked.
fn outcome(discipline: &str, set: &[(&str, &str)]) -> [f64; 5] {
    let record = run(&scenario(&with(discipline, &[TWO]), set), 1);
    let of = |metric| figure(&record, "r1>r2", metric);
    let [dropped, marked] = ["early_drops", "marked"].map(|metric| count(&record, metric));
    [of("utilisation"), of("sojourn_mean"), of("sojourn_p99"), dropped, marked]
}

/// What each discipline is for: without one, two transfers fill their windows and wait for 1.67 s. With one the line stays
/// busy and the wait is near the target. In brackets what was measured, of which the bounds leave a fifth.
#[test]
fn tcp_waits_as_long_as_the_discipline_is_told() {
    for (discipline, utilisation, mean, p99) in [
        // [1.0, 1.669, 1.696]; deficit round robin does not limit the wait [1.0, 1.695, 1.696].
        ("fifo", 0.999, 1.75, 1.75),
        ("drr", 0.999, 1.75, 1.75),
        // A target of 5 ms [0.961, 0.0104, 0.0284].
        ("ared", 0.95, 0.0125, 0.034),
        // A target of 5 ms [0.949, 0.0035, 0.0092], [0.955, 0.0036, 0.0163].
        ("codel", 0.94, 0.0043, 0.011),
        ("fq-codel", 0.94, 0.0044, 0.020),
        // A target of 15 ms [0.993, 0.0166, 0.0343], [0.982, 0.0133, 0.0284].
        ("pie", 0.98, 0.020, 0.041),
        ("dualpi2", 0.975, 0.016, 0.034),
    ] {
        let [busy, wait, longest, dropped, marked] = outcome(discipline, &[]);
        assert!(busy >= utilisation && wait <= mean && longest <= p99, "{discipline}: {busy} {wait} {longest}");
        let is_early = !["fifo", "drr"].contains(&discipline);
        assert_eq!((dropped > 0.0, marked), (is_early, 0.0), "{discipline}");
        let is_wanted = mean < 1.0 && wait * 3.0 < mean;
        assert!(!is_wanted, "{discipline}: a bound of {mean} s proves little for {wait} s");
    }
}

/// With ECN the same disciplines mark, and drop nothing.
#[test]
fn flows_with_ecn_are_marked_in_place_of_drops() {
    for (discipline, utilisation, mean) in
        [("ared", 0.95, 0.0125), ("codel", 0.94, 0.0046), ("fq-codel", 0.93, 0.0038), ("pie", 0.98, 0.0205)]
    {
        let key = format!("buffer.{discipline}");
        let [busy, wait, _, dropped, marked] = outcome(discipline, &[("tcp.ecn", "true"), (&key, "{ ecn = true }")]);
        assert!(busy >= utilisation && wait <= mean, "{discipline}: {busy} {wait}");
        assert!(dropped == 0.0 && marked > 40.0, "{discipline}: {dropped} {marked}");
    }
    let [.., dropped, marked] = outcome("dualpi2", &[("tcp.ecn", "true")]);
    assert!(dropped == 0.0 && marked > 40.0, "dualpi2: {dropped} {marked}");
}

/// A transfer over 42 ms and one over 242 ms, and datagrams of 100 kbit/s. Behind one queue of 100 kB the short transfer has
/// most of the line and the datagrams wait; behind fair queues the transfers have nearly the same rate and the datagrams wait for
/// a packet or two of 1.2 ms.
#[test]
fn fair_queues_divide_the_line_and_protect_small_flows() {
    let far = "app = \"bulk\"\ntcp = { control = \"reno\", byte-counting = false, window = \"1 MiB\" }".to_owned();
    let text = |discipline: &str| {
        let near = with(discipline, &[&far, &far, "udp = { packet = \"125 B\", rate = \"100 kbit/s\" }"]);
        let (before, after) = near.split_once("delay = \"0 s\" }").unwrap();
        format!("{before}delay = \"100 ms\" }}{after}")
    };
    let shares = |discipline: &str| {
        let set = [("buffer.size", "100 kB"), ("run.duration", "200 s"), ("run.warmup", "50 s")];
        let record = run(&scenario(&text(discipline), &set), 1);
        let of = |subject, metric| figure(&record, subject, metric);
        [of("t1-1", "goodput"), of("t2-1", "goodput"), of("t3-1", "delay_p99"), of("t3-1", "loss_ratio")]
    };
    let [slow, fast, delay, _] = shares("fifo");
    assert!(fast > 3.0 * slow && delay > 0.08, "fifo: {fast} {slow} {delay}");
    // Mbit/s: [5.30, 4.25] and [4.37, 3.30]. The long transfer cannot fill its half: the memory, or an interval of 100 ms, is
    // shorter than its round trip.
    for (discipline, ratio, all) in [("drr", 1.4, 9.2e6), ("fq-codel", 1.5, 7.3e6)] {
        let [slow, fast, delay, lost] = shares(discipline);
        assert!(fast < ratio * slow && fast + slow > all, "{discipline}: {fast} {slow}");
        assert!(delay < 0.020 + 0.004 && lost == 0.0, "{discipline}: {delay} {lost}");
    }
}

/// Datagrams at 20 % above the rate of the line, in bursts of one: with drops at the head those that arrive have waited less
/// than with drops at the tail by up to a packet, and as many are lost.
#[test]
fn drops_at_the_head_lose_the_oldest() {
    let lost = |drop: &str| {
        let text = with("fifo", &["udp = { packet = \"1250 B\", rate = \"12 Mbit/s\" }"]);
        let set = [("buffer.size", "12500 B"), ("buffer.fifo.drop", drop)];
        let record = run(&scenario(&text, &set), 1);
        let of = |metric| figure(&record, "r1>r2", metric);
        (of("dropped_packets"), of("sojourn_max"))
    };
    let ((tail, waited), (head, less)) = (lost("tail"), lost("head"));
    assert!(tail > 9_000.0 && (tail - head).abs() <= 1.0, "{tail} {head}");
    assert!(less < waited, "{less} {waited}");
}

/// Two transfers fill the queue of 100 kB, and datagrams of 100 kbit/s are sent by their class.
#[test]
fn priorities_follow_the_class_of_packets() {
    let calls = |dscp: &str| {
        let call = format!("dscp = \"{dscp}\"\nudp = {{ packet = \"125 B\", rate = \"100 kbit/s\" }}");
        let record = run(&scenario(&with("prio", &[TWO, &call]), &[("buffer.size", "100 kB")]), 1);
        let of = |metric| figure(&record, "t2-1", metric);
        let delay = (of("packets_received") > 0.0).then(|| of("delay_p99"));
        (delay, of("packets_received") / of("packets_sent"))
    };
    // 20 ms of the path, and a full packet of 1.2 ms on the line. 2 packets in flight are not yet received.
    let (delay, received) = calls("ef");
    assert!(delay.unwrap() < 0.0215 && received > 0.999, "{delay:?} {received}");
    // The transfers always have a packet, so that the last band is never served.
    assert_eq!(calls("le"), (None, 0.0));
}

/// Datagrams with ECT(1) at half the rate of the line beside two transfers: they wait for less than 4 ms, of which two full
/// packets take 2.4 ms, although the transfers keep their wait near 15 ms; with ECT(0) they share that.
#[test]
fn l4s_datagrams_have_a_queue_with_little_delay() {
    let waits = |ecn: &str| {
        let udp = format!("udp = {{ packet = \"1000 B\", rate = \"5 Mbit/s\", ecn = \"{ecn}\" }}");
        let record = run(&scenario(&with("dualpi2", &[TWO, &udp]), &[]), 1);
        let of = |metric| figure(&record, "t2-1", metric);
        (of("delay_p99") - 0.020, of("loss_ratio"))
    };
    let ((low, lost), (classic, _)) = (waits("ect1"), waits("ect0"));
    assert!(low < 0.004 && lost == 0.0, "{low} {lost}");
    assert!(classic > 0.015, "{classic}");
}
