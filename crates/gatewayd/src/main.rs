//! The program `cellway-gateway`.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    cellway_gatewayd::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("cellway-gateway: runs on Linux only");
    std::process::ExitCode::FAILURE
}
