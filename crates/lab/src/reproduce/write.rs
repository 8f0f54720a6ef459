//! The JSON files of a result folder: `study.json` and `claims.json` of a paper, `index.json` of several.

use cellway_tables::{Provenance, ResultFolder};
use serde::Serialize;

use super::paper::{Paper, RECIPE};
use super::row::{ClaimRow, Tally, tally};
use super::run::{PaperResult, Reproduced};
use super::studies::Driver;
use crate::error::Error;
use crate::simulate::Stopwatch;
use crate::study::VERSION;

/// A study, as `study.json` lists it.
#[derive(Serialize)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) folder: String,
    pub(super) driver: Driver,
    pub(super) deterministic: bool,
    pub(super) seeds: u64,
    pub(super) points: usize,
    pub(super) axes: Vec<String>,
}

/// `study.json`.
#[derive(Serialize)]
struct PaperFile<'a> {
    paper: &'a str,
    title: &'a str,
    citation: &'a str,
    finding: &'a str,
    experiment: &'a str,
    version: &'a str,
    quick: bool,
    started: &'a str,
    wall_seconds: f64,
    host: &'a str,
    threads: u32,
    runs: u64,
    cell_hops: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell_hops_per_second: Option<f64>,
    packet_hops: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    packet_hops_per_second: Option<f64>,
    tally: Tally,
    studies: Vec<Entry>,
    remarks: &'a [String],
    warnings: &'a [String],
}

/// `index.json`.
#[derive(Serialize)]
struct IndexFile<'a> {
    version: &'a str,
    quick: bool,
    started: &'a str,
    wall_seconds: f64,
    host: &'a str,
    threads: u32,
    runs: u64,
    cell_hops: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell_hops_per_second: Option<f64>,
    packet_hops: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    packet_hops_per_second: Option<f64>,
    tally: Tally,
    papers: Vec<IndexEntry<'a>>,
    claims: Vec<&'a ClaimRow>,
}

#[derive(Serialize)]
struct IndexEntry<'a> {
    paper: &'a str,
    title: &'a str,
    citation: &'a str,
    folder: &'a str,
    runs: u64,
    wall_seconds: f64,
    tally: Tally,
    warnings: &'a [String],
}

/// Returns a rate, which is 0 without work; `None` if runs came from a store.
fn per_second(hops: u64, seconds: f64, reuses_runs: bool) -> Option<f64> {
    let rate = if seconds > 0.0 { hops as f64 / seconds } else { 0.0 };
    (!reuses_runs).then_some(rate)
}

/// Writes the description of a paper next to its tables, and the recipe of its figures, so that the report can be drawn
/// from the folder alone; after this the folder exists, complete.
pub(super) fn write_paper(
    mut folder: ResultFolder,
    paper: &PaperResult,
    recipe: Option<&str>,
    studies: Vec<Entry>,
    quick: bool,
    about: &Provenance,
) -> Result<(), Error> {
    let content = PaperFile {
        paper: paper.paper,
        title: &paper.title,
        citation: &paper.citation,
        finding: &paper.finding,
        experiment: &paper.experiment,
        version: VERSION,
        quick,
        started: &about.started,
        wall_seconds: paper.wall_seconds,
        host: &about.host,
        threads: about.threads,
        runs: paper.runs,
        cell_hops: paper.counts.cell_hops,
        cell_hops_per_second: per_second(paper.counts.cell_hops, paper.wall_seconds, about.reuses_runs),
        packet_hops: paper.counts.packet_hops,
        packet_hops_per_second: per_second(paper.counts.packet_hops, paper.wall_seconds, about.reuses_runs),
        tally: tally(&paper.claims),
        studies,
        remarks: &paper.remarks,
        warnings: &paper.warnings,
    };
    write_json(&mut folder, "study.json", &content)?;
    write_json(&mut folder, "claims.json", &paper.claims)?;
    if let Some(recipe) = recipe {
        folder.write_text(RECIPE, recipe)?;
    }
    folder.commit(about, paper.runs, paper.counts)?;
    Ok(())
}

/// Writes the index of several papers, whose folders are in `folder`; after this it exists, complete.
pub(super) fn write_index(
    mut folder: ResultFolder,
    papers: &[&'static Paper],
    result: &Reproduced,
    clock: &Stopwatch,
    threads: Option<usize>,
) -> Result<(), Error> {
    let texts: Vec<String> = papers.iter().map(|p| format!("# {}\n{}", p.name, p.studies_text())).collect();
    let text = texts.join("\n");
    let about = clock.provenance(&text, None, 0, 0, threads);
    let about = Provenance { reuses_runs: result.reuses_runs, ..about };
    let papers = result.papers.iter().map(|paper| IndexEntry {
        paper: paper.paper,
        title: &paper.title,
        citation: &paper.citation,
        folder: paper.paper,
        runs: paper.runs,
        wall_seconds: paper.wall_seconds,
        tally: tally(&paper.claims),
        warnings: &paper.warnings,
    });
    let content = IndexFile {
        version: VERSION,
        quick: result.quick,
        started: &result.started,
        wall_seconds: result.wall_seconds,
        host: &about.host,
        threads: about.threads,
        runs: result.runs,
        cell_hops: result.counts.cell_hops,
        cell_hops_per_second: per_second(result.counts.cell_hops, result.wall_seconds, result.reuses_runs),
        packet_hops: result.counts.packet_hops,
        packet_hops_per_second: per_second(result.counts.packet_hops, result.wall_seconds, result.reuses_runs),
        tally: result.tally(),
        papers: papers.collect(),
        claims: result.claims().collect(),
    };
    write_json(&mut folder, "index.json", &content)?;
    folder.commit(&about, result.runs, result.counts)?;
    Ok(())
}

fn write_json(folder: &mut ResultFolder, name: &str, content: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(content).expect("plain data has a JSON form");
    Ok(folder.write_text(name, &(text + "\n"))?)
}
