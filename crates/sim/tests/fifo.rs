//! All channels of a switch's port in one FIFO, with TCP: a small form of the study
//! `docs/validation/romanow-floyd.toml`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{figure, repository, run, scenario};

/// Returns the share of the congested line that carries useful packets.
fn effective(mss: u32, discard: &str, set: &[(&str, &str)]) -> f64 {
    let file = std::fs::read_to_string(repository("docs/validation/romanow-floyd.toml")).unwrap();
    let text = file.split("[sweep]").next().unwrap();
    let (mss_key, discard) = (format!("\"{mss} B\""), format!("\"{discard}\""));
    let mut all = vec![("run.duration", "\"4 s\""), ("run.warmup", "\"1 s\""), ("buffer.discard", &discard)];
    all.push(("tcp.mss", &mss_key));
    all.extend(set);
    let record = run(&scenario(text, &all), 1);
    let cells = (mss + 40 + 16).div_ceil(48);
    figure(&record, "tcp", "goodput_total") / (149.76e6 * f64::from(mss * 8) / f64::from(cells * 424))
}

/// A. Romanow and S. Floyd: "the effective throughput of TCP over ATM can be quite low when cells are dropped"; partial
/// packet discard "somewhat improves throughput", early packet discard "restores throughput to maximal levels".
#[test]
fn early_discard_fills_the_line_and_partial_discard_helps_somewhat() {
    let plain = effective(9140, "cell", &[]);
    let partial = effective(9140, "ppd", &[]);
    let early = effective(9140, "epd", &[("buffer.threshold", "\"500 cell\"")]);
    assert!(plain < 0.95 * partial && partial < 0.95 * early, "{plain} {partial} {early}");
    assert!(early > 0.9, "{early}");
}

#[test]
fn plain_loss_wastes_more_with_small_buffers_and_large_packets() {
    let large = effective(9140, "cell", &[]);
    let small_buffer = effective(9140, "cell", &[("buffer.size", "\"256 cell\"")]);
    let small_packets = effective(472, "cell", &[]);
    assert!(small_buffer < 0.9 * large && large < 0.95 * small_packets, "{small_buffer} {large} {small_packets}");
}

/// The run uses the server of the file: with a round robin the same run has another result.
#[test]
fn the_order_of_service_matters() {
    let [fifo, turns] =
        ["\"fifo\"", "\"round-robin\""].map(|server| effective(9140, "ppd", &[("multiplexing.server", server)]));
    assert!((fifo - turns).abs() > 0.01, "{fifo} {turns}");
}
