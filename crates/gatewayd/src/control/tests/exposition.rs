//! Tests of `/metrics` with parsers of both formats, and with `promtool`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::*;

/// Returns the samples of an OpenMetrics text, checked line by line against its grammar.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut family = String::new();
    let (body, end) = text.split_at(text.len() - "# EOF\n".len());
    assert_eq!(end, "# EOF\n");
    for line in body.lines() {
        if let Some(meta) = line.strip_prefix("# ") {
            let mut words = meta.splitn(3, ' ');
            let (kind, name) = (words.next().unwrap(), words.next().unwrap());
            assert!(["HELP", "TYPE", "UNIT"].contains(&kind) && words.next().is_some_and(|w| !w.is_empty()), "{line}");
            family = name.to_owned();
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        let plain = name.split('{').next().unwrap();
        assert!(plain.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{line}");
        assert!(plain.starts_with(&family), "{line} is not of {family}");
        assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{line} twice");
    }
    samples
}

/// A sample: its name, its labels and its value.
type Sample = (String, Vec<(String, String)>, f64);

/// Reads a sample of the classic format, whose labels may hold anything.
fn sample(line: &str) -> Option<Sample> {
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"")?;
            let mut value = String::new();
            let mut octets = after.char_indices();
            let end = loop {
                match octets.next()? {
                    (at, '"') => break at,
                    (_, '\\') => value.push(match octets.next()?.1 {
                        'n' => '\n',
                        c @ ('\\' | '"') => c,
                        _ => return None,
                    }),
                    (_, c) => value.push(c),
                }
            };
            labels.push((label.to_owned(), value));
            rest = &after[end + 1..];
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        rest = &rest[1..];
    }
    Some((name.to_owned(), labels, rest.strip_prefix(' ')?.parse().ok()?))
}

/// Returns the samples of a text in the classic format, checked: each family is described once, right before all of its
/// samples.
fn classic_samples(text: &str) -> Vec<Sample> {
    let (mut samples, mut types) = (Vec::new(), BTreeMap::new());
    let (mut helped, mut family) = (String::new(), (String::new(), String::new()));
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let [kind, name, what] = [0; 3].map(|_| words.next().unwrap());
            match kind {
                "HELP" => name.clone_into(&mut helped),
                "TYPE" => {
                    assert_eq!(helped, name, "help comes first");
                    assert!(["counter", "gauge", "histogram"].contains(&what), "{line}");
                    assert!(types.insert(name.to_owned(), what.to_owned()).is_none(), "{line} twice");
                    family = (name.to_owned(), what.to_owned());
                }
                _ => panic!("{line}"),
            }
            continue;
        }
        let sample = sample(line).unwrap_or_else(|| panic!("{line}"));
        let suffixes: &[&str] = if family.1 == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        assert!(suffixes.iter().any(|suffix| sample.0 == format!("{}{suffix}", family.0)), "{line} of {family:?}");
        assert_eq!(family.1 == "counter", family.0.ends_with("_total"), "{line}");
        samples.push(sample);
    }
    samples
}

#[test]
fn both_formats_have_the_same_samples() {
    let open = samples(&metrics::text(picture(), Format::OpenMetrics));
    let classic = classic_samples(&metrics::text(picture(), Format::Classic));
    assert_eq!(classic.len(), open.len());
    for (name, labels, value) in &classic {
        let labels: Vec<_> = labels
            .iter()
            .map(|(name, value)| {
                let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                format!("{name}=\"{value}\"")
            })
            .collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        assert_eq!(open.get(&format!("{name}{labels}")), Some(value), "{name}{labels}");
    }
    let peers: BTreeSet<_> = classic.iter().flat_map(|(_, labels, _)| labels).filter(|l| l.0 == "peer").collect();
    assert!(peers.contains(&("peer".to_owned(), "a \"b\" \\c".to_owned())), "{peers:?}");
}

/// Prometheus' own check of syntax and names. The program comes with Debian's package `prometheus`.
#[test]
fn promtool_accepts_what_is_served() {
    const VARIABLE: &str = "CELLWAY_TEST_PROMTOOL";
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).map(|folder| folder.join("promtool")).find(|file| file.is_file());
    let Some(promtool) = named.or(installed) else {
        let why = format!("promtool is missing, which checks metrics ({VARIABLE} can name it)");
        return crate::skipped::skip(&why);
    };
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let text = metrics::text(picture(), Format::Classic);
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let ran = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.is_empty(), "{said}{}", String::from_utf8_lossy(&ran.stdout));
}

#[test]
fn metrics_are_open_metrics() {
    let samples = samples(&metrics::text(picture(), Format::OpenMetrics));
    let of = |name: &str| samples.get(&format!("cellway_gateway_{name}")).copied();
    assert_eq!(of("peer_up{peer=\"tokyo\"}"), Some(1.0));
    assert_eq!(of("peer_up{peer=\"a \\\"b\\\" \\\\c\"}"), Some(0.0), "{samples:?}");
    assert_eq!(of("peer_rtt_seconds{peer=\"tokyo\"}"), Some(0.175));
    assert_eq!(of("peer_line_bytes_total{peer=\"tokyo\"}"), Some(12_345.0));
    assert_eq!(of("peer_line_rate{peer=\"tokyo\"}"), Some(3.75e6));
    assert_eq!(of("peer_line_rate_fits{peer=\"tokyo\"}"), Some(3e6));
    assert_eq!(of("peer_packets_lost_total{peer=\"tokyo\"}"), Some(3.0));
    assert_eq!(of("peer_transport_info{peer=\"tokyo\",transport=\"quic\"}"), Some(1.0), "{samples:?}");
    assert_eq!(of("opened_total{class=\"intercepted\"}"), Some(7.0));
    assert_eq!((of("strangers_total{how=\"silent\"}"), of("strangers_total{how=\"failed\"}")), (Some(5.0), Some(0.0)));
    assert_eq!(of("peer_surplus_total{peer=\"tokyo\"}"), Some(0.0));
    let class = |name: &str, class: &str| of(&format!("class_{name}{{peer=\"tokyo\",class=\"{class}\"}}"));
    assert_eq!(["ceiling", "share", "connections"].map(|name| class(name, "customer-a")), [250e3, 3.0, 5.0].map(Some));
    assert_eq!(class("ceiling", "default"), None);
    let counters = ["frames_total", "sent_bytes_total", "line_bytes_total", "at_ceiling_seconds_total"];
    assert_eq!(counters.map(|name| class(name, "default")), [7.0, 700.0, 900.0, 1.5].map(Some), "{samples:?}");
    assert_eq!(of("refused_total{reason=\"busy\"}"), Some(1.0));
    assert_eq!((of("held_back_total"), of("silent")), (Some(6.0), Some(2.0)));
    assert_eq!((of("longest_pass_seconds"), of("long_passes_total")), (Some(0.004), Some(3.0)));
    assert_eq!((of("receive_drops_total"), of("passed_total")), (Some(9.0), Some(4.0)));
    assert_eq!(
        (of("peer_responsive{peer=\"tokyo\"}"), of("peer_stalls_total{peer=\"tokyo\"}")),
        (Some(1.0), Some(0.0))
    );
    // Buckets count all values up to their bound.
    assert_eq!(of("connect_seconds_bucket{le=\"0.1\"}"), Some(3.0));
    assert_eq!(of("connect_seconds_bucket{le=\"0.2\"}"), Some(5.0));
    assert_eq!(of("connect_seconds_bucket{le=\"+Inf\"}"), Some(6.0));
    assert_eq!((of("connect_seconds_count"), of("connect_seconds_sum")), (Some(6.0), Some(1.25)));
}

#[test]
fn the_dashboard_asks_only_for_what_there_is() {
    let there: BTreeSet<String> = samples(&metrics::text(picture(), Format::OpenMetrics))
        .into_keys()
        .map(|name| name.split('{').next().unwrap().to_owned())
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/grafana.json");
    let board: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut asked = BTreeSet::new();
    for panel in board["panels"].as_array().unwrap() {
        assert!(panel["title"].is_string() && panel["targets"].as_array().is_some_and(|t| !t.is_empty()), "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let names: Vec<_> = words.filter(|word| word.starts_with("cellway_")).collect();
            assert!(!names.is_empty(), "{expression}");
            for name in names {
                assert!(there.contains(name), "{name} of {:?} is not exported", panel["title"]);
                asked.insert(name.to_owned());
            }
        }
    }
    assert!(asked.len() >= 15, "{asked:?}");
}
