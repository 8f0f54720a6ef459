//! `cellway emulate`.

use std::path::Path;

use cellway_lab::emulate::{self, EmulateOptions, EmulationView};
use cellway_lab::{Error, Overview, Plan, Settings};
use serde_json::json;
use tempfile::TempDir;

use crate::args::Emulate;
use crate::check::{folder_of, plan, runs};
use crate::draw::{self, Target};
use crate::progress::Bar;
use crate::simulate::point_json;
use crate::table::Table;
use crate::top::{EVERY, Top};
use crate::{DONE, FAILED, Face, Failure, figures, output};

pub(crate) fn run(options: &Emulate, face: &mut Face<'_>) -> Result<(), Failure> {
    let file = &options.scenario.file;
    let plan = plan(&options.scenario)?;
    if options.open {
        draw::check_report(face)?;
    }
    if let Some(out) = &options.out {
        cellway_lab::check_target(out, options.force).map_err(Error::from)?;
    }
    let is_kept = options.out.is_some() || options.open;
    if let Some(node) = &options.pcap {
        cellway_lab::check_capture(&plan, node)?;
        if !is_kept {
            cellway_lab::check_free(Path::new(&format!("{node}.pcap")), options.force)?;
        }
    }
    if let Some(status) = emulate::enter()? {
        let code = status;
        return if code == DONE { Ok(()) } else { Err(Failure { message: String::new(), code }) };
    }
    // Inside the user namespace, if there is one.
    let mut target = Target::new(options.out.as_deref(), options.open, &plan.base().name)?;
    let aside =
        options.pcap.as_ref().filter(|_| is_kept).map(|_| draw::temporary_folder("cellway-capture-")).transpose()?;
    let capture = options.pcap.as_deref().map(|node| {
        let folder = aside.as_ref().map_or(Path::new(""), TempDir::path);
        (node, folder.join(format!("{node}.pcap")))
    });
    runs("emulates", &plan, options.seeds);
    let log = options.log.as_deref().map(emulate::Log::create).transpose()?;
    // A view on the terminal leaves no room for a progress bar.
    let bar = (!options.top).then(Bar::new);
    let mut show_progress = |progress: cellway_lab::Progress<'_>| bar.iter().for_each(|bar| bar.show(progress));
    let mut settings =
        Settings { threads: Some(1), progress: &mut show_progress, stop: &mut face.interrupted, store: None };
    let mut top = Top::new();
    let mut show = |view: &EmulationView| top.show(view);
    let view: emulate::View<'_> = if options.top { Some((EVERY, &mut show)) } else { None };
    let asked = EmulateOptions {
        seeds: options.seeds,
        view,
        capture: capture.as_ref().map(|(node, path)| (*node, path.as_path())),
        force: options.force || target.folder().is_some(),
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
    let kept = target.folder().map_or(Ok(()), |out| {
        output::written_files(out, &emulated.results.write_with(out, options.force, beside)?);
        Ok(())
    });
    // The figures are printed also if they cannot be written, as on a full disk.
    if kept.is_ok() {
        target.keep();
    }
    let folder = target.folder().filter(|_| kept.is_ok());
    let wants_report = folder.filter(|_| options.open);
    // JSON has the path of the page; with a table it is drawn after that has been printed.
    let json_page = wants_report.filter(|_| options.scenario.json).map(|folder| draw::draw(folder, face)).transpose();
    if options.scenario.json {
        output::json(&json!({
            "name": plan.base().name,
            "valid": emulated.valid,
            "points": overview.points.iter().map(point_json).collect::<Vec<_>>(),
            "warnings": emulated.results.warnings,
            "runs": emulated.results.results.runs.num_rows(),
            "wall_seconds": emulated.results.about.wall_seconds,
            "folder": folder,
            "report": json_page.as_ref().ok(),
        }));
    } else if !options.top || overview.points.len() > 1 || folder.is_none() {
        figures::show(&overview, options.wide);
        show_programs(&plan, &overview);
    }
    if let (Some((node, _)), Some(records)) = (&capture, emulated.captured) {
        output::say(&format!("{records} records captured at {node}"));
    }
    output::warn(&emulated.results.warnings);
    let logged = log.map_or(Ok(()), |log| log.finish().map_err(Failure::from));
    let drawn = match (json_page, wants_report) {
        (Ok(None), Some(folder)) => draw::draw_and_open(folder, face),
        (Ok(Some(page)), _) => {
            draw::open(&page, face);
            Ok(())
        }
        (drawn, _) => drawn.map(drop),
    };
    let failed = |message: &str| Err(Failure { message: message.to_owned(), code: FAILED });
    let outcome = if !emulated.valid {
        failed("the emulation was too late: its numbers are not those of the network")
    } else if emulated.failed {
        failed("a program failed")
    } else {
        Ok(())
    };
    Failure::of_both(kept.and(drawn).and(logged), outcome)
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
