//! Measurements between real hosts, to the same tables as simulations.

use cellway_record::{RunKey, Source};
use cellway_tables::ResultsBuilder;

use crate::error::Error;
use crate::simulate::{Simulated, Stopwatch};
use crate::study::{Progress, Settings};

pub use cellway_measure::{DEFAULT_PORT, Error as MeasureError, Limit, Limits, Outcome, Server, Sweep, Test, run};
pub use cellway_units::{Bytes, Rate, Span};

/// Runs every test of a sweep `repeat` times with the server at `host` and `port`; `asked` is the text of the request
/// for the manifest. The first test that fails ends it.
pub fn measure(
    host: &str,
    port: u16,
    sweep: &Sweep,
    repeat: u32,
    asked: &str,
    settings: &mut Settings<'_>,
) -> Result<Simulated, Error> {
    let tests = sweep.tests()?;
    let total = tests.len() as u64 * u64::from(repeat);
    let mut builder = ResultsBuilder::new(Source::Measure);
    let clock = Stopwatch::start();
    let mut done = 0;
    for (point, (axes, test)) in (0..).zip(&tests) {
        for seed in 0..u64::from(repeat) {
            (settings.progress)(Progress { done, total, label: host, study: [done, total] });
            let outcome = run(host, port, test, &mut *settings.stop)?;
            let run = u32::try_from(done).map_err(|_| {
                Error::Option("too many runs for one table; at most 4294967295 are accepted".to_owned())
            })?;
            builder.push(RunKey { run, point, seed, axes: axes.clone() }, &outcome.record())?;
            done += 1;
        }
    }
    (settings.progress)(Progress { done, total, label: host, study: [total; 2] });
    let results = builder.finish()?;
    let about = clock.provenance(asked, None, repeat.into(), tests.len(), Some(1));
    Ok(Simulated { results, about, warnings: Vec::new() })
}
