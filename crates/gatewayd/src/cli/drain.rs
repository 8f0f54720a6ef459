//! `cellway-gateway drain`.

use std::io::ErrorKind;
use std::time::Duration;

use super::args::Drain;
use super::status::socket_of;
use super::{Failure, output};
use crate::control::{ask, request_drain};

/// The interval at which the number of connections left is requested.
const INTERVAL: Duration = Duration::from_secs(1);
/// Most consecutive requests without an answer.
const UNANSWERED: u32 = 20;
/// The number of requests after which a running gateway has restored its deleted socket.
const RESTORED: u32 = 3;

pub(super) fn run(options: &Drain) -> Result<(), Failure> {
    let socket = socket_of(&options.running)?;
    let failed = |error: std::io::Error| Failure::failed(format!("{}: {error}", socket.display()));
    let mut snapshot = request_drain(&socket, options.within).map_err(failed)?;
    let (mut shown, mut unanswered) = (None, 0);
    loop {
        let left = snapshot.draining.unwrap_or_default();
        if shown != Some(left) {
            output::line(&format!("{left} connections left"));
            shown = Some(left);
        }
        if options.no_wait {
            return Ok(());
        }
        std::thread::sleep(INTERVAL);
        match ask(&socket, false) {
            Ok(now) if now.draining.is_some() => (snapshot, unanswered) = (now, 0),
            // Another gateway has been started meanwhile.
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => break,
            Err(error) if error.kind() == ErrorKind::NotFound && unanswered >= RESTORED => break,
            // The gateway is about to end, or its socket was deleted.
            Err(_) if unanswered < UNANSWERED => unanswered += 1,
            Err(error) => return Err(failed(error)),
        }
    }
    output::line("the gateway has ended");
    Ok(())
}
