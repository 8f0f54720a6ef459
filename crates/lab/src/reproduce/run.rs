//! Running a paper's studies into one result folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cellway_record::{Counts, Provenance, ResultFolder, ResultsBuilder};
use serde::Serialize;

use super::claim::{ClaimRow, Verdict};
use super::paper::{Paper, Studies, Study};
use super::values::{Figure, StudyValues};
use crate::error::Error;
use crate::simulate::Stopwatch;
use crate::study::{Prepared, Settings, VERSION, run_all};
use crate::transient::TransientCheck;

/// What to run and where to put it.
pub struct ReproduceOptions<'a> {
    /// Fewer replications.
    pub quick: bool,
    /// The result folder; nothing is written if absent.
    pub out: Option<&'a Path>,
    /// Whether an earlier result there may be replaced.
    pub force: bool,
}

/// What came out.
#[derive(Debug)]
pub struct Reproduced {
    /// One row per claim, in the order of the paper.
    pub claims: Vec<ClaimRow>,
    /// What a reader should check before trusting the numbers.
    pub warnings: Vec<String>,
    /// Seconds of running, writing included.
    pub wall_seconds: f64,
    /// Runs.
    pub runs: u64,
    /// The work done.
    pub counts: Counts,
    /// Where the result folder stands.
    pub folder: Option<PathBuf>,
}

/// `study.json`.
#[derive(Serialize)]
struct Index<'a> {
    paper: &'a str,
    title: &'a str,
    citation: &'a str,
    version: &'a str,
    quick: bool,
    started: String,
    wall_seconds: f64,
    host: String,
    threads: u32,
    runs: u64,
    cell_hops: u64,
    cell_hops_per_second: f64,
    studies: Vec<Entry>,
    /// What a reader must know before reading the verdicts.
    remarks: &'a [String],
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Entry {
    id: String,
    title: String,
    folder: String,
    seeds: u64,
    points: usize,
    axes: Vec<String>,
}

/// Runs all studies of `paper` and judges its claims.
pub fn reproduce(
    paper: &Paper,
    options: &ReproduceOptions<'_>,
    settings: &mut Settings<'_>,
) -> Result<Reproduced, Error> {
    let clock = Stopwatch::start();
    let Studies { title, citation, remarks, study: studies } = paper.studies();
    let claims = paper.claims();
    // The folder is claimed first, so that a long run does not end in a refusal.
    let folder = options.out.map(|out| ResultFolder::create(out, options.force)).transpose()?;
    let mut prepared = Vec::new();
    for study in studies {
        let plan = paper.plan(&study, options.quick)?;
        let seeds = if options.quick { study.quick_seeds } else { study.seeds };
        let ready = Prepared::new(&plan, Path::new("."), Some(seeds))?;
        prepared.push((study, plan, ready));
    }
    let total = prepared.iter().map(|(_, _, ready)| ready.runs()).sum();
    let mut finished = Finished { total, ..Finished::default() };
    for (study, plan, ready) in prepared {
        let wanted = claims.iter().flat_map(|claim| claim.figures());
        let wanted: BTreeSet<Figure> = wanted.filter(|(id, _)| *id == study.id).map(|(_, figure)| figure).collect();
        let scenario = plan.base().to_toml();
        let run = plan.base().run;
        finished.run = finished.run.or(Some(run));
        let tables = folder.as_ref().map(|folder| folder.path().join("tables").join(&study.id));
        let about = |clock: &Stopwatch, seeds, points, settings: &Settings<'_>| {
            clock.provenance(&scenario, &run, seeds, points, settings)
        };
        finished.add(study, ready, StudyValues::new(wanted), tables.as_deref(), settings, about)?;
    }
    let values = &finished.values;
    let rows: Vec<ClaimRow> = claims
        .iter()
        .map(|claim| {
            let from = claim.from_study.as_ref().unwrap_or(&claim.study);
            claim.judge(values.get(&claim.study), values.get(from))
        })
        .collect();
    let wall_seconds = clock.seconds();
    let runs = finished.runs;
    if let Some(mut folder) = folder {
        let points = finished.studies.iter().map(|s| s.points).sum();
        let seeds = finished.studies.iter().map(|s| s.seeds).max().unwrap_or_default();
        let about = clock.provenance(
            paper.studies_text(),
            &finished.run.expect("a paper has a study"),
            seeds,
            points,
            settings,
        );
        let index = Index {
            paper: paper.name,
            title: &title,
            citation: &citation,
            version: VERSION,
            quick: options.quick,
            started: clock.started(),
            wall_seconds,
            host: about.host.clone(),
            threads: about.threads,
            runs,
            cell_hops: finished.counts.cell_hops,
            cell_hops_per_second: finished.counts.cell_hops as f64 / wall_seconds,
            studies: std::mem::take(&mut finished.studies),
            remarks: &remarks,
            warnings: &finished.warnings,
        };
        write_json(&mut folder, "study.json", &index)?;
        write_json(&mut folder, "claims.json", &rows)?;
        folder.commit(&about, runs, finished.counts)?;
    }
    Ok(Reproduced {
        claims: rows,
        warnings: finished.warnings,
        wall_seconds: clock.seconds(),
        runs,
        counts: finished.counts,
        folder: options.out.map(Path::to_owned),
    })
}

fn write_json(folder: &mut ResultFolder, name: &str, content: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(content).expect("plain data has a JSON form");
    Ok(folder.write_text(name, &(text + "\n"))?)
}

/// The studies that have run.
#[derive(Default)]
struct Finished {
    total: u64,
    runs: u64,
    /// How the first study runs.
    run: Option<cellway_scenario::Run>,
    counts: Counts,
    studies: Vec<Entry>,
    values: BTreeMap<String, StudyValues>,
    warnings: Vec<String>,
}

impl Finished {
    fn add(
        &mut self,
        study: Study,
        ready: Prepared,
        mut values: StudyValues,
        tables: Option<&Path>,
        settings: &mut Settings<'_>,
        about: impl Fn(&Stopwatch, u64, usize, &Settings<'_>) -> Provenance,
    ) -> Result<(), Error> {
        let clock = Stopwatch::start();
        let (before, total) = (self.runs, self.total);
        let mut builder = ResultsBuilder::new("simulate");
        let mut transient = TransientCheck::default();
        let progress = &mut *settings.progress;
        let mut within = Settings {
            threads: settings.threads,
            progress: &mut |p| progress(crate::Progress { done: before + p.done, total, ..p }),
            stop: &mut *settings.stop,
        };
        run_all(&ready, &study.title, &mut within, |key, record| {
            values.add(&key, &record);
            transient.add(&key, &record);
            Ok(builder.push(key, &record)?)
        })?;
        if let Some(warning) = transient.warning(ready.points(), ready.seeds()) {
            self.warnings.push(format!("{}: {warning}", study.id));
        }
        let results = builder.finish()?;
        self.runs += ready.runs();
        self.counts.add(results.counts);
        if let Some(tables) = tables {
            let about = about(&clock, ready.seeds(), ready.points().len(), settings);
            results.write(tables, false, &about)?;
        }
        let axes = ready.points().next().map(|p| p.axes.iter().map(|(name, _)| name.clone()).collect());
        self.studies.push(Entry {
            folder: format!("tables/{}", study.id),
            title: study.title,
            seeds: ready.seeds(),
            points: ready.points().len(),
            axes: axes.unwrap_or_default(),
            id: study.id.clone(),
        });
        self.values.insert(study.id, values);
        Ok(())
    }
}

impl Reproduced {
    /// The rows as JSON: the content of `claims.json`.
    pub fn claims_json(&self) -> String {
        serde_json::to_string_pretty(&self.claims).expect("plain data has a JSON form")
    }

    /// How many claims had each verdict: reproduced, shape, undecided, not reproduced, not measured.
    pub fn tally(&self) -> [usize; 5] {
        let count = |verdict| self.claims.iter().filter(|c| c.verdict == verdict).count();
        [Verdict::Reproduced, Verdict::Shape, Verdict::Undecided, Verdict::NotReproduced, Verdict::NotMeasured]
            .map(count)
    }
}
