//! Workload files from packet captures.

use std::io::Write;
use std::path::{Path, PathBuf};

use cellway_capture::{Limits, Options, derive};
use cellway_workload::{Distribution, Transport, law_name};
use serde_json::{Value, json};

use crate::error::Error;
use crate::simulate::{beside, exists, replaced};
use crate::text_file;

pub use cellway_capture::{By, Class, Counts, Derived, Fault, Next, Progress, Protocol, Rules, Totals, Workload};

/// The most messages of open conversations that are recorded.
const MAX_MESSAGES: usize = 1_000_000;

/// The most clusters of a protocol.
const MAX_CLUSTERS: usize = 64;

/// Reads a rule for the classes of conversations: `port`, `rules:FILE` or `cluster:N`. The file is read.
///
/// # Errors
/// It is none of these, or the file is wrong.
pub fn by(text: &str) -> Result<By, Error> {
    let accepted = "accepted: port, rules:FILE or cluster:N";
    match text.split_once(':') {
        None if text == "port" => Ok(By::Port),
        Some(("rules", file)) if !file.is_empty() => {
            let path = Path::new(file);
            let text = text_file::read(path).map_err(|message| Error::Option(format!("--by rules: {message}")))?;
            let rules = Rules::parse(&text, file).map_err(cellway_capture::Error::Rules)?;
            Ok(By::Rules(rules))
        }
        Some(("cluster", number)) => match number.parse() {
            Ok(count) if (1..=MAX_CLUSTERS).contains(&count) => Ok(By::Cluster(count)),
            _ => Err(Error::Option(format!(
                "--by {text}: {number:?} is no number of clusters; accepted: 1 to {MAX_CLUSTERS}, like cluster:4"
            ))),
        },
        _ => Err(Error::Option(format!("--by {text}: there is no such rule; {accepted}"))),
    }
}

/// Derives a workload from captures; see [`derive`](fn@derive). With `messages` also whole conversations.
///
/// # Errors
/// A file cannot be read or is no capture, or `progress` has requested to stop.
pub fn from_captures(
    files: &[PathBuf],
    by: By,
    messages: bool,
    progress: &mut dyn FnMut(Progress) -> Next,
) -> Result<Derived, Error> {
    // Clusters are found in a first pass, which would leave nothing of a pipe for the second.
    if matches!(by, By::Cluster(_))
        && let Some(file) = files.iter().find(|file| file.exists() && !file.is_file())
    {
        let shown = file.display();
        return Err(Error::Option(format!("{shown} is not a regular file; accepted with --by cluster: regular files")));
    }
    let limits = Limits { messages: if messages { MAX_MESSAGES } else { 0 }, ..Limits::default() };
    Ok(derive(files, &Options { by, limits }, progress)?)
}

/// Writes a workload file; an existing one is replaced only with `force`. A fault leaves it as it was.
///
/// # Errors
/// The file exists or cannot be written.
pub fn write(derived: &Derived, path: &Path, force: bool) -> Result<(), Error> {
    let seconds = derived.totals.time.map_or(0.0, |(first, last)| (last - first) as f64 / 1e9);
    let comment = format!(
        "Made by cellway workload from-pcap of {} packets in {seconds:.3} s.\n\
         Octets are those of payload, times are in s. A knot is a probability, and a value that is not exceeded with \
         it.\n\
         Programs of today mostly set TCP_NODELAY: a group that plays a class over TCP has it with \
         `tcp = {{ nagle = false }}`.",
        derived.totals.records
    );
    write_text(&derived.workload.file().to_toml(&comment), path, force)
}

/// Writes a text to a file, which has all of it or is as it was.
pub(crate) fn write_text(text: &str, path: &Path, force: bool) -> Result<(), Error> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let target = replaced(path);
    let mut file = beside(&target).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let moved = if force { file.persist(&target) } else { file.persist_noclobber(&target) };
    match moved.map_err(|error| error.error) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists(path)),
        Err(error) => Err(failed(error)),
    }
}

/// Returns the word for a protocol in workload files.
pub fn transport(protocol: Protocol) -> &'static str {
    Transport::from(protocol).name()
}

/// Returns a document of the classes and of what was left out.
pub fn document(derived: &Derived) -> Value {
    let class = |class: &Class| {
        let distribution = |(name, distribution): &(&'static str, Distribution)| {
            let quantile = |p| distribution.model.quantile(p);
            let fit = distribution.fit.map(|fit| json!({ "law": law_name(fit.law), "ks": fit.ks }));
            let value = json!({
                "samples": distribution.samples, "mean": distribution.mean(false),
                "knots": distribution.model.knots().len(),
                "p5": quantile(0.05), "p50": quantile(0.5), "p95": quantile(0.95), "p99": quantile(0.99), "fit": fit,
            });
            ((*name).to_owned(), value)
        };
        let left_out: serde_json::Map<String, Value> =
            class.left_out.present().map(|(reason, count)| (reason.to_string(), count.into())).collect();
        json!({
            "name": class.name,
            "transport": transport(class.transport),
            "conversations": class.conversations,
            "left_out": left_out,
            "recorded": class.messages.len(),
            "packets": class.totals.packets,
            "octets": class.totals.octets,
            "retransmitted": class.totals.retransmitted,
            "late": class.totals.late,
            "with_missing_octets": class.totals.missing,
            "distributions": class.distributions.iter().map(distribution).collect::<serde_json::Map<_, _>>(),
        })
    };
    let left_out: serde_json::Map<String, Value> =
        derived.totals.left_out.present().map(|(reason, count)| (reason.to_string(), count.into())).collect();
    let fault = |(path, fault): &(PathBuf, Fault)| {
        let message = fault.cause.to_string();
        json!({ "file": path, "offset": fault.offset, "message": message })
    };
    json!({
        "packets": derived.totals.records,
        "seconds": derived.totals.time.map(|(first, last)| (last - first) as f64 / 1e9),
        "left_out": left_out,
        "evicted": derived.totals.evicted,
        "earlier": derived.totals.earlier,
        "faults": derived.faults.iter().map(fault).collect::<Vec<_>>(),
        "classes": derived.workload.classes.iter().map(class).collect::<Vec<_>>(),
    })
}
