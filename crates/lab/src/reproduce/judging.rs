//! Claims against made-up values at the borders of their ranges.

use cellway_record::{AxisValue, Quantity, Row, RunKey, RunRecord};

use super::claim::{Claim, Source};
use super::paper::Paper;
use super::predicted::Prediction;
use super::row::{ClaimRow, Verdict};
use super::values::StudyValues;
use crate::batch::run_all;
use crate::study::{Prepared, Settings};

pub(super) fn row(subject: &str, metric: &str, value: f64) -> Row {
    Row { subject: subject.into(), metric: Quantity::own(metric, "1"), t: None, value }
}

/// Values of one figure: per point (its place on the axis "n") the values of seeds 1, 2, ...
fn study(points: &[(f64, &[f64])]) -> StudyValues {
    study_of(points, false)
}

fn study_of(points: &[(f64, &[f64])], deterministic: bool) -> StudyValues {
    let mut values = StudyValues::new([("line".to_owned(), "load".to_owned())].into(), deterministic);
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
    claim(lines).judge("p", Some(values), Some(values), None)
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

/// The interval of equal values is a point: each side of each bound.
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
    // A ratio with zero as its divisor is no number.
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
    let row = claim.judge("p", Some(&here), Some(&there), None);
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
fn absent_figures_are_not_measured() {
    let values = study(&[(1.0, &[0.5, 0.5]), (2.0, &[0.6])]);
    for lines in [
        "measure = \"level\"\nat = { n = 7 }",
        "measure = \"level\"\nat = { m = 1 }",
        // Two points match although the claim needs one.
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
        claim("form = \"number\"\nmeasure = \"level\"\nat = {}").judge("p", None, None, None).verdict,
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
    let mut values = StudyValues::new([figure].into(), false);
    let set = [("run.duration", "\"1200 rtt\""), ("run.warmup", "\"200 rtt\""), ("traffic.ftp.count", "2")];
    let set: Vec<_> = set.iter().map(|(k, v)| cellway_scenario::Override::new(*k, *v)).collect();
    let policies = ["per-conversation", "per-destination"].map(|p| format!("{p:?}")).to_vec();
    let sweep =
        cellway_scenario::SweepSpec { axes: vec![("multiplexing.channel".to_owned(), policies)], variants: vec![] };
    let short = cellway_scenario::Plan::parse_with(plan.text(), "cellsim.toml", &set, Some(sweep)).unwrap();
    let ready = Prepared::new(&short, std::path::Path::new("."), Some(6)).unwrap();
    let mut settings = Settings { threads: Some(2), progress: &mut |_| {}, stop: &mut || false, store: None };
    run_all(&ready, "t", &mut settings, |key, record| {
        values.add(&key, &record);
        Ok(())
    })
    .unwrap();
    let lines = |rest: &str| claim_of_port(&format!("form = \"trend\"\n{rest}"));
    let at = |policy: &str| format!("{{ \"multiplexing.channel\" = \"{policy}\" }}");
    let level =
        lines(&format!("measure = \"level\"\nat = {}", at("per-destination"))).judge("p", Some(&values), None, None);
    let difference =
        format!("measure = \"difference\"\nat = {}\nfrom = {}", at("per-destination"), at("per-conversation"));
    let difference = lines(&difference).judge("p", Some(&values), Some(&values), None);
    let width = |row: &ClaimRow| row.ci_high.unwrap() - row.ci_low.unwrap();
    assert!(width(&difference) < width(&level) / 2.0, "{difference:?} {level:?}");
}

fn claim_of_port(lines: &str) -> Claim {
    let text = format!(
        "id = \"c\"\nsection = \"3\"\nclaim = \"So.\"\nstudy = \"s\"\nsubject = \"r1>s1\"\nmetric = \"utilisation\"\n{lines}\n"
    );
    toml::from_str(&text).unwrap_or_else(|e| panic!("{e}"))
}

/// A claim with an unknown key would be judged by fewer conditions than it states.
#[test]
fn a_claim_with_an_unknown_key_is_refused() {
    let text = "id = \"c\"\nsection = \"3\"\nclaim = \"So.\"\nform = \"number\"\nstudy = \"s\"\nsubject = \"line\"\nmetric = \"load\"\nmeasure = \"level\"\nat = {}\nmaximum = 3\n";
    assert!(toml::from_str::<Claim>(text).is_err());
}

/// The output of `reproduce --json` for each claim.
#[test]
fn a_row_as_json_has_the_documented_keys() {
    let values = study(&[(1.0, &[0.5, 0.5])]);
    let row = judge("form = \"number\"\nmeasure = \"level\"\nat = { n = 1 }\nmin = 0.4\nmax = 0.6", &values);
    let json = serde_json::to_value(&row).unwrap();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let documented = include_str!("../../../../docs/reference/json.md");
    for key in &keys {
        assert!(documented.contains(&format!("`{key}`")), "{key} is not in docs/reference/json.md");
    }
    assert_eq!(
        (&json["verdict"], &json["form"], &json["measured"]),
        (&"reproduced".into(), &"number".into(), &0.5.into())
    );
    let unmeasured =
        serde_json::to_value(claim("form = \"trend\"\nmeasure = \"level\"\nat = {}").judge("p", None, None, None))
            .unwrap();
    assert_eq!((&unmeasured["verdict"], &unmeasured["measured"]), (&"not-measured".into(), &serde_json::Value::Null));
}

/// Returns a claim that is judged by an equation alone.
fn by_equation(lines: &str) -> Claim {
    let text = format!(
        "id = \"c\"\nfigure = \"Table 1\"\nclaim = \"So.\"\nform = \"number\"\npredict = {{ equation = \"e\" }}\n{lines}\n"
    );
    toml::from_str(&text).unwrap_or_else(|e| panic!("{e}"))
}

fn predicting(value: f64) -> Option<Prediction> {
    Some(Prediction { value, equation: "e".to_owned(), caveats: Vec::new() })
}

#[test]
fn a_claim_without_a_study_is_judged_by_its_equation() {
    let claim = by_equation("published = 1.5\nwithin = 0.1\nunit = \"Mbit/s\"");
    let judge = |value: f64| claim.judge("p", None, None, predicting(value));
    let row = judge(1.65);
    assert_eq!((row.source, row.verdict, row.predicted), (Source::Predict, Verdict::Reproduced, Some(1.65)));
    assert_eq!((&row.predicted_text[..], &row.published_text[..]), ("1.65 Mbit/s", "1.5 Mbit/s"));
    assert_eq!((&row.expected[..], row.caveats.is_empty()), ("1.35 to 1.65 Mbit/s", true));
    assert!((row.deviation.unwrap() - 0.1).abs() < 1e-12, "{row:?}");
    assert_eq!((row.simulated, &row.measured_text[..], row.of_seeds), (None, "", 0));
    assert_eq!([1.34, 1.36, 1.66].map(|v| judge(v).verdict), {
        use Verdict::{NotReproduced, Reproduced};
        [NotReproduced, Reproduced, NotReproduced]
    });
    assert_eq!(claim.judge("p", None, None, None).verdict, Verdict::NotMeasured);
}

/// If both values exist the simulated one is judged, unless the row selects the other; the deviation is that of the
/// judged one.
#[test]
fn a_claim_with_both_is_judged_by_the_study() {
    let values = study_of(&[(1.0, &[2.0])], true);
    let lines = "form = \"number\"\npredict = { equation = \"e\" }\npublished = 4\nwithin = 0.1";
    let judged = |lines: &str| claim(lines).judge("p", Some(&values), None, predicting(4.0));
    let row = judged(lines);
    assert_eq!((row.source, row.verdict, row.deviation), (Source::Simulate, Verdict::NotReproduced, Some(-0.5)));
    let row = judged(&format!("{lines}\nsource = \"predict\""));
    assert_eq!((row.source, row.verdict, row.simulated), (Source::Predict, Verdict::Reproduced, Some(2.0)));
}

/// Agreement outside the domain of the equation proves nothing, unless the paper itself computes there; disagreement
/// remains, and so does the result of a study.
#[test]
fn an_equation_outside_its_domain_does_not_reproduce_anything() {
    let doubtful = |value: f64| {
        let caveats = vec!["loss above 2 %".to_owned()];
        predicting(value).map(|prediction| Prediction { caveats, ..prediction })
    };
    let of = |lines: &str, value: f64| {
        let row = by_equation(&format!("published = 1\nwithin = 0.1\n{lines}")).judge("p", None, None, doubtful(value));
        assert_eq!(row.caveats, ["loss above 2 %"]);
        row.verdict
    };
    assert_eq!(of("", 1.0), Verdict::Undecided);
    assert_eq!(of("fitted = [\"cost = 1 ms\"]", 1.0), Verdict::Undecided);
    assert_eq!(of("", 2.0), Verdict::NotReproduced);
    assert_eq!(of("outside-domain = true", 1.0), Verdict::Reproduced);
    let values = study_of(&[(1.0, &[1.0])], true);
    let simulated = claim("form = \"number\"\npredict = { equation = \"e\" }\npublished = 1\nwithin = 0.1");
    assert_eq!(simulated.judge("p", Some(&values), None, doubtful(1.0)).verdict, Verdict::Reproduced);
}

#[test]
fn a_fitted_row_is_never_called_reproduced() {
    let fitted = "fitted = [\"cost = 1 ms\"]\npublished = 1\nwithin = 0.1";
    let verdict = |value| by_equation(fitted).judge("p", None, None, predicting(value)).verdict;
    assert_eq!([verdict(1.0), verdict(1.2)], [Verdict::Fitted, Verdict::NotReproduced]);
    let values = study(&[(1.0, &[0.5, 0.5])]);
    let trend = format!("form = \"trend\"\nat = {{ n = 1 }}\nmin = 0\n{}", fitted.lines().next().unwrap());
    assert_eq!(judge(&trend, &values).verdict, Verdict::Fitted);
}

#[test]
fn a_deterministic_value_has_no_interval() {
    let values = study_of(&[(1.0, &[31.73e6]), (2.0, &[60e6])], true);
    let lines = "form = \"number\"\nscale = 1e-6\nunit = \"Mbit/s\"\npublished = 31.73\nwithin = 0.01";
    let row = judge(&format!("{lines}\nat = {{ n = 1 }}"), &values);
    assert_eq!((row.verdict, &row.measured_text[..]), (Verdict::Reproduced, "31.73 Mbit/s"));
    assert_eq!((row.ci_low, row.ci_high, row.simulated), (row.simulated, row.simulated, row.measured));
    assert!(row.deviation.unwrap().abs() < 1e-12);
    let crossing = "form = \"number\"\nmeasure = \"crossing\"\naxis = \"n\"\nscale = 1e-6\nthreshold = 50\nmax = 2";
    let row = judge(crossing, &values);
    assert_eq!((row.simulated, row.verdict, &row.measured_text[..]), (Some(2.0), Verdict::Reproduced, "2"));
    let ratio = "form = \"number\"\nmeasure = \"ratio\"\nat = { n = 2 }\nfrom = { n = 1 }\nmax = 2";
    assert_eq!(judge(ratio, &values).verdict, Verdict::Reproduced);
    // The same from a random study is one value without an interval, which proves nothing.
    assert_eq!(judge(ratio, &study(&[(1.0, &[31.73e6]), (2.0, &[60e6])])).verdict, Verdict::NotMeasured);
}

#[test]
fn the_ends_of_a_range_have_all_digits() {
    let expected = |lines: &str| by_equation(lines).judge("p", None, None, None).expected;
    assert_eq!(expected("min = 1181.5\nmax = 1182.5\nunit = \"cells\""), "1181.5 to 1182.5 cells");
    assert_eq!(expected("published = 1.47\nwithin = 0.005"), "1.46265 to 1.47735");
    assert_eq!(expected("published = 32\nwithin = 0.0"), "32");
    assert_eq!(expected("measure = \"least\"\nmin = 3\nmax = 3"), "least: 3");
    assert_eq!(expected("measure = \"most\"\nmax = 0.5"), "most: at most 0.5");
    assert_eq!(expected("min = -0.05\nmax = 0"), "-0.05 to 0");
}

#[test]
fn a_row_that_contradicts_itself_is_found() {
    assert_eq!(by_equation("published = 1\nwithin = 0.1").faults(), Vec::<&str>::new());
    for (lines, fault) in [
        ("published = 1", "it accepts anything: within, min or max is missing"),
        ("within = 0.1", "within needs a published number"),
        (
            "published = 1\nwithin = -0.1",
            "within is not a number of at least 0; accepted: a share of the published number such as 0.05",
        ),
        (
            "published = 1\nwithin = nan",
            "within is not a number of at least 0; accepted: a share of the published number such as 0.05",
        ),
        ("published = 0\nwithin = 0.1", "within is a share of the published number, which is 0; accepted: min and max"),
        (
            "published = 1\nwithin = 0.1\nmin = 0",
            "it has within, and min or max; accepted: within alone, or min and max",
        ),
        ("min = 2\nmax = 1", "min is above max"),
        ("min = 2\nsource = \"simulate\"", "no study to be judged by"),
        ("min = 2\nstudy = \"s\"", "no subject or metric"),
        (
            "min = 2\nstudy = \"s\"\nsubject = \"x\"\nmetric = \"m\"\noutside-domain = true",
            "outside-domain, but no equation judges it",
        ),
        ("min = 2\nfitted = [\"\"]", "a parameter is empty"),
        (
            "min = 2\nmetric = \"goodput\"",
            "it has a figure of a study, and study is missing; accepted: study = \"...\", or no subject, metric, measure, \
             at, from, axis, threshold, where and scale",
        ),
        ("published = inf\nmin = 1", "published is not a finite number; accepted: a number such as 310"),
        ("published = nan\nmin = 1", "published is not a finite number; accepted: a number such as 310"),
        ("min = -inf", "min is not a finite number; accepted: a number such as 305, or no min"),
        ("max = nan", "max is not a finite number; accepted: a number such as 315, or no max"),
        (
            "min = 2\nstudy = \"s\"\nsubject = \"x\"\nmetric = \"m\"\nthreshold = inf",
            "threshold is not a finite number; accepted: a number such as 0.9",
        ),
        (
            "min = 2\nstudy = \"s\"\nsubject = \"x\"\nmetric = \"m\"\nmeasure = \"ratio\"",
            "its measure compares two points, and from is missing; accepted: from = {}",
        ),
        (
            "min = 2\nstudy = \"s\"\nsubject = \"x\"\nmetric = \"m\"\nmeasure = \"crossing\"\naxis = \"n\"",
            "a crossing needs an axis and a threshold",
        ),
    ] {
        assert_eq!(by_equation(lines).faults(), [fault], "{lines}");
    }
}

/// `--only` separates ids by commas.
#[test]
fn an_id_is_one_word() {
    for id in ["a,b", "a b", "a\nb"] {
        let mut row = by_equation("published = 1\nwithin = 0.1");
        row.id = id.to_owned();
        assert_eq!(
            row.faults(),
            ["its id has a comma, a space or a line break; accepted: an id such as fig-3"],
            "{id:?}"
        );
    }
}

#[test]
fn a_row_that_was_not_run_has_that_verdict_and_its_reason() {
    let lines = "form = \"number\"\nat = { n = 2 }\npublished = 5\nwithin = 0.5\npredict = { equation = \"e\" }";
    let prediction = || Some(Prediction { value: 5.0, equation: "e".to_owned(), caveats: Vec::new() });
    let none = StudyValues::of_none("no machine for it");
    let row = claim(lines).judge("p", Some(&none), Some(&none), prediction());
    assert_eq!((row.verdict, row.measured, &row.not_run[..]), (Verdict::NotRun, None, "no machine for it"));
    assert_eq!((&row.measured_text[..], row.deviation), ("not run", None), "the equation does not stand in for it");
    // A point that was given up takes its rows with it, and no others.
    let mut values = study(&[(1.0, &[5.0, 5.0])]);
    let axes = vec![("n".to_owned(), AxisValue::Number(2.0)), ("kind".to_owned(), AxisValue::Text("a".to_owned()))];
    let key = RunKey { run: 2, point: 1, seed: 1, axes };
    assert!(!values.is_left_out(&key));
    values.leave_out(&key, "too late".to_owned());
    assert!(values.is_left_out(&key));
    let row = claim(lines).judge("p", Some(&values), Some(&values), prediction());
    assert_eq!((row.verdict, &row.not_run[..]), (Verdict::NotRun, "too late"));
    let row = judge(&lines.replace("n = 2", "n = 1").replace("predict", "#"), &values);
    assert_eq!((row.verdict, row.measured, &row.not_run[..]), (Verdict::Reproduced, Some(5.0), ""));
    // Also as the other point, and if an equation is judged.
    let ratio = "form = \"trend\"\nmeasure = \"ratio\"\nat = { n = 1 }\nfrom = { n = 2 }\nmin = 1";
    assert_eq!(judge(ratio, &values).verdict, Verdict::NotRun);
    let row = claim(&format!("{lines}\nsource = \"predict\"")).judge("p", Some(&none), Some(&none), prediction());
    assert_eq!((row.verdict, row.deviation), (Verdict::Reproduced, Some(0.0)));
}

#[test]
fn an_emulated_value_is_not_called_simulated() {
    let values = study(&[(1.0, &[2.0, 2.0])]);
    let mut emulated = claim("form = \"number\"\nat = { n = 1 }\nmin = 1\nmax = 3");
    let mut measured = emulated.clone();
    emulated.resolve(|_| Source::Emulate);
    let row = emulated.judge("p", Some(&values), Some(&values), None);
    assert_eq!((row.source, row.simulated, row.emulated, row.measured), (Source::Emulate, None, Some(2.0), Some(2.0)));
    assert_eq!(serde_json::to_value(&row).unwrap()["source"], "emulate");
    measured.resolve(|_| Source::Measure);
    let row = measured.judge("p", Some(&values), Some(&values), None);
    assert_eq!((row.source, row.simulated, row.emulated, row.measured), (Source::Measure, None, None, Some(2.0)));
    assert_eq!((row.verdict, &serde_json::to_value(&row).unwrap()["source"]), (Verdict::Reproduced, &"measure".into()));
}
