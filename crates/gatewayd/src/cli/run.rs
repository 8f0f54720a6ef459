//! `cellway-gateway run`.

use std::ffi::OsString;
use std::io::IsTerminal;

use rustix::process::{Resource, getrlimit, setrlimit};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use super::args::Run;
use super::{Failure, findings, read};
use crate::control::{Control, Next};
use crate::daemon::Daemon;

pub(super) fn run(options: &Run) -> Result<(), Failure> {
    // Only the control thread receives them: none is lost, or ends the process, while another program takes over.
    cellway_sys::block_stop_signals(true);
    // The buffers of connections are not on the heap, see `daemon/hosts/block.rs`.
    cellway_sys::return_large_blocks();
    // Read again at SIGHUP, wherever the process is then: paths in it must come out the same.
    let file = std::path::absolute(&options.config)
        .map_err(|error| Failure::failed(format!("{}: {error}", options.config.display())))?;
    let config = read(&file)?;
    log(options);
    let (name, control) = (config.name.clone(), config.control.clone());
    raise_descriptors();
    let found = findings::find(&config);
    found.serious.iter().for_each(|finding| tracing::warn!("{finding}"));
    found.notes.iter().for_each(|note| tracing::info!("{note}"));
    // A newer program has the same path later.
    let program =
        std::env::current_exe().map_err(|error| Failure::failed(format!("the path of this program: {error}")))?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut daemon = Daemon::begin(config)?;
    loop {
        let next = Next { file: file.clone(), program: program.clone() };
        let control = Control::start(&control, next, daemon.handle())?;
        match control.metrics() {
            Some(metrics) => tracing::info!(name, %metrics, "gateway {} runs", env!("CARGO_PKG_VERSION")),
            None => tracing::info!(name, "gateway {} runs", env!("CARGO_PKG_VERSION")),
        }
        let served = daemon.serve();
        control.end();
        served?;
        let Some(mut handover) = daemon.finish()? else { return Ok(()) };
        drop(daemon);
        let error = handover.exec(&program, &arguments);
        tracing::error!("{} cannot be executed: {error}; this program continues", program.display());
        daemon = Daemon::resume_own(handover)?;
    }
}

/// Each connection takes a descriptor: as many as this process may have.
fn raise_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!("the limit on open files stays as it is: {error}");
    }
}

/// Logs to standard error from here on.
fn log(options: &Run) {
    let error = std::io::stderr;
    let registry = tracing_subscriber::registry().with(options.log.clone());
    // The journal has a clock of its own.
    let journal = std::env::var_os("JOURNAL_STREAM").is_some();
    // One subscriber for the process: a second is refused, and the first stays.
    let _ = if options.json_log {
        registry.with(fmt::layer().json().flatten_event(true).with_writer(error)).try_init()
    } else if journal {
        registry.with(fmt::layer().without_time().with_ansi(false).with_writer(error)).try_init()
    } else {
        registry.with(fmt::layer().with_ansi(error().is_terminal()).with_writer(error)).try_init()
    };
}
