//! `cellway-gateway run`.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::fd::AsFd;

use rustix::fs::fstat;
use rustix::process::{Resource, getrlimit, setrlimit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::{self, FmtContext, FormatEvent, FormatFields, format};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;

use super::args::Run;
use super::{Failure, findings, read};
use crate::control::{Control, Next};
use crate::daemon::Daemon;

pub(super) fn run(options: &Run) -> Result<(), Failure> {
    // Only the control thread receives them: none is lost, or ends the process, while another program takes over.
    cellway_sys::block_stop_signals(true);
    // The buffers of connections are not on the heap, see `daemon/hosts/block.rs`.
    cellway_sys::return_large_blocks();
    // The file is read again at SIGHUP, from any working directory: relative paths must resolve to the same files.
    let file = std::path::absolute(&options.config)
        .map_err(|error| Failure::failed(format!("{}: {error}", options.config.display())))?;
    let config = read(&file)?;
    log(options);
    let (name, control) = (config.name.clone(), config.control.clone());
    raise_descriptors();
    let found = findings::find(&config);
    found.serious.iter().for_each(|finding| tracing::warn!("{finding}"));
    found.notes.iter().for_each(|note| tracing::info!("{note}"));
    // A newer program will have the same path.
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

/// Raises the limit of descriptors as far as allowed: each connection uses one.
fn raise_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!("the limit on open files cannot be raised: {error}");
    }
}

/// Starts logging to standard error.
fn log(options: &Run) {
    let error = std::io::stderr;
    let registry = tracing_subscriber::registry().with(options.log.clone());
    let journal = std::env::var_os("JOURNAL_STREAM").is_some_and(|stream| is_stream(&stream, error()));
    // A process has one subscriber: a second is refused, and the first remains.
    let _ = if options.json_log {
        registry.with(fmt::layer().json().flatten_event(true).with_writer(error)).try_init()
    } else if journal {
        // The journal adds its own time.
        let format = Journal(format::format().without_time());
        registry.with(fmt::layer().event_format(format).with_ansi(false).with_writer(error)).try_init()
    } else {
        registry.with(fmt::layer().with_ansi(error().is_terminal()).with_writer(error)).try_init()
    };
}

/// Returns true if `file` is the stream that `JOURNAL_STREAM` names by device and inode (`systemd.exec(5)`). Programs that a
/// service starts inherit the variable, and may write elsewhere.
fn is_stream(named: &OsStr, file: impl AsFd) -> bool {
    fstat(file).is_ok_and(|stat| named.to_str() == Some(&format!("{}:{}", stat.st_dev, stat.st_ino)))
}

/// A format of events that begins with their priority (`sd-daemon(3)`), by which `journalctl -p` selects.
struct Journal<F>(F);

impl<S, N, F> FormatEvent<S, N> for Journal<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: format::Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let priority = match *event.metadata().level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            _ => 7,
        };
        write!(writer, "<{priority}>")?;
        self.0.format_event(context, writer, event)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_journal_is_where_its_variable_says() {
        let file = tempfile::tempfile().unwrap();
        let stat = fstat(&file).unwrap();
        let named = format!("{}:{}", stat.st_dev, stat.st_ino);
        assert!(is_stream(named.as_ref(), &file));
        assert!(!is_stream(named.as_ref(), std::io::pipe().unwrap().1));
        assert!(!is_stream("".as_ref(), &file));
    }

    #[test]
    fn lines_in_the_journal_begin_with_their_priority() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let layer = fmt::layer().event_format(Journal(format::format().without_time().with_target(false)));
        let writer = Arc::new(file.reopen().unwrap());
        tracing::subscriber::with_default(
            tracing_subscriber::registry().with(layer.with_ansi(false).with_writer(writer)),
            || {
                tracing::error!("one");
                tracing::warn!("two");
                tracing::info!(peer = "a", "three");
                tracing::debug!("four");
            },
        );
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert_eq!(text, "<3>ERROR one\n<4> WARN two\n<6> INFO three peer=\"a\"\n<7>DEBUG four\n");
    }
}
