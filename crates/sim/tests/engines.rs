//! Both engines have the same record, row by row, of the first points of every scenario file of the repository.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};

use cellway_record::RunRecord;
use cellway_scenario::{Engine, Plan};
use cellway_sim::Control;
use cellway_units::Span;

/// The length of the runs: each begins its transfers, loses packets and has answers.
const SHORT: Span = Span::from_secs(4);

/// Points of each file.
const POINTS: usize = 3;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the scenario files in a folder.
fn files(folder: &str) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = listed.filter(|path| path.extension().is_some_and(|kind| kind == "toml")).collect();
    files.retain(|path| !path.ends_with("expected.toml") && !path.ends_with("study.toml"));
    files.sort();
    files
}

fn run(scenario: &cellway_scenario::Scenario, folder: &Path, engine: Engine) -> RunRecord {
    let mut scenario = scenario.clone();
    scenario.run.duration = scenario.run.duration.min(SHORT);
    scenario.run.warmup = scenario.run.warmup.min(Span::from_secs(1));
    scenario.run.engine = engine;
    common::read_traces(&mut scenario, folder);
    let workloads = common::workloads_in(&mut scenario, folder);
    cellway_sim::run(&scenario, &workloads, 1, Control::new(&|| false)).unwrap()
}

/// Runs the first points of all files in a folder with both engines; returns the number of points.
fn agree(folder: &str) -> usize {
    let mut points = 0;
    for path in files(folder) {
        let text = std::fs::read_to_string(&path).unwrap();
        let plan = Plan::parse(&text, &path.display().to_string()).unwrap_or_else(|e| panic!("{e}"));
        for point in plan.points().unwrap().iter().take(POINTS) {
            let records =
                [Engine::Cells, Engine::Windows].map(|engine| run(&point.scenario, path.parent().unwrap(), engine));
            let [cells, windows] = &records;
            let rows = |record: &RunRecord| record.summary.iter().chain(&record.series).cloned().collect::<Vec<_>>();
            let different = rows(cells).into_iter().zip(rows(windows)).find(|(a, b)| a != b);
            assert_eq!(different, None, "{} {:?}", path.display(), point.axes);
            assert_eq!(cells, windows, "{} {:?}", path.display(), point.axes);
            points += 1;
        }
    }
    points
}

#[test]
fn the_example_scenarios() {
    assert!(agree("scenarios") > 20);
}

#[test]
fn the_papers_of_loads() {
    assert!(agree("papers/cellsim") + agree("papers/spacing") > 5);
}

#[test]
fn the_papers_of_gateways() {
    assert!(agree("papers/kdd") + agree("papers/magic") > 5);
}

#[test]
fn the_papers_of_services() {
    assert!(agree("papers/nasa") + agree("papers/bbr") + agree("papers/l4s") > 5);
}
