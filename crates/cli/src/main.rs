//! The `cellway` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(cellway_cli::main(std::env::args_os(), &mut cellway_cli::Face::alone()))
}
