//! `cellway-gateway upgrade`.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use super::args::Upgrade;
use super::status::socket_of;
use super::{Failure, output};
use crate::control::{ask, request_upgrade};
use crate::daemon::handover::FAILED;

/// The interval at which the status of the next program is requested, and the time after which it counts as failed.
const INTERVAL: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn run(options: &Upgrade) -> Result<(), Failure> {
    let socket = socket_of(&options.running)?;
    let failed = |error: std::io::Error| Failure::failed(format!("{}: {error}", socket.display()));
    let begin = Instant::now();
    match request_upgrade(&socket) {
        // The gateway may hand over before its answer is written.
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => return Err(failed(error)),
        _ => {}
    }
    loop {
        std::thread::sleep(INTERVAL);
        match ask(&socket, false) {
            // It has started after the request.
            Ok(now) if now.uptime < begin.elapsed().as_secs_f64() => {
                if now.counters.errors.contains_key(FAILED) {
                    return Err(Failure::failed(
                        "the next program cannot be executed, see the log; the old one continues",
                    ));
                }
                let connections: u64 = now.peers.iter().map(|peer| peer.connections).sum();
                output::line(&format!("upgraded: {connections} connections continue"));
                return Ok(());
            }
            Ok(_) | Err(_) if begin.elapsed() < PATIENCE => {}
            Ok(_) => return Err(Failure::failed("the gateway has not handed over within 20 s, see its log")),
            Err(error) => return Err(failed(error)),
        }
    }
}
