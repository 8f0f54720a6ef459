//! Claims against studies that ship, and against made-up values at the borders of their ranges.

use cellway_record::{AxisValue, Row, RunKey, RunRecord};

use super::claim::{Claim, ClaimRow, Verdict};
use super::paper::Paper;
use super::values::StudyValues;
use crate::study::{Prepared, Settings, axis_value, run_all};

/// Short runs of the points of every study that claims look at: what a claim names is there.
fn assert_every_claim_is_measured(quick: bool) {
    let paper = Paper::find("cellsim").unwrap();
    let claims = paper.claims();
    let mut values: Vec<(String, StudyValues)> = Vec::new();
    let delays = ["delay_mean_rtt", "delay_sd_rtt"];
    let mut seen = [false; 2];
    for study in paper.studies().study {
        let mut plan_points = paper.plan(&study, quick).unwrap().points().unwrap();
        let wanted = claims.iter().flat_map(Claim::figures);
        let wanted: std::collections::BTreeSet<_> = wanted.filter(|(id, _)| *id == study.id).map(|(_, f)| f).collect();
        if wanted.is_empty() {
            continue;
        }
        let mut study_values = StudyValues::new(wanted);
        for point in &mut plan_points {
            let scenario = &mut point.scenario;
            (scenario.run.duration, scenario.run.warmup) = (scenario.run.rtt * 100, scenario.run.rtt * 20);
            (scenario.observe.interval, scenario.observe.fairness_window) =
                (scenario.run.rtt * 20, scenario.run.rtt * 20);
            let workloads: Vec<_> = scenario.traffic.iter().map(|t| cellway_sim::workload(t, None).unwrap()).collect();
            let axes = || point.axes.iter().map(|(name, value)| (name.clone(), axis_value(value))).collect();
            for seed in [1, 2] {
                let control = cellway_sim::Control { stop: &|| false, capture: None };
                let mut record = cellway_sim::run(scenario, &workloads, seed, control).unwrap();
                // So short a run may see no keystroke: the figure is then absent, not misnamed.
                let telnet = scenario.traffic.iter().any(|t| t.name == "telnet" && t.count > 0);
                for (metric, seen) in delays.into_iter().zip(&mut seen) {
                    let has = record.summary.iter().any(|r| &*r.subject == "telnet-1" && r.metric == metric);
                    *seen |= has;
                    if telnet && !has {
                        record.summary.push(row("telnet-1", metric, 1.0));
                    }
                }
                let key = RunKey { run: 0, point: point.index as u32, seed, axes: axes() };
                study_values.add(&key, &record);
            }
        }
        values.push((study.id, study_values));
    }
    assert_eq!(seen, [true; 2], "no run has {delays:?} of telnet-1");
    let of = |id: &str| values.iter().find(|(name, _)| name == id).map(|(_, values)| values);
    for claim in &claims {
        let from = claim.from_study.as_ref().unwrap_or(&claim.study);
        assert!(of(&claim.study).is_some(), "{}: no study {:?}", claim.id, claim.study);
        assert!(of(from).is_some(), "{}: no study {from:?}", claim.id);
        let row = claim.judge(of(&claim.study), of(from));
        assert_ne!(row.measured_text, "not measured", "{}: no such subject, metric or point", claim.id);
    }
}

#[test]
fn every_claim_names_a_study_subject_metric_and_point_that_exist() {
    assert_every_claim_is_measured(false);
}

#[test]
fn a_quick_look_has_the_points_of_every_claim_too() {
    assert_every_claim_is_measured(true);
}

#[test]
fn claims_have_names_of_their_own_and_a_place_in_the_paper() {
    let claims = Paper::find("cellsim").unwrap().claims();
    let mut ids: Vec<&str> = claims.iter().map(|c| &c.id[..]).collect();
    assert!(ids.len() >= 30, "{} claims", ids.len());
    ids.sort_unstable();
    let before = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), before, "each id once");
    for claim in &claims {
        assert!(claim.section.starts_with(|c: char| c.is_ascii_digit()), "{}: section {:?}", claim.id, claim.section);
        assert!(!claim.claim.is_empty() && claim.claim.ends_with('.'), "{}: {:?}", claim.id, claim.claim);
    }
    // What the paper shows and says: each figure from 2 to 9, and both sensitivity studies.
    for n in 2..=9 {
        let figure = format!("Figure {n}");
        assert!(claims.iter().any(|c| c.figure.contains(&figure) || c.figure.contains(&n.to_string())), "{figure}");
    }
    for section in ["3", "4", "5.1", "5.2", "6", "7"] {
        assert!(claims.iter().any(|c| c.section == section), "section {section}");
    }
}

#[test]
fn a_study_runs_as_many_seeds_as_it_says() {
    let paper = Paper::find("cellsim").unwrap();
    for study in paper.studies().study {
        assert!(study.seeds >= study.quick_seeds && study.quick_seeds >= 1, "{}", study.id);
        let [full, quick] = [false, true].map(|quick| paper.plan(&study, quick).unwrap().point_count());
        assert!(full >= quick && quick >= 1, "{}: {full} and {quick} points", study.id);
    }
}

fn row(subject: &str, metric: &'static str, value: f64) -> Row {
    Row { subject: subject.into(), metric, unit: "1", t: None, value }
}

/// Values of one figure: per point (its place on the axis "n") the values of seeds 1, 2, ...
fn study(points: &[(f64, &[f64])]) -> StudyValues {
    let mut values = StudyValues::new([("line".to_owned(), "load".to_owned())].into());
    for (point, (n, sample)) in points.iter().enumerate() {
        for (i, value) in sample.iter().enumerate() {
            let axes =
                vec![("n".to_owned(), AxisValue::Number(*n)), ("kind".to_owned(), AxisValue::Text("a".to_owned()))];
            let key = RunKey { run: 0, point: point as u32, seed: i as u64 + 1, axes };
            let summary = vec![row("line", "load", *value), row("line", "other", 99.0)];
            values.add(&key, &RunRecord { summary, ..RunRecord::default() });
        }
    }
    values
}

fn claim(lines: &str) -> Claim {
    let text = format!(
        "id = \"c\"\nsection = \"3\"\nclaim = \"So.\"\nstudy = \"s\"\nsubject = \"line\"\nmetric = \"load\"\n{lines}\n"
    );
    toml::from_str(&text).unwrap_or_else(|e| panic!("{e}"))
}

fn judge(lines: &str, values: &StudyValues) -> ClaimRow {
    claim(lines).judge(Some(values), Some(values))
}

/// Student's t of 95 % for one degree of freedom, in units of half the distance of two values.
const T1: f64 = 12.706;

#[test]
fn a_level_is_the_mean_with_its_interval() {
    let values = study(&[(1.0, &[0.0]), (2.0, &[4.0, 6.0])]);
    let row = judge("form = \"number\"\nmeasure = \"level\"\nat = { n = 2 }\nmin = -10\nmax = 20", &values);
    assert_eq!((row.measured, row.verdict), (Some(5.0), Verdict::Reproduced));
    assert!(
        (row.ci_low.unwrap() - (5.0 - T1)).abs() < 1e-3 && (row.ci_high.unwrap() - (5.0 + T1)).abs() < 1e-3,
        "{row:?}"
    );
    assert_eq!(row.expected, "-10 to 20");
}

/// The interval of equal values is a point: each side of each border.
#[test]
fn the_whole_interval_must_lie_in_the_range_borders_included() {
    let at = |low: f64, high: f64, range: &str, form: &str| {
        // Two values whose interval is [low, high]: half a width is T1 times half their distance.
        let (mean, half) = ((low + high) / 2.0, (high - low) / 2.0);
        let values = study(&[(1.0, &[mean - half / T1, mean + half / T1])]);
        judge(&format!("form = \"{form}\"\nmeasure = \"level\"\nat = {{ n = 1 }}\n{range}"), &values).verdict
    };
    let range = "min = 1.0\nmax = 2.0";
    assert_eq!(at(1.0, 1.0, range, "number"), Verdict::Reproduced);
    assert_eq!(at(2.0, 2.0, range, "number"), Verdict::Reproduced);
    assert_eq!(at(2.0, 2.0, range, "trend"), Verdict::Shape);
    assert_eq!(at(0.999, 0.999, range, "number"), Verdict::NotReproduced);
    assert_eq!(at(2.001, 2.001, range, "trend"), Verdict::NotReproduced);
    assert_eq!(at(1.01, 1.99, range, "number"), Verdict::Reproduced);
    assert_eq!(at(0.9, 1.5, range, "number"), Verdict::Undecided);
    assert_eq!(at(1.5, 2.1, range, "trend"), Verdict::Undecided);
    assert_eq!(at(0.5, 2.5, range, "number"), Verdict::Undecided);
    assert_eq!(at(0.5, 0.9, range, "number"), Verdict::NotReproduced);
    // A range open at one side.
    assert_eq!(at(5.0, 500.0, "min = 1.0", "trend"), Verdict::Shape);
    assert_eq!(at(-5.0, 0.5, "min = 1.0", "trend"), Verdict::NotReproduced);
    assert_eq!(at(-500.0, 1.9, "max = 2.0", "trend"), Verdict::Shape);
    assert_eq!(at(1.9, 2.1, "max = 2.0", "trend"), Verdict::Undecided);
}

#[test]
fn a_difference_is_taken_seed_by_seed() {
    // The levels vary far more than their differences: 1, 1, 1.
    let values = study(&[(1.0, &[10.0, 50.0, 90.0]), (2.0, &[11.0, 51.0, 91.0])]);
    let row = judge("form = \"trend\"\nmeasure = \"difference\"\nat = { n = 2 }\nfrom = { n = 1 }\nmin = 0.9", &values);
    assert_eq!((row.measured, row.ci_low, row.ci_high), (Some(1.0), Some(1.0), Some(1.0)));
    assert_eq!((row.verdict, &row.expected[..]), (Verdict::Shape, "difference at least 0.9"));
    let row = judge("form = \"trend\"\nmeasure = \"difference\"\nat = { n = 1 }\nfrom = { n = 2 }\nmin = 0.9", &values);
    assert_eq!((row.measured, row.verdict), (Some(-1.0), Verdict::NotReproduced));
}

#[test]
fn a_ratio_is_taken_seed_by_seed() {
    let values = study(&[(1.0, &[10.0, 50.0]), (2.0, &[20.0, 100.0]), (3.0, &[0.0, 0.0])]);
    let row =
        judge("form = \"number\"\nmeasure = \"ratio\"\nat = { n = 2 }\nfrom = { n = 1 }\nmin = 2\nmax = 2", &values);
    assert_eq!((row.measured, row.verdict), (Some(2.0), Verdict::Reproduced));
    // A ratio to nothing is no number.
    let row = judge("form = \"number\"\nmeasure = \"ratio\"\nat = { n = 2 }\nfrom = { n = 3 }\nmin = 2", &values);
    assert_eq!((row.measured, row.verdict, &row.measured_text[..]), (None, Verdict::NotMeasured, "not measured"));
}

#[test]
fn growth_is_the_difference_here_less_the_difference_there() {
    let here = study(&[(1.0, &[10.0, 50.0, 7.0]), (2.0, &[4.0, 44.0, 1.0])]);
    let there = study(&[(1.0, &[3.0, 8.0, 2.0]), (2.0, &[1.0, 6.0])]);
    let claim = claim(
        "form = \"number\"\nmeasure = \"growth\"\nat = { n = 1 }\nfrom = { n = 2 }\nfrom-study = \"there\"\nmin = 4\nmax = 4",
    );
    let row = claim.judge(Some(&here), Some(&there));
    // 6 less 2 for the first two seeds; the third has no partner there.
    assert_eq!((row.measured, row.verdict), (Some(4.0), Verdict::Reproduced));
    assert_eq!((row.seeds, row.of_seeds), (2, 3));
}

const CROSSING: &str = "form = \"number\"\nmeasure = \"crossing\"\naxis = \"n\"\nthreshold = 0.9\nunit = \"sources\"\n";

#[test]
fn a_crossing_is_where_the_curve_and_its_bounds_reach_the_threshold() {
    // In any order; at 3 the mean is above and the lower bound below, at 2 the upper bound above.
    let spread = 0.05 / T1;
    let values = study(&[
        (4.0, &[0.99, 0.99]),
        (1.0, &[0.5, 0.5]),
        (2.0, &[0.86 - spread, 0.86 + spread]),
        (3.0, &[0.92 - spread, 0.92 + spread]),
    ]);
    let row = judge(&format!("{CROSSING}at = {{ kind = \"a\" }}\nmin = 2\nmax = 4"), &values);
    assert_eq!((row.measured, row.ci_low, row.ci_high), (Some(3.0), Some(2.0), Some(4.0)));
    assert_eq!((row.verdict, &row.measured_text[..]), (Verdict::Reproduced, "3 [2, 4] sources"));
    let narrow = judge(&format!("{CROSSING}at = {{ kind = \"a\" }}\nmin = 3\nmax = 4"), &values);
    assert_eq!(narrow.verdict, Verdict::Undecided);
}

#[test]
fn a_curve_that_never_reaches_the_threshold_is_said_to() {
    let values = study(&[(1.0, &[0.5, 0.5]), (2.0, &[0.6, 0.6])]);
    let row = judge(&format!("{CROSSING}at = {{}}\nmin = 1\nmax = 2"), &values);
    assert_eq!(
        (row.verdict, &row.measured_text[..]),
        (Verdict::NotReproduced, "more than 2 [more than 2, more than 2] sources")
    );
    assert_eq!((row.measured, row.ci_low, row.ci_high), (None, None, None), "JSON has no infinity");
}

#[test]
fn what_is_not_there_is_not_measured() {
    let values = study(&[(1.0, &[0.5, 0.5]), (2.0, &[0.6])]);
    for lines in [
        "measure = \"level\"\nat = { n = 7 }",
        "measure = \"level\"\nat = { m = 1 }",
        // Two points where one is meant.
        "measure = \"level\"\nat = { kind = \"a\" }",
        "measure = \"difference\"\nat = { n = 1 }",
        "measure = \"crossing\"\nat = {}",
        // One seed has no interval.
        "measure = \"level\"\nat = { n = 2 }",
    ] {
        let row = judge(&format!("form = \"number\"\n{lines}\nmin = 0"), &values);
        assert_eq!(
            (row.verdict, row.measured, &row.measured_text[..]),
            (Verdict::NotMeasured, None, "not measured"),
            "{lines}"
        );
    }
    assert_eq!(
        claim("form = \"number\"\nmeasure = \"level\"\nat = {}").judge(None, None).verdict,
        Verdict::NotMeasured
    );
}

/// Common random numbers: the same seed under another policy is the same traffic, so differences have
/// tighter intervals than levels.
#[test]
fn differences_between_policies_are_tighter_than_levels() {
    let paper = Paper::find("cellsim").unwrap();
    let study = paper.studies().study.into_iter().find(|s| s.id == "policies").unwrap();
    let plan = paper.plan(&study, true).unwrap();
    let figure = ("r1>s1".to_owned(), "utilisation".to_owned());
    let mut values = StudyValues::new([figure].into());
    let set = [("run.duration", "\"1200 rtt\""), ("run.warmup", "\"200 rtt\""), ("traffic.ftp.count", "2")];
    let set: Vec<_> = set.iter().map(|(k, v)| cellway_scenario::Override::new(*k, *v)).collect();
    let policies = ["per-conversation", "per-destination"].map(|p| format!("{p:?}")).to_vec();
    let sweep =
        cellway_scenario::SweepSpec { axes: vec![("multiplexing.channel".to_owned(), policies)], variants: vec![] };
    let short = cellway_scenario::Plan::parse_with(plan.text(), "cellsim.toml", &set, Some(sweep)).unwrap();
    let ready = Prepared::new(&short, std::path::Path::new("."), Some(6)).unwrap();
    let mut settings = Settings { threads: Some(2), progress: &mut |_| {}, stop: &mut || false };
    run_all(&ready, "t", &mut settings, |key, record| {
        values.add(&key, &record);
        Ok(())
    })
    .unwrap();
    let lines = |rest: &str| claim_of_port(&format!("form = \"trend\"\n{rest}"));
    let at = |policy: &str| format!("{{ \"multiplexing.channel\" = \"{policy}\" }}");
    let level = lines(&format!("measure = \"level\"\nat = {}", at("per-destination"))).judge(Some(&values), None);
    let difference =
        format!("measure = \"difference\"\nat = {}\nfrom = {}", at("per-destination"), at("per-conversation"));
    let difference = lines(&difference).judge(Some(&values), Some(&values));
    let width = |row: &ClaimRow| row.ci_high.unwrap() - row.ci_low.unwrap();
    assert!(width(&difference) < width(&level) / 2.0, "{difference:?} {level:?}");
}

fn claim_of_port(lines: &str) -> Claim {
    let text = format!(
        "id = \"c\"\nsection = \"3\"\nclaim = \"So.\"\nstudy = \"s\"\nsubject = \"r1>s1\"\nmetric = \"utilisation\"\n{lines}\n"
    );
    toml::from_str(&text).unwrap_or_else(|e| panic!("{e}"))
}

/// A claim with a key that nobody reads would be judged by less than it says.
#[test]
fn a_claim_with_an_unknown_key_is_refused() {
    let text = "id = \"c\"\nsection = \"3\"\nclaim = \"So.\"\nform = \"number\"\nstudy = \"s\"\nsubject = \"line\"\nmetric = \"load\"\nmeasure = \"level\"\nat = {}\nmaximum = 3\n";
    assert!(toml::from_str::<Claim>(text).is_err());
}

/// What `reproduce --json` prints for each claim.
#[test]
fn a_row_as_json_has_the_documented_keys() {
    let values = study(&[(1.0, &[0.5, 0.5])]);
    let row = judge("form = \"number\"\nmeasure = \"level\"\nat = { n = 1 }\nmin = 0.4\nmax = 0.6", &values);
    let json = serde_json::to_value(&row).unwrap();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    for key in ["id", "section", "expected", "measured", "ci_low", "ci_high", "seeds", "of_seeds", "verdict"] {
        assert!(keys.contains(&key), "{key} is not among {keys:?}");
    }
    assert_eq!(
        (&json["verdict"], &json["form"], &json["measured"]),
        (&"reproduced".into(), &"number".into(), &0.5.into())
    );
    let unmeasured =
        serde_json::to_value(claim("form = \"trend\"\nmeasure = \"level\"\nat = {}").judge(None, None)).unwrap();
    assert_eq!((&unmeasured["verdict"], &unmeasured["measured"]), (&"not-measured".into(), &serde_json::Value::Null));
}
