//! Checks of the built-in papers: their files are well formed, and everything that their claims name exists.

use std::collections::{BTreeMap, BTreeSet};

use cellway_record::{RunKey, RunRecord};
use cellway_scenario::{App, Point};

use super::claim::{Claim, Source};
use super::judging::row;
use super::paper::{Paper, papers};
use super::row::{ClaimRow, Verdict};
use super::studies::Study;
use super::values::{Figure, StudyValues};
use crate::study::axis_value;

/// Returns true if conversations are drawn from tcplib's distributions: a short run then has the figures of a long one.
fn drawn(point: &Point) -> bool {
    let tcplib = |app: &App| matches!(app, App::Ftp { .. } | App::Nntp { .. } | App::Smtp { .. } | App::Telnet { .. });
    point.scenario.traffic.iter().any(|traffic| traffic.app().is_some_and(tcplib))
}

/// Returns two short runs of a point.
fn run_point(point: &mut Point, deterministic: bool) -> Vec<(u64, RunRecord)> {
    let scenario = &mut point.scenario;
    (scenario.run.duration, scenario.run.warmup) = (scenario.run.rtt * 100, scenario.run.rtt * 20);
    (scenario.observe.interval, scenario.observe.fairness_window) = (scenario.run.rtt * 20, scenario.run.rtt * 20);
    let workloads: Vec<_> = scenario.traffic.iter().map(|t| cellway_sim::workload(t, None).unwrap()).collect();
    let seeds: &[u64] = if deterministic { &[1] } else { &[1, 2] };
    let run = |seed| {
        let control = cellway_sim::Control::new(&|| false);
        cellway_sim::run(scenario, &workloads, seed, control).unwrap()
    };
    seeds.iter().map(|&seed| (seed, run(seed))).collect()
}

/// Returns the figures of the points of a study that claims use, from short runs. `seen` is set if a run had TELNET's
/// delays.
fn values_of(paper: &Paper, study: &Study, claims: &[Claim], quick: bool, seen: &mut [bool; 2]) -> StudyValues {
    let wanted = claims.iter().flat_map(Claim::figures).filter(|(id, _)| *id == study.id);
    let wanted: BTreeSet<Figure> = wanted.map(|(_, figure)| figure).collect();
    let mut values = StudyValues::new(wanted.clone(), study.deterministic);
    let mut points = paper.plan(study, quick).unwrap().points().unwrap();
    let key = |point: &Point, seed| {
        let axes = point.axes.iter().map(|(name, value)| (name.clone(), axis_value(value))).collect();
        RunKey { run: 0, point: point.index as u32, seed, axes }
    };
    points.iter().for_each(|point| values.add(&key(point, 1), &RunRecord::default()));
    let places = claims.iter().flat_map(|claim| claim.places()).filter(|(id, _)| *id == study.id);
    let looked_at: BTreeSet<usize> = places.flat_map(|(_, at)| values.points_at(at)).collect();
    for point in points.iter_mut().filter(|p| looked_at.contains(&p.index)) {
        for (seed, mut record) in run_point(point, study.deterministic) {
            // So short a run may contain no keystroke: the figure is then absent, not misnamed.
            let telnet = point.scenario.traffic.iter().any(|t| t.name == "telnet" && t.count > 0);
            for (metric, seen) in ["delay_mean_rtt", "delay_sd_rtt"].into_iter().zip(seen.iter_mut()) {
                let has = record.summary.iter().any(|r| &*r.subject == "telnet-1" && r.metric == metric);
                *seen |= has;
                if telnet && !has {
                    record.summary.push(row("telnet-1", metric, 1.0));
                }
            }
            values.add(&key(point, seed), &record);
        }
    }
    values
}

fn assert_every_claim_is_measured(quick: bool) {
    let mut seen = [false; 2];
    for paper in papers() {
        // A plan that is not right is found by the test of the files.
        let points = |study: &Study| paper.plan(study, quick).ok()?.points().ok();
        let short =
            |study: &Study| !study.is_emulated() && points(study).is_some_and(|points| points.iter().all(drawn));
        let short: Vec<String> = paper.studies().study.into_iter().filter(short).map(|study| study.id).collect();
        let measurable = |claim: &Claim| {
            let figures = claim.figures();
            !figures.is_empty() && figures.iter().all(|(id, _)| short.iter().any(|known| known == id))
        };
        let claims: Vec<Claim> = paper.claims().into_iter().filter(measurable).collect();
        let studies = paper.studies().study.into_iter();
        let used = |study: &Study| claims.iter().flat_map(Claim::figures).any(|(id, _)| *id == study.id);
        let values: BTreeMap<String, StudyValues> = studies
            .filter(used)
            .map(|study| (study.id.clone(), values_of(paper, &study, &claims, quick, &mut seen)))
            .collect();
        for claim in &claims {
            let [study, from] = [claim.study.as_ref(), claim.from_study.as_ref().or(claim.study.as_ref())]
                .map(|id| values.get(id.unwrap()).unwrap_or_else(|| panic!("{}: no study {id:?}", claim.id)));
            let row = claim.judge(paper.name, Some(study), Some(from), None);
            assert_ne!(row.measured_text, "not measured", "{}: no such subject, metric or point", claim.id);
        }
    }
    assert_eq!(seen, [true; 2], "no run has the delays of telnet-1");
}

/// Runs of transfers cannot be shortened without losing their figures: for those, only the names of a claim are compared
/// with the scenario.
#[test]
fn every_claim_names_a_study_subject_and_point_that_exist() {
    let mut faults = Vec::new();
    for (paper, quick) in papers().iter().flat_map(|paper| [(paper, false), (paper, true)]) {
        let studies = paper.studies().study;
        let claims = paper.claims();
        for study in &studies {
            let points = match paper.plan(study, quick).and_then(|plan| Ok(plan.points()?)) {
                Ok(points) => points,
                Err(error) => {
                    faults.push(format!("{}/{}: {error}", paper.name, study.id));
                    continue;
                }
            };
            for claim in &claims {
                if let Some(unknown) = claim.unknown_name(study, &points) {
                    faults.push(format!("{}/{}: {unknown}", paper.name, claim.id));
                }
            }
        }
        let known = |id: &str| studies.iter().any(|study| study.id == id);
        for (claim, id) in claims.iter().flat_map(|c| c.figures().into_iter().map(move |(id, _)| (c, id))) {
            if !known(id) {
                faults.push(format!("{}/{}: no study {id:?}", paper.name, claim.id));
            }
        }
    }
    faults.dedup();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_claim_of_drawn_traffic_is_measured() {
    assert_every_claim_is_measured(false);
}

#[test]
fn a_quick_run_has_the_points_of_every_claim() {
    assert_every_claim_is_measured(true);
}

#[test]
fn the_files_of_all_papers_are_well_formed() {
    let names: Vec<&str> = papers().iter().map(|paper| paper.name).collect();
    assert_eq!(names, ["bbr", "cellsim", "kdd", "l4s", "magic", "nasa", "spacing"]);
    for paper in papers() {
        let studies = paper.studies();
        assert!(!studies.title.is_empty() && !studies.citation.is_empty(), "{}: no title or citation", paper.name);
        let mut ids = BTreeSet::new();
        for study in &studies.study {
            assert!(ids.insert(&study.id), "{}: two studies {}", paper.name, study.id);
            assert_eq!(study.faults(), Vec::<&str>::new(), "{}/{}", paper.name, study.id);
            let points = |quick: bool| match paper.plan(study, quick).and_then(|plan| Ok(plan.points()?.len())) {
                Ok(points) => points,
                Err(error) => panic!("{}/{}: {error}", paper.name, study.id),
            };
            let [full, quick] = [false, true].map(points);
            assert!(full >= quick && quick >= 1, "{}: {full} and {quick} points", study.id);
        }
        let claims = paper.claims();
        assert!(!claims.is_empty(), "{}: no claims", paper.name);
        let mut ids = BTreeSet::new();
        for claim in &claims {
            assert!(ids.insert(&claim.id), "{}: two claims {}", paper.name, claim.id);
            assert!(!claim.id.contains(['/', '*', ' ']), "{}: the id is not a plain word", claim.id);
            assert_eq!(claim.faults(), Vec::<&str>::new(), "{}/{}", paper.name, claim.id);
            assert_eq!(studies.fault_of(claim), None, "{}/{}", paper.name, claim.id);
            let placed = !claim.section.is_empty() || !claim.figure.is_empty();
            assert!(placed && claim.claim.ends_with('.'), "{}/{}: no place, or no sentence", paper.name, claim.id);
        }
    }
}

/// A claim about real gateways has a counterpart about those of the simulator: in the same network, at the same point.
#[test]
fn a_measured_row_has_a_simulated_counterpart() {
    let claims: Vec<Claim> = papers().iter().flat_map(Paper::claims).collect();
    let measured: Vec<&Claim> = claims.iter().filter(|claim| claim.source() == Source::Measure).collect();
    assert!(!measured.is_empty());
    for claim in measured {
        let counterpart = claims.iter().find(|other| other.id == format!("linux-{}", claim.id));
        let counterpart = counterpart.unwrap_or_else(|| panic!("{}: no simulated row", claim.id));
        assert_eq!((counterpart.range(), counterpart.published), (claim.range(), claim.published), "{}", claim.id);
        let study = |claim: &Claim| {
            let studies = papers().iter().find_map(|paper| {
                let study = paper.studies().study.into_iter().find(|study| Some(&study.id) == claim.study.as_ref());
                study.map(|study| study.scenario)
            });
            (studies, claim.subject.clone(), claim.metric.clone(), format!("{:?} {:?}", claim.at, claim.from))
        };
        assert_eq!(study(counterpart), study(claim), "{}", claim.id);
    }
}

/// Every equation of a claim can be computed, and claims judged by an equation alone are judged here.
#[test]
fn a_prediction_that_does_not_reproduce_is_explained() {
    let rows = papers().iter().flat_map(|paper| {
        let row = |claim: &Claim| claim.judge(paper.name, None, None, claim.predicted().unwrap());
        paper.claims().iter().map(row).collect::<Vec<_>>()
    });
    let predicted: Vec<ClaimRow> = rows.filter(|row| row.source == Source::Predict).collect();
    assert!(predicted.len() >= 10, "{} rows", predicted.len());
    for row in predicted {
        assert_ne!(row.verdict, Verdict::NotMeasured, "{}/{}", row.paper, row.id);
        let message = !row.tried.is_empty() || !row.unexplained.is_empty();
        assert!(row.verdict != Verdict::NotReproduced || message, "{}/{} is not explained", row.paper, row.id);
        assert!(row.verdict != Verdict::Reproduced || row.fitted.is_empty(), "{}/{} is fitted", row.paper, row.id);
    }
}

/// A caveat is accepted exactly in the rows that have one.
#[test]
fn a_row_says_that_its_equation_is_outside_its_domain_exactly_where_it_is() {
    let mut faults = Vec::new();
    for paper in papers() {
        for claim in paper.claims().iter().filter(|claim| claim.source() == Source::Predict) {
            let caveats = claim.predicted().unwrap().map(|p| p.caveats).unwrap_or_default();
            if claim.outside_domain == caveats.is_empty() {
                faults.push(format!("{}/{}: {caveats:?}", paper.name, claim.id));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The committed page has the verdicts of a whole run, which takes minutes: a row that did not reproduce there states
/// the attempts or that it is unexplained, and a row called reproduced was not fitted.
#[test]
fn a_row_of_the_page_that_did_not_reproduce_is_explained() {
    let page = include_str!("../../../../docs/validation/papers.md");
    let (mut rows, mut not) = (0, 0);
    for (name, section) in page.split("\n## ").skip(1).map(|s| s.split_once('\n').unwrap()) {
        let claims = Paper::find(name).unwrap().claims();
        let head = section.lines().find(|line| line.starts_with("| place ")).unwrap();
        let verdicts = head.split(" | ").position(|cell| cell == "verdict").unwrap();
        for line in section.lines().filter(|line| line.contains("` | ")) {
            let cells: Vec<&str> = line.split(" | ").collect();
            // A row of a claim that does not exist any more shows that the page is old, not that the papers' files are
            // wrong.
            let id = cells[1].rsplit('`').nth(1).unwrap();
            let Some(claim) = claims.iter().find(|claim| claim.id == id) else { continue };
            let verdict = cells[verdicts];
            rows += 1;
            not += usize::from(verdict == "**not reproduced**");
            let message = !claim.tried.is_empty() || !claim.unexplained.is_empty();
            assert!(verdict != "**not reproduced**" || message, "{name}/{id} did not reproduce and is not explained");
            assert!(verdict != "reproduced" || claim.fitted.is_empty(), "{name}/{id} is fitted");
        }
    }
    assert!(rows >= 50 && not >= 1, "the page has {rows} rows, {not} of them not reproduced");
}

#[test]
fn the_claims_of_cellsim_cover_the_paper() {
    let claims = Paper::find("cellsim").unwrap().claims();
    assert!(claims.len() >= 30, "{} claims", claims.len());
    for claim in &claims {
        assert!(claim.section.starts_with(|c: char| c.is_ascii_digit()), "{}: section {:?}", claim.id, claim.section);
    }
    // The contents of the paper: each figure from 2 to 9, and both sensitivity studies.
    for n in 2..=9 {
        let figure = format!("Figure {n}");
        assert!(claims.iter().any(|c| c.figure.contains(&figure) || c.figure.contains(&n.to_string())), "{figure}");
    }
    for section in ["3", "4", "5.1", "5.2", "6", "7"] {
        assert!(claims.iter().any(|c| c.section == section), "section {section}");
    }
}
