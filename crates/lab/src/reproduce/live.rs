//! The selection of emulated studies of papers, and their runs: one after the other, with no other work in parallel.

use super::paper::Paper;
use super::run::ReproduceOptions;
use super::select::select;
use crate::error::Error;

/// The treatment of emulated studies. If they are left out, rows that need them are "not run".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Live {
    /// In a whole run, not in a quick one.
    #[default]
    Unless,
    /// In a quick one, too.
    Always,
    /// Never.
    Never,
}

/// Returns the reason why emulated studies are not requested, on any host; `None` if they are.
fn not_requested(options: &ReproduceOptions<'_>) -> Option<&'static str> {
    match options.live {
        Live::Never => Some("emulated studies were to be left out (--no-emulate)"),
        Live::Unless if options.quick => Some("a quick look leaves emulated studies out (--emulate runs them)"),
        Live::Unless | Live::Always => None,
    }
}

/// Returns the reason why emulated studies cannot or must not run in this process.
pub(super) fn obstacle(options: &ReproduceOptions<'_>) -> Option<String> {
    not_requested(options).map(str::to_owned).or_else(machine)
}

#[cfg(target_os = "linux")]
fn machine() -> Option<String> {
    crate::emulate::missing_here()
}

#[cfg(not(target_os = "linux"))]
fn machine() -> Option<String> {
    Some("emulation needs Linux".to_owned())
}

/// Returns true if a run of these papers emulates a study that this host can emulate: then a caller without the
/// privilege to create network namespaces obtains it first, by `emulate::enter`.
///
/// # Errors
///
/// `only` names claims that do not exist.
pub fn needs_namespaces(papers: &[&'static Paper], options: &ReproduceOptions<'_>) -> Result<bool, Error> {
    let selected = select(papers, options.only)?;
    let wanted = not_requested(options).is_none()
        && selected.iter().any(|selected| {
            let studies = selected.paper.studies().study;
            studies.iter().any(|study| study.is_emulated() && selected.needs(&study.id))
        });
    Ok(wanted && can_be_had())
}

#[cfg(target_os = "linux")]
fn can_be_had() -> bool {
    crate::emulate::missing().is_none()
}

#[cfg(not(target_os = "linux"))]
fn can_be_had() -> bool {
    false
}

/// The runs themselves.
#[cfg(target_os = "linux")]
pub(super) mod runs {
    use cellway_record::RunRecord;

    use crate::emulate::{run, warnings_of};
    use crate::error::Error;
    use crate::study::{Prepared, Settings};

    /// The number of repetitions of a late run before its point is left out.
    const REPEATS: usize = 2;

    /// The outcome of a run.
    pub(in super::super) enum Outcome {
        /// Its record, and messages for the reader.
        Done(Box<RunRecord>, Vec<String>),
        /// The reason why there is none.
        Failed(String),
    }

    /// Emulates run `index`, again if it was late.
    pub(in super::super) fn attempt(
        prepared: &Prepared,
        index: u64,
        settings: &mut Settings<'_>,
    ) -> Result<Outcome, Error> {
        let mut late = Vec::new();
        for _ in 0..=REPEATS {
            let emulated = match run(prepared, index, &mut None, None, false, None, settings) {
                Ok((emulated, _)) => emulated,
                Err(Error::Stopped) => return Err(Error::Stopped),
                Err(error) => return Ok(Outcome::Failed(error.to_string())),
            };
            if emulated.is_valid() {
                let warnings = warnings_of(&emulated);
                return Ok(Outcome::Done(Box::new(emulated.record), warnings));
            }
            late.extend(emulated.invalid());
        }
        let attempts = late.iter().enumerate().map(|(n, why)| format!("attempt {}: {why}", n + 1));
        let attempts: Vec<String> = attempts.collect();
        Ok(Outcome::Failed(format!("no run was valid: {}", attempts.join(". "))))
    }
}
