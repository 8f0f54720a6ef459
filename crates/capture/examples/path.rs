//! Estimates a path from captures:
//!
//! ```text
//! cargo run --package cellway-capture --example path -- sender.pcap
//! ```

use std::path::PathBuf;

use cellway_capture::Next;
use cellway_capture::path::measure;

fn main() -> Result<(), cellway_capture::Error> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    println!("{:#?}", measure(&files, &mut |_| Next::Continue)?);
    Ok(())
}
