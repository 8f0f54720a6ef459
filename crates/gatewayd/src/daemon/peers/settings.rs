//! The settings of a peer's state machine.

use cellway_gateway::{GatewayConfig, GuardMode, Transport, Window, Wire};
use cellway_units::{Bytes, Rate, Span};

use crate::config::{self, Config, LineRate, Peer, PeerDown};
use crate::daemon::hosts::METADATA;
use crate::daemon::hosts::block::BLOCK;

/// The upper bound of the window, unless one is configured.
const WINDOW_MOST: Bytes = Bytes(64 << 20);
/// The bytes that every direction of a connection may hold, however many there are.
const FLOOR: Bytes = Bytes(12 << 10);
/// The memory of a connection besides its bytes: a partly filled block in each direction, and the metadata.
const COST: Bytes = Bytes(2 * BLOCK as u64 + METADATA);
/// The share of the memory that is for bytes: the descriptions of a packet in flight in the state machine and in QUIC
/// take up to a third of its bytes.
const FOR_BYTES: (u64, u64) = (3, 4);
/// The bytes that are read from hosts before they can leave: few system calls, and few bytes that wait here.
const AHEAD: Bytes = Bytes(32 << 10);
/// The lateness of this thread for which the state machine makes up.
const SLACK: Span = Span::from_ms(5);
/// Packets per acknowledgement. Many, as packets are lost seldom and each acknowledgement takes capacity of the return
/// path.
const ACK_EVERY: u32 = 8;
/// Payloads per credit for the peer to send more.
const CREDIT_EVERY: u32 = 32;
/// The most consecutive data frames of a connection, so that a pass accesses few sockets: about as many as [`AHEAD`].
const TURN: u32 = 16;
/// The time beyond a round trip without any answer after which a peer counts as unresponsive.
const PATIENCE: Span = Span::from_secs(1);

/// Returns the settings of the state machine for `peer`.
pub(super) fn settings(peer: &Peer, config: &Config) -> GatewayConfig {
    let (rate, atm) = match peer.rate {
        LineRate::Fixed { rate, atm } => (rate, atm),
        LineRate::Auto { most } => (most.unwrap_or(Rate::from_bps(10_000_000_000)), false),
    };
    let window = match config.limits.window {
        Some(window) => Window::Fixed(window),
        None => Window::Line { most: WINDOW_MOST },
    };
    let memory = Bytes(config.limits.memory.0 / FOR_BYTES.1 * FOR_BYTES.0 / config.peers.len().max(1) as u64);
    let mut settings = GatewayConfig::new(rate);
    settings.auto = matches!(peer.rate, LineRate::Auto { .. });
    settings.window = window;
    settings.floor = FLOOR;
    settings.cost = COST;
    settings.confirmed_writes = true;
    settings.ahead = AHEAD;
    settings.tells_rate = true;
    settings.times_acks = true;
    settings.total_buffer = memory;
    settings.wire = if atm { Wire::Atm { llc: true } } else { Wire::Packet };
    settings.transport = Transport::Quic { v6: false };
    (settings.mtu, settings.payload) = (Bytes(1280), Bytes(1200));
    settings.slack = SLACK;
    settings.patience = Some(PATIENCE);
    settings.bypass = peer.down == PeerDown::Direct;
    settings.guard = match peer.rate_guard {
        config::RateGuard::On => GuardMode::Acts,
        config::RateGuard::Off => GuardMode::Reports,
    };
    settings.ack_every = ACK_EVERY;
    settings.credit_every = CREDIT_EVERY;
    settings.turn = TURN;
    settings
}
