//! `cellway reproduce`, by claims that equations judge and by a study that takes no time.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Place, SMALL, names};

#[test]
fn a_table_with_published_and_predicted_values_that_fits() {
    let place = Place::new(SMALL);
    let ran = place.run(&["reproduce", "--only", "kdd/eq1-200ms,spacing/eq24-high", "--quick"]).done();
    let table = ran.out();
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, ["paper", "place", "claim", "published", "predicted", "deviation", "verdict"]);
    let row: Vec<&str> = lines.next().unwrap().split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let expected = ["kdd", "§ 2.1", "eq1-200ms", "310 kbit/s", "308.8", "-0.4 %", "reproduced"];
    assert_eq!(row, expected);
    assert_eq!(table.lines().count(), 3);
    let told = ran.err();
    assert!(told.contains("2 claims: 2 reproduced") && told.contains("  spacing: 1 reproduced"), "{told}");
    assert!(told.contains("nothing was written"), "{told}");
    assert_eq!(place.names(), ["study.toml"]);
}

/// The claims with the longest names and ranges, measured: wide, but within the largest width of the table.
#[test]
fn the_widest_rows_are_cut_to_fit() {
    let place = Place::new(SMALL);
    let ran = place.run_at(120, &["reproduce", "--quick", "--only", "control-*,kdd/eq1,spacing/eq24"]).done();
    // Standard error is no terminal, so each study prints a line as it ends. The other studies are closed forms.
    let told = ran.err();
    let mut ended: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("done: ")).collect();
    ended.sort_unstable();
    assert_eq!(ended.len(), 2, "{told}");
    // The studies run on two threads and may end in either order.
    assert!(ended[0].starts_with("cellsim: A control") && ended[0].contains(", 6 runs ("), "{told}");
    assert!(ended[1].starts_with("cellsim: The control") && ended[1].contains(", 6 runs ("), "{told}");
    let table = ran.out();
    let widest = table.lines().map(|line| line.chars().count()).max().unwrap();
    assert!((80..=120).contains(&widest), "{widest} columns:\n{table}");
    assert!(table.contains("simulated [95 % CI]") && table.contains("control-fair"), "{table}");
    // The remaining part of a cut name finds the claim.
    let cut = table.split_whitespace().find(|word| word.ends_with('…'));
    if let Some(name) = cut {
        place.run(&["reproduce", "--quick", "--json", "--only", name.trim_end_matches('…')]).done();
    }
}

#[test]
fn json_is_one_list_for_all_papers() {
    let place = Place::new(SMALL);
    let told =
        place.run(&["reproduce", "spacing", "kdd", "--only", "eq1-200ms", "--only", "eq24-high", "--json"]).done();
    let rows = told.json();
    let places: Vec<[&str; 2]> =
        rows.as_array().unwrap().iter().map(|row| ["paper", "id"].map(|key| row[key].as_str().unwrap())).collect();
    assert_eq!(places, [["spacing", "eq24-high"], ["kdd", "eq1-200ms"]], "in the order asked for");
    assert_eq!((&rows[0]["published"], &rows[0]["equation"]), (&1217.0.into(), &"spacer-theorem-3".into()));
    assert!(rows[0]["given"].as_array().unwrap().contains(&"one ACK for two segments".into()));
}

#[test]
fn results_and_page_are_written_to_the_given_paths() {
    let place = Place::new(SMALL);
    let only =
        ["reproduce", "kdd", "spacing", "--only", "eq1-200ms,eq24-high", "--out", "out", "--markdown", "page.md"];
    let told = place.run(&only).done().err();
    assert!(told.contains("page in page.md") && told.contains("Python package"), "{told}");
    assert_eq!(place.names(), ["out", "page.md", "study.toml"]);
    assert_eq!(names(&place.path().join("out")), ["index.json", "kdd", "manifest.json", "spacing"]);
    let page = std::fs::read_to_string(place.path().join("page.md")).unwrap();
    assert!(page.starts_with("# ") && page.contains("`eq1-200ms`"), "{page}");
    let refused = place.run(&["reproduce", "kdd", "--only", "eq1-200ms", "--markdown", "page.md"]).refused();
    assert!(refused.contains("page.md") && refused.contains("--force"), "{refused}");
    assert_eq!(std::fs::read_to_string(place.path().join("page.md")).unwrap(), page);
    for page in ["nowhere/page.md", "out"] {
        let refused = place.run(&["reproduce", "kdd", "--only", "eq1-200ms", "--markdown", page, "--force"]).refused();
        assert!(refused.starts_with(&format!("cellway: {page} cannot be written: ")), "{refused}");
    }
}

#[test]
fn unknown_names_are_refused() {
    let place = Place::new(SMALL);
    let told = place.run(&["reproduce", "kdd", "--only", "eq1-200mss", "--out", "out"]).refused();
    assert!(told.contains("\"eq1-200mss\"") && told.contains("did you mean kdd/eq1-200ms?"), "{told}");
    let told = place.run(&["reproduce", "kddd", "--out", "out"]).refused();
    assert!(told.contains("accepted: bbr, cellsim, kdd, l4s, magic, nasa, spacing, or"), "{told}");
    assert_eq!(place.names(), ["study.toml"]);
}

/// The table of `simulate` is no wider than a terminal; --wide shows all columns.
#[test]
fn the_table_of_a_simulation_fits() {
    let sweep = "[sweep]\naxes = { \"multiplexing.channel\" = [\"per-conversation\", \"per-destination\"], \"traffic.ftp.count\" = [2, 3] }\n";
    let place = Place::new(&format!("{SMALL}\n{sweep}"));
    let ran = place.run_at(120, &["simulate", "study.toml"]).done();
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest(&ran.out()) <= 120, "{}", ran.out());
    assert!(["utilisation", "goodput_total", "throughput_mean"].iter().all(|m| ran.out().contains(m)), "{}", ran.out());
    let wide = place.run(&["simulate", "study.toml", "--wide"]).done();
    assert!(!wide.err().contains("not shown"), "{}", wide.err());
    let left_out = ran.err().lines().find_map(|line| line.strip_prefix("not shown: ").map(str::to_owned)).unwrap();
    for name in left_out.split(';').next().unwrap().split(", ") {
        assert!(wide.out().contains(name) && !ran.out().contains(name), "{name}");
    }
}

#[test]
fn a_path_is_predicted_by_its_least_bound() {
    let place = Place::new(SMALL);
    let path = ["predict", "--rate", "ds3", "--rtt", "60ms", "--window", "64KiB"];
    let told = place.run(&path).done().out();
    for words in ["bound by: window\n", "window needed", "round trip", "advice: "] {
        assert!(told.contains(words), "{words:?} is missing:\n{told}");
    }
    assert!(told.lines().all(|line| line.chars().count() <= 120), "{told}");
    let told = place.run(&[&path[..], &["--json"]].concat()).done().json();
    // 44 whole segments of 1460 B a round trip of at least 60 ms.
    let [goodput, round_trip] = ["goodput", "round_trip"].map(|key| told[key].as_f64().unwrap());
    assert!((0.06..0.061).contains(&round_trip) && goodput <= 44.0 * 1460.0 * 8.0 / 0.06, "{told}");
    assert!(goodput > 0.98 * 44.0 * 1460.0 * 8.0 / 0.061, "{told}");
    assert_eq!((&told["binding"], &told["buffer_needed"]["unit"]), (&"window".into(), &"cell".into()));
    let documented = include_str!("../../../docs/reference/json.md");
    for key in told.as_object().unwrap().keys().chain(told["bounds"][0].as_object().unwrap().keys()) {
        assert!(documented.contains(&format!("`{key}`")), "{key} is not in docs/reference/json.md");
    }
    // A line with a name has its framing; a given framing takes precedence.
    let binding = |framing: &[&str]| {
        let args = ["predict", "--rate", "fddi", "--rtt", "1ms", "--window", "1MiB", "--json"];
        place.run(&[&args[..], framing].concat()).done().json()["bounds"][1]["equation"].as_str().unwrap().to_owned()
    };
    assert_eq!(binding(&[]), "fddi-goodput");
    assert_eq!(binding(&["--framing", "packet"]), "packet-goodput");
}

#[test]
fn equations_are_listed_and_evaluated() {
    let place = Place::new(SMALL);
    let listed = place.run(&["predict", "--equations"]).done().out();
    assert!(listed.contains("window-over-rtt: ") && listed.contains("  source: Ewy et al. 1994, Table 1"), "{listed}");
    let all = place.run(&["predict", "--equations", "--json"]).done().json();
    let ids: Vec<&str> = all.as_array().unwrap().iter().map(|e| e["id"].as_str().unwrap()).collect();
    assert!(ids.len() > 10 && ids.iter().all(|id| listed.contains(&format!("{id}: "))), "{ids:?}");
    let evaluate = ["predict", "--equation", "window-over-rtt", "--arg", "window=128KiB", "--arg", "rtt=8.8ms"];
    let told = place.run(&evaluate).done().out();
    assert!(told.starts_with("119.2 Mbit/s\n") && told.contains("Ewy et al. 1994, Table 1"), "{told}");
    let told = place.run(&[&evaluate[..], &["--json"]].concat()).done().json();
    assert!((told["value"].as_f64().unwrap() - 131072.0 * 8.0 / 0.0088).abs() < 1e-3, "{told}");
    assert_eq!(told["unit"], "bit/s");
}

#[test]
fn unpredictable_scenarios_are_refused() {
    let place = Place::new(SMALL);
    let path = |more: &[&'static str]| [&["predict", "--rtt", "60ms", "--window", "64KiB"][..], more].concat();
    for (args, words) in [
        (path(&["--rate", "oc4c"]), &["rate", "oc4c", "oc3c"][..]),
        (path(&["--rate", "ds3", "--mss", "1460"]), &["mss", "1460", "no unit"]),
        (path(&["--rate", "ds3", "--loss", "2"]), &["loss", "\"2\"", "from 0 to 1", "or per cent"]),
        (path(&["--rate", "20Mbps"]), &["rate: \"Mbps\" in \"20Mbps\"", "did you mean \"20 Mbit/s\"?"]),
        (path(&["--rate", "ds3", "--framing", "aal3"]), &["framing", "aal3", "aal5-llc-snap"]),
        (path(&["--rate", "ds3", "--buffer", "256"]), &["buffer", "256 cell"]),
        (path(&["--rate", "ds3", "--delayed-ack", "200ms"]), &["delayed-ack", "on, off"]),
        (path(&["--rate", "ds3", "--equations"]), &["--equations"]),
        (path(&[]), &["--rate"]),
        (vec!["predict", "--rate", "ds3"], &["--rtt", "--window"]),
        (vec!["predict", "--equation", "window-limted"], &["window-limted", "window-limited"]),
        (vec!["predict", "--equation", "window-over-rtt", "--arg", "rtt=1ms"], &["window", "8 KiB"]),
        (vec!["predict", "--equation", "window-over-rtt", "--arg", "rtt"], &["\"rtt\"", "NAME=VALUE"]),
        (vec!["predict"], &["--rate", "--equation"]),
    ] {
        let ran = place.run(&args);
        assert_eq!(ran.out(), "", "{args:?}");
        let told = ran.refused();
        words.iter().for_each(|word| assert!(told.contains(word), "{args:?}: {word:?} is missing:\n{told}"));
    }
}

/// The groups of a scenario at each point of its sweep: a window that binds, and one that does not.
#[test]
fn a_scenario_is_predicted_at_each_point() {
    let sweep = "[sweep]\naxes = { \"tcp.window\" = [\"4 KiB\", \"16 KiB\"] }\n";
    let place = Place::new(&format!("{SMALL}\n{sweep}"));
    let table = place.run(&["predict", "study.toml", "--set", "traffic.ftp.count=1"]).done().out();
    let row = |window: &str| table.lines().find(|line| line.starts_with(window)).unwrap().to_owned();
    assert!(row("4 KiB").contains(" window ") && !row("16 KiB").contains(" window "), "{table}");
    let told = place.run(&["predict", "study.toml", "--set", "traffic.ftp.count=1", "--json"]).done().json();
    let points = told["points"].as_array().unwrap();
    assert_eq!((&told["name"], points.len()), (&"small".into(), 2));
    assert_eq!((&points[0]["axes"]["tcp.window"], &points[0]["groups"][0]["group"]), (&"4 KiB".into(), &"ftp".into()));
    // 8 segments of 512 B in a round trip of 45 ms and a little; 12 cells of 53 octets for 512 octets of payload.
    let [windowed, full] = [0, 1].map(|i| points[i]["groups"][0]["goodput"].as_f64().unwrap());
    assert!((0.8..1.0).contains(&(windowed / (4096.0 * 8.0 / 0.045))), "{windowed}");
    assert!((full / (1.5e6 * 512.0 / 636.0) - 1.0).abs() < 1e-3, "{full}");
    let documented = include_str!("../../../docs/reference/json.md");
    let group = points[0]["groups"][0].as_object().unwrap();
    for key in group.keys().chain(group["legs"][0].as_object().unwrap().keys()) {
        assert!(documented.contains(&format!("`{key}`")), "{key} is not in docs/reference/json.md");
    }
    let told = place.run(&["predict", "study.toml", "--set", "tcp.msss=1 B"]).refused();
    assert!(told.contains("tcp.msss"), "{told}");
    let told = place.run(&["predict", "studi.toml"]).refused();
    assert!(told.contains("studi.toml"), "{told}");
}
