//! `cellway emulate`.

use std::path::{Path, PathBuf};

use cellway_lab::emulate::{self, EmulateOptions, EmulationView};
use cellway_lab::{Error, Overview, Plan, Settings};
use serde_json::json;

use crate::args::Emulate;
use crate::check::{folder_of, plan, runs};
use crate::progress::Bar;
use crate::simulate::point_json;
use crate::table::Table;
use crate::top::{EVERY, Top};
use crate::{DONE, FAILED, Face, Failure, draw, figures, output};

pub(crate) fn run(options: &Emulate, face: &mut Face<'_>) -> Result<(), Failure> {
    let file = &options.scenario.file;
    let plan = plan(&options.scenario)?;
    let target = match options.open {
        true => Some(draw::folder_to_open(options.out.as_deref(), &plan.base().name, face)?),
        false => options.out.clone(),
    };
    if let Some(out) = &target {
        cellway_lab::check_target(out, options.force).map_err(Error::from)?;
    }
    let capture = match &options.pcap {
        Some(node) => {
            cellway_lab::check_capture(&plan, node)?;
            let path = PathBuf::from(format!("{node}.pcap"));
            let aside = || std::env::temp_dir().join(format!("cellway-{}-{node}.pcap", std::process::id()));
            let path = target.as_ref().map_or(path, |_| aside());
            if target.is_none() {
                cellway_lab::check_free(&path, options.force)?;
            }
            Some((node.as_str(), path))
        }
        None => None,
    };
    if let Some(status) = emulate::enter()? {
        let code = status;
        return if code == DONE { Ok(()) } else { Err(Failure { message: String::new(), code }) };
    }
    runs("emulates", &plan, options.seeds)?;
    let log = options.log.as_deref().map(emulate::Log::create).transpose()?;
    // A view on the terminal leaves no room for a progress bar.
    let bar = (!options.top).then(Bar::new);
    let mut show_progress = |progress: cellway_lab::Progress<'_>| bar.iter().for_each(|bar| bar.show(progress));
    let mut settings = Settings { threads: Some(1), progress: &mut show_progress, stop: &mut face.interrupted };
    let mut top = Top::new();
    let mut show = |view: &EmulationView| top.show(view);
    let view: emulate::View<'_> = if options.top { Some((EVERY, &mut show)) } else { None };
    let asked = EmulateOptions {
        seeds: options.seeds,
        view,
        capture: capture.as_ref().map(|(node, path)| (*node, path.as_path())),
        force: options.force || target.is_some(),
        lines: log.as_ref().map(emulate::Log::lines),
    };
    let emulated = emulate::emulate(&plan, folder_of(file), asked, &mut settings)?;
    drop(bar);
    let overview = Overview::of(&emulated.results.results)?;
    let beside = |folder: &Path| -> Result<Vec<String>, Error> {
        let Some((node, path)) = &capture else { return Ok(Vec::new()) };
        let name = format!("{node}.pcap");
        cellway_lab::move_into(path, &folder.join(&name))?;
        Ok(vec![name])
    };
    let mut page = None;
    if let Some(out) = &target {
        output::written_files(out, &emulated.results.write_with(out, options.force, beside)?);
        if options.open {
            page = Some(draw::draw_and_open(out, face)?);
        }
    }
    if options.scenario.json {
        output::json(&json!({
            "name": plan.base().name,
            "valid": emulated.valid,
            "points": overview.points.iter().map(point_json).collect::<Vec<_>>(),
            "warnings": emulated.results.warnings,
            "runs": emulated.results.results.runs.num_rows(),
            "wall_seconds": emulated.results.about.wall_seconds,
            "folder": target,
            "report": page,
        }));
    } else if !options.top || overview.points.len() > 1 || target.is_none() {
        figures::show(&overview, options.wide);
        show_programs(&plan, &overview);
    }
    if let (Some((node, _)), Some(records)) = (&capture, emulated.captured) {
        output::say(&format!("{records} records captured at {node}"));
    }
    output::warn(&emulated.results.warnings);
    if let Some(log) = log {
        log.finish()?;
    }
    let failed = |message: &str| Err(Failure { message: message.to_owned(), code: FAILED });
    if !emulated.valid {
        failed("the emulation was too late: its numbers are not those of the network")
    } else if emulated.failed {
        failed("a program failed")
    } else {
        Ok(())
    }
}

/// Prints the figures of the programs and the lateness of the emulation: a row for each point and figure.
fn show_programs(plan: &Plan, overview: &Overview) {
    let commands = plan.base().commands.iter();
    let figures = commands.flat_map(|command| command.figures.iter().map(|figure| (&*command.name, &*figure.metric)));
    let wanted: Vec<(&str, &str)> = figures.chain([("emulation", "lateness_p99")]).collect();
    let axes = overview.points.first().map(|(axes, _)| axes.as_slice()).unwrap_or_default();
    let header = axes.iter().map(|(path, _)| figures::axis_name(path));
    let header: Vec<String> = header.chain(["subject", "figure", "unit", "value"].map(str::to_owned)).collect();
    let mut table = Table::with_numbers(&header, |column| column == axes.len() + 3);
    for (axes, cells) in &overview.points {
        let of = |(subject, metric): &(&str, &str)| cells.iter().find(|c| c.subject == *subject && c.metric == *metric);
        for cell in wanted.iter().filter_map(of) {
            let value = output::with_interval(cell.mean, cell.interval);
            let point = axes.iter().map(|(_, value)| figures::axis_text(value));
            let rest = [&cell.subject, &cell.metric, &cell.unit].map(ToString::to_string);
            table.add_row(point.chain(rest).chain([value]));
        }
    }
    output::line("");
    table.print();
}
