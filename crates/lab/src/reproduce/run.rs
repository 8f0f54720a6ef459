//! Running the studies of papers, all in one row, and judging their claims.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cellway_record::{Counts, RunKey, RunRecord};
use cellway_scenario::{Plan, Run};
use cellway_tables::{Provenance, ResultFolder, ResultsBuilder};

use super::claim::Claim;
use super::live::{Live, obstacle};
use super::paper::Paper;
use super::predicted::Prediction;
use super::row::{ClaimRow, Tally, Verdict, tally};
use super::select::{Selected, select};
use super::studies::{Studies, Study};
use super::values::{Figure, StudyValues};
use super::write::{Entry, write_index, write_paper};
use crate::batch::Batch;
use crate::error::Error;
use crate::left_out::LeftOut;
use crate::simulate::Stopwatch;
use crate::study::{Prepared, Progress, Settings};
use crate::transient::{ENOUGH_SEEDS, TransientCheck};

/// The options of a reproduction.
#[derive(Default)]
pub struct ReproduceOptions<'a> {
    /// The requested claims, with the studies that they need: ids, beginnings of ids, or patterns with `*`, each
    /// optionally after `PAPER/`. All claims and studies if empty.
    pub only: &'a [String],
    /// Fewer replications.
    pub quick: bool,
    /// The treatment of emulated studies.
    pub live: Live,
    /// The result folder; nothing is written if absent. A single paper is written into the folder itself, several into
    /// one folder each in it, with `index.json` next to them.
    pub out: Option<&'a Path>,
    /// True if an earlier result there may be replaced.
    pub force: bool,
}

/// The results.
#[derive(Debug)]
pub struct Reproduced {
    /// In the order of the request; papers without requested claims are left out.
    pub papers: Vec<PaperResult>,
    /// True if fewer replications were run.
    pub quick: bool,
    /// The time at which it began, as RFC 3339 text.
    pub started: String,
    /// Seconds of running, writing included.
    pub wall_seconds: f64,
    /// Runs.
    pub runs: u64,
    /// The work done.
    pub counts: Counts,
    /// True if runs came from a store, or were the same as others: the time says nothing of the speed.
    pub reuses_runs: bool,
    /// The path of the result folder.
    pub folder: Option<PathBuf>,
}

/// The results of one paper.
#[derive(Debug)]
pub struct PaperResult {
    /// Its short name.
    pub paper: &'static str,
    /// Its title.
    pub title: String,
    /// The citation of the paper.
    pub citation: String,
    /// The finding of the paper, in one sentence; may be empty.
    pub finding: String,
    /// The experiment of the paper; may be empty.
    pub experiment: String,
    /// Notes for the reader of the verdicts.
    pub remarks: Vec<String>,
    /// One row per claim, in the order of the paper.
    pub claims: Vec<ClaimRow>,
    /// The warnings to check before trusting the numbers.
    pub warnings: Vec<String>,
    /// Seconds that its runs took.
    pub wall_seconds: f64,
    /// Runs.
    pub runs: u64,
    /// The work done.
    pub counts: Counts,
}

/// A study about to run.
struct Job {
    /// Place of its paper among those at work.
    paper: usize,
    label: String,
    study: Study,
    plan: Plan,
    ready: Prepared,
}

/// A paper at work.
struct Work {
    selected: Selected,
    about: PaperResult,
    predictions: Vec<Option<Prediction>>,
    /// The folder of its files.
    folder: Option<ResultFolder>,
    /// The run settings of the first study.
    run: Option<Run>,
    /// True if one of its runs was the same as another, and not run again.
    reuses_runs: bool,
    studies: Vec<Entry>,
    values: BTreeMap<String, StudyValues>,
}

/// A study that is running.
struct Open {
    builder: ResultsBuilder,
    /// Runs whose records it has.
    runs: u64,
    transient: TransientCheck,
    left_out: LeftOut,
    values: StudyValues,
    clock: Stopwatch,
}

/// Runs the studies of `papers` and judges their claims.
pub fn reproduce(
    papers: &[&'static Paper],
    options: &ReproduceOptions<'_>,
    settings: &mut Settings<'_>,
) -> Result<Reproduced, Error> {
    let clock = Stopwatch::start();
    let selected = select(papers, options.only)?;
    selected.iter().try_for_each(Selected::check_names)?;
    // The folder is claimed first, so that a long run does not end in a refusal.
    let mut out = options.out.map(|out| ResultFolder::create(out, options.force)).transpose()?;
    let several = papers.len() != 1;
    let mut works = Vec::new();
    let mut jobs = Vec::new();
    for selected in selected {
        let folder = match &out {
            Some(out) if several => Some(ResultFolder::create(&out.path().join(selected.paper.name), false)?),
            _ if several => None,
            _ => out.take(),
        };
        let (work, studies) = Work::new(selected, folder)?;
        for study in studies {
            jobs.push(Job::new(works.len(), several, &work, study, options.quick)?);
        }
        works.push(work);
    }
    let (emulated, jobs): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(|job| job.study.is_emulated());
    let (threads, store) = (settings.threads, settings.store);
    let batch = Batch::new(jobs.iter().map(|job| (&job.label[..], &job.ready)));
    let repeating = batch.with_repeats();
    let from_store = || store.is_some_and(|store| store.served() > 0);
    let mut open: Option<Open> = None;
    batch.run_all(settings, |place, key, record| {
        let job = &jobs[place];
        let running = open.get_or_insert_with(|| Open::new(job, &works[job.paper]));
        let last = u64::from(key.run) + 1 == job.ready.runs();
        running.add(job, key, record)?;
        match open.take_if(|_| last) {
            Some(done) => {
                works[job.paper].reuses_runs |= repeating.contains(&place);
                works[job.paper].add(job, done, threads, from_store() || repeating.contains(&place))
            }
            None => Ok(()),
        }
    })?;
    // Simulations use all cores; a parallel emulation would be late.
    emulate_all(&emulated, &mut works, options, settings)?;
    let mut result = Reproduced {
        papers: Vec::new(),
        quick: options.quick,
        started: clock.started(),
        wall_seconds: 0.0,
        runs: 0,
        counts: Counts::default(),
        reuses_runs: from_store() || !repeating.is_empty(),
        folder: options.out.map(Path::to_owned),
    };
    for work in works {
        let reuses_runs = work.reuses_runs || from_store();
        let done = work.finish(options.quick, &clock, threads, reuses_runs)?;
        result.runs += done.runs;
        result.counts.add(done.counts);
        result.papers.push(done);
    }
    result.wall_seconds = clock.seconds();
    if let Some(folder) = out {
        write_index(folder, papers, &result, &clock, threads)?;
    }
    Ok(result)
}

/// Emulates the studies of `jobs`, or records the reason why not.
fn emulate_all(
    jobs: &[Job],
    works: &mut [Work],
    options: &ReproduceOptions<'_>,
    settings: &mut Settings<'_>,
) -> Result<(), Error> {
    // To find out takes a child process.
    let obstacle = if jobs.is_empty() { None } else { obstacle(options) };
    if let Some(reason) = obstacle {
        for job in jobs {
            works[job.paper].values.insert(job.study.id.clone(), StudyValues::of_none(&reason));
        }
        return Ok(());
    }
    let total = jobs.iter().map(|job| job.ready.runs()).sum();
    let mut before = 0;
    for job in jobs {
        let work = &mut works[job.paper];
        let mut running = Open::new(job, work);
        for index in 0..job.ready.runs() {
            let study = [index, job.ready.runs()];
            (settings.progress)(Progress { label: &job.label, done: before + index, total, study });
            emulate_one(job, index, work, &mut running, settings)?;
        }
        before += job.ready.runs();
        let study = [job.ready.runs(); 2];
        (settings.progress)(Progress { label: &job.label, done: before, total, study });
        match running.runs {
            0 => drop(work.values.insert(job.study.id.clone(), running.values)),
            _ => work.add(job, running, Some(1), false)?,
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn emulate_one(
    job: &Job,
    index: u64,
    work: &mut Work,
    running: &mut Open,
    settings: &mut Settings<'_>,
) -> Result<(), Error> {
    use super::live::runs::{Outcome, attempt};
    let key = job.ready.key(index);
    // A host that was too slow for one repeat would only delay the others.
    if running.values.is_left_out(&key) {
        return Ok(());
    }
    match attempt(&job.ready, index, settings)? {
        Outcome::Done(record, warnings) => {
            let message = warnings.into_iter().map(|warning| format!("{}, run {}: {warning}", job.study.id, key.run));
            work.about.warnings.extend(message);
            running.add(job, key, *record)
        }
        Outcome::Failed(reason) => {
            work.about.warnings.push(format!("{}, run {}: {reason}", job.study.id, key.run));
            running.values.leave_out(&key, reason);
            Ok(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn emulate_one(_: &Job, _: u64, _: &mut Work, _: &mut Open, _: &mut Settings<'_>) -> Result<(), Error> {
    unreachable!("where there is no emulation, its obstacle is reported")
}

impl Job {
    fn new(paper: usize, several: bool, work: &Work, study: Study, quick: bool) -> Result<Job, Error> {
        let name = work.selected.paper.name;
        let plan = work.selected.paper.plan(&study, quick)?;
        let ready = Prepared::new(&plan, Path::new("."), Some(study.seeds(quick)))?;
        let label = if several { format!("{name}: {}", study.title) } else { study.title.clone() };
        Ok(Job { paper, label, study, plan, ready })
    }
}

impl Work {
    /// Creates the work for a paper with the studies that it needs.
    fn new(selected: Selected, folder: Option<ResultFolder>) -> Result<(Work, Vec<Study>), Error> {
        let Studies { title, citation, finding, experiment, remarks, study, .. } = selected.paper.studies();
        let predictions = selected.claims.iter().map(Claim::predicted).collect::<Result<_, _>>()?;
        let about = PaperResult {
            paper: selected.paper.name,
            title,
            citation,
            finding,
            experiment,
            remarks,
            claims: Vec::new(),
            warnings: Vec::new(),
            wall_seconds: 0.0,
            runs: 0,
            counts: Counts::default(),
        };
        let needed = study.into_iter().filter(|study| selected.needs(&study.id)).collect();
        let (studies, values) = (Vec::new(), BTreeMap::new());
        let (run, reuses_runs) = (None, false);
        Ok((Work { selected, about, predictions, folder, run, reuses_runs, studies, values }, needed))
    }

    /// Adds a finished study: writes its tables and keeps its figures.
    fn add(&mut self, job: &Job, done: Open, threads: Option<usize>, reuses_runs: bool) -> Result<(), Error> {
        let Job { study, plan, ready, .. } = job;
        let run = plan.base().run;
        self.run = self.run.or(Some(run));
        // One deterministic run has no replications to detect a transient, nor have the few repeats of an emulation. That a
        // quick run has too few is known.
        let too_quick = ready.seeds() < study.seeds(false).min(ENOUGH_SEEDS);
        let unchecked = study.deterministic || study.is_emulated() || too_quick;
        if let Some(warning) = done.transient.warning(ready.points(), ready.seeds()).filter(|_| !unchecked) {
            self.about.warnings.push(format!("{}: {warning}", study.id));
        }
        if let Some(warning) = done.left_out.warning() {
            self.about.warnings.push(format!("{}: {warning}", study.id));
        }
        let results = done.builder.finish()?;
        if let Some(folder) = &self.folder {
            let text = plan.base().to_toml();
            let about = done.clock.provenance(&text, Some(&run), ready.seeds(), ready.points().len(), threads);
            let about = Provenance { reuses_runs, ..about };
            results.write(&folder.path().join("tables").join(&study.id), false, &about)?;
        }
        self.about.runs += done.runs;
        self.about.counts.add(results.counts);
        self.about.wall_seconds += done.clock.seconds();
        let axes = ready.points().next().map(|p| p.axes.iter().map(|(name, _)| name.clone()).collect());
        self.studies.push(Entry {
            id: study.id.clone(),
            title: study.title.clone(),
            folder: format!("tables/{}", study.id),
            driver: study.driver,
            deterministic: study.deterministic,
            seeds: ready.seeds(),
            points: ready.points().len(),
            axes: axes.unwrap_or_default(),
        });
        self.values.insert(study.id.clone(), done.values);
        Ok(())
    }

    /// Judges the claims after all studies have run, and writes everything.
    fn finish(
        mut self,
        quick: bool,
        clock: &Stopwatch,
        threads: Option<usize>,
        reuses_runs: bool,
    ) -> Result<PaperResult, Error> {
        let values = &self.values;
        let of = |id: &Option<String>| id.as_ref().and_then(|id| values.get(id));
        let claims = self.selected.claims.iter().zip(self.predictions);
        self.about.claims = claims
            .map(|(claim, predicted)| {
                let from = claim.from_study.as_ref().or(claim.study.as_ref()).cloned();
                claim.judge(self.selected.paper.name, of(&claim.study), of(&from), predicted)
            })
            .collect();
        let silent = |row: &&ClaimRow| {
            row.verdict == Verdict::NotReproduced && row.tried.is_empty() && row.unexplained.is_empty()
        };
        for row in self.about.claims.iter().filter(silent) {
            let warning = format!(
                "{}: it does not reproduce, and its row says neither what was tried nor what is unexplained",
                row.id
            );
            self.about.warnings.push(warning);
        }
        if let Some(folder) = self.folder {
            let points = self.studies.iter().map(|s| s.points).sum();
            let seeds = self.studies.iter().map(|s| s.seeds).max().unwrap_or_default();
            let text = self.selected.paper.studies_text();
            let mut about: Provenance = clock.provenance(text, self.run.as_ref(), seeds, points, threads);
            about.wall_seconds = self.about.wall_seconds;
            about.reuses_runs = reuses_runs;
            about.warnings.clone_from(&self.about.warnings);
            write_paper(folder, &self.about, self.selected.paper.recipe(), self.studies, quick, &about)?;
        }
        Ok(self.about)
    }
}

impl Open {
    fn new(job: &Job, work: &Work) -> Open {
        let wanted = work.selected.claims.iter().flat_map(Claim::figures);
        let wanted: BTreeSet<Figure> = wanted.filter(|(id, _)| *id == job.study.id).map(|(_, f)| f).collect();
        Open {
            builder: ResultsBuilder::new(job.study.driver.source().recorded()),
            runs: 0,
            transient: TransientCheck::default(),
            left_out: LeftOut::default(),
            values: StudyValues::new(wanted, job.study.deterministic),
            clock: Stopwatch::start(),
        }
    }

    fn add(&mut self, job: &Job, key: RunKey, mut record: RunRecord) -> Result<(), Error> {
        let scenario = job.ready.points().nth(key.point as usize).map(|point| &point.scenario);
        let mut theory = RunRecord::default();
        if let (Some(theories), Some(scenario)) = (job.study.theory, scenario) {
            let additions = theories.additions(scenario, &record)?;
            record.summary.extend(additions.simulated);
            theory = additions.theory;
        }
        self.transient.add(&key, &record);
        self.values.add(&key, &record);
        if job.study.series {
            self.left_out.add(&record);
        } else {
            record.series.clear();
            theory.series.clear();
        }
        self.builder.push(key.clone(), &record)?;
        self.builder.add(cellway_record::Source::Theory, &theory)?;
        self.values.add_theory(&key, &theory);
        self.runs += 1;
        Ok(())
    }
}

impl Reproduced {
    /// Returns the rows of all papers.
    pub fn claims(&self) -> impl Iterator<Item = &ClaimRow> {
        self.papers.iter().flat_map(|paper| &paper.claims)
    }

    /// Returns the rows as JSON, one list for all papers.
    pub fn claims_json(&self) -> String {
        let rows: Vec<&ClaimRow> = self.claims().collect();
        serde_json::to_string_pretty(&rows).expect("plain data has a JSON form")
    }

    /// Returns the number of claims with each verdict.
    pub fn tally(&self) -> Tally {
        tally(self.claims())
    }

    /// Returns the warnings to check before trusting the numbers; after the name of the paper if there are several.
    pub fn warnings(&self) -> Vec<String> {
        let message = |paper: &PaperResult, warning: &String| match self.papers.len() {
            1 => warning.clone(),
            _ => format!("{}: {warning}", paper.paper),
        };
        self.papers.iter().flat_map(|paper| paper.warnings.iter().map(|warning| message(paper, warning))).collect()
    }
}
