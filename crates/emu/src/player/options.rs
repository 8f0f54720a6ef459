//! TCP of the scenario, as far as a kernel can follow it.

use cellway_apps::Side;
use cellway_measure::tcp::TcpOptions;
use cellway_scenario::{CongestionControl, EcnMode, LossRecovery, TcpSpec};
use cellway_units::{Bytes, Rate, Span};
use rustix::net::sockopt;
use socket2::{Domain, Socket};

use super::error::PlayerError;

/// A bound on a sender's pace that never binds (bit/s).
const UNBOUNDED: Rate = Rate::from_bps(1_000_000_000_000);

/// TCP of one end of a slot's connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HostTcp {
    /// Window, buffer, segment size, congestion control, Nagle, pace.
    pub options: TcpOptions,
    /// Each segment is acknowledged at once. Best effort: the kernel leaves this mode by itself, so it is requested
    /// again after each read (`TCP_QUICKACK`, tcp(7)); segments that arrive before the next read may share an
    /// acknowledgement.
    pub quick_ack: bool,
    /// The octet of the DSCP in its packets; the kernel sets the two bits of ECN.
    pub traffic_class: u8,
}

impl HostTcp {
    /// Returns the settings of `spec` that one socket can have; [`host_settings`] has more.
    ///
    /// Not followed: the initial window (`initcwnd` of a route sets it) and threshold, the timeout before the first
    /// round trip (1 s), the tick of the timers, the delay of acknowledgements (the kernel chooses 40 ms to 200 ms),
    /// limited transmit (always on), the time that a closed connection lingers (60 s), the smaller reduction for marks
    /// (never), the segments that are not paced (the kernel's own).
    pub fn from_spec(spec: &TcpSpec) -> HostTcp {
        let congestion = match spec.control() {
            // The kernel has no Tahoe. It recovers as NewReno, or by SACK, whatever the recovery.
            CongestionControl::Tahoe | CongestionControl::Reno => "reno",
            CongestionControl::Cubic => "cubic",
            // Version 1 in kernels of today; version 3 has the same name where it is built in.
            CongestionControl::Bbr => "bbr",
            CongestionControl::Dctcp => "dctcp",
            // Not in kernels of kernel.org; those of L4S have it.
            CongestionControl::Prague => "prague",
        };
        let options = TcpOptions {
            window: Some(spec.window),
            send_buffer: Some(spec.send_buffer),
            mss: Some(spec.mss),
            congestion: Some(congestion.to_owned()),
            no_delay: !spec.nagle,
            // The kernel paces by its own estimate as soon as a bound is set, however high.
            pace: spec.pacing_rate.or(spec.pacing.then_some(UNBOUNDED)),
        };
        HostTcp { options, quick_ack: spec.delayed_ack.0.is_none(), traffic_class: 0 }
    }
}

/// Returns the values under `/proc/sys/net/ipv4` (for IPv6, too) with which the TCP of a host comes nearer to `spec`:
/// each network namespace has its own. A kernel may lack one: `tcp_rto_max_ms` is of Linux 6.15, `tcp_rto_min_us` of
/// 6.11. If groups with different TCP share a host, it can follow one group only.
pub fn host_settings(spec: &TcpSpec) -> Vec<(&'static str, u64)> {
    let selective = spec.recovery().uses_sack();
    let micros = |span: Span| span.as_ps() / Span::from_us(1).as_ps();
    let negotiated = [
        ("tcp_window_scaling", u64::from(spec.window_scaling)),
        ("tcp_timestamps", spec.timestamps.into()),
        ("tcp_sack", selective.into()),
        ("tcp_dsack", spec.dsack.into()),
        // A connection does not use measurements of earlier ones.
        ("tcp_no_metrics_save", 1),
    ];
    let ecn: &[u64] = match spec.ecn {
        EcnMode::Off => &[0],
        EcnMode::Classic => &[1],
        // AccECN, requested and accepted; a kernel without it (before Linux 6.18) refuses the 3 and keeps the 1.
        EcnMode::Accurate => &[1, 3],
    };
    let is_of_today = match (spec.control(), spec.recovery()) {
        (
            CongestionControl::Cubic | CongestionControl::Bbr | CongestionControl::Dctcp | CongestionControl::Prague,
            _,
        )
        | (_, LossRecovery::Rack) => true,
        (
            CongestionControl::Tahoe | CongestionControl::Reno,
            LossRecovery::Tahoe | LossRecovery::Reno | LossRecovery::NewReno | LossRecovery::Sack,
        ) => false,
    };
    if is_of_today {
        // The scenario requests the kernel as it is. By default it accepts ECN, but does not offer it.
        let ecn = if spec.ecn.is_on() { ecn } else { &[] };
        return negotiated.into_iter().chain(ecn.iter().map(|value| ("tcp_ecn", *value))).collect();
    }
    let of_its_time = [
        // Loss is detected by duplicate acknowledgements: neither RACK nor tail loss probes (RFC 8985), no F-RTO (RFC
        // 5682). Linux since 6.17 keeps RACK if SACK is on.
        ("tcp_recovery", 0),
        ("tcp_early_retrans", 0),
        ("tcp_frto", 0),
        ("tcp_reordering", spec.duplicate_threshold.into()),
        ("tcp_max_reordering", spec.duplicate_threshold.into()),
        ("tcp_slow_start_after_idle", spec.idle_restart.into()),
        ("tcp_rto_min_us", micros(spec.rto_min)),
        // The kernel takes 1 s to 120 s.
        ("tcp_rto_max_ms", (micros(spec.rto_max) / 1000).clamp(1000, 120_000)),
        ("tcp_retries2", spec.max_retransmissions.min(255).into()),
        // Small writes are delayed by Nagle's algorithm only.
        ("tcp_autocorking", 0),
        // A sender with an open window does not wait up to 1 ms to have a third of it for one burst
        // (`tcp_tso_should_defer`): 1/255 of the window will do.
        ("tcp_tso_win_divisor", 255),
    ];
    negotiated.into_iter().chain(of_its_time).chain(ecn.iter().map(|value| ("tcp_ecn", *value))).collect()
}

/// The options of one socket: those of its host, and those of an application that controls its own reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) tcp: HostTcp,
    /// Set if data that the application leaves in the receive buffer close the window.
    pub(super) reads_itself: bool,
}

impl Settings {
    /// Sets the options that must precede connect or listen.
    pub(super) fn prepare(&self, host: &str, socket: &Socket) -> Result<(), PlayerError> {
        let refused = |source| PlayerError::Options { host: host.to_owned(), source };
        self.tcp.options.apply(socket).map_err(refused)?;
        set_traffic_class(socket, self.tcp.traffic_class)?;
        if let Some(window) = self.tcp.options.window.filter(|_| self.reads_itself) {
            bound_buffer(socket, window).map_err(PlayerError::system("set the receive buffer"))?;
        }
        Ok(())
    }

    /// Sets the options that follow the handshake and each read.
    pub(super) fn refresh(&self, socket: &Socket) {
        // Either is refused only by a connection that is over, which the next call on it reports.
        let _ = self.tcp.options.hold_window(socket);
        if self.tcp.quick_ack {
            let _ = sockopt::set_tcp_quickack(socket, true);
        }
    }
}

/// Sets the octet of DSCP and ECN in the packets of a socket.
pub(super) fn set_traffic_class(socket: &Socket, octet: u8) -> Result<(), PlayerError> {
    if octet == 0 {
        return Ok(());
    }
    let is_v6 = socket.domain().is_ok_and(|domain| domain == Domain::IPV6);
    let set = if is_v6 { socket.set_tclass_v6(u32::from(octet)) } else { socket.set_tos_v4(u32::from(octet)) };
    set.map_err(PlayerError::system("set the DSCP of a socket"))
}

/// Sets a receive buffer for about `window` bytes. The kernel doubles the size for the memory around the payload and
/// counts that memory, so it holds from half to twice as much payload, depending on the size of the segments.
fn bound_buffer(socket: &Socket, window: Bytes) -> std::io::Result<()> {
    let size = usize::try_from(window.0).unwrap_or(usize::MAX);
    if sockopt::set_socket_recv_buffer_size_force(socket, size).is_err() {
        socket.set_recv_buffer_size(size)?;
    }
    Ok(())
}

/// Returns the index of a side in an array of two.
pub(super) const fn at(side: Side) -> usize {
    match side {
        Side::Originator => 0,
        Side::Responder => 1,
    }
}

pub(super) const SIDES: [Side; 2] = [Side::Originator, Side::Responder];

#[cfg(test)]
mod tests {
    use cellway_scenario::{AckDelay, Plan, Variant};
    use socket2::Type;

    use super::*;

    /// The kernel keeps the two bits of ECN of a TCP socket for itself, and takes those of a UDP socket.
    #[test]
    fn sockets_have_the_octet_of_their_class() {
        // Expedited forwarding and ECT(1).
        let octet = 46 << 2 | 0b01;
        for (kind, expected) in [(Type::STREAM, 0b1011_1000), (Type::DGRAM, 0b1011_1001)] {
            let v4 = Socket::new(Domain::IPV4, kind, None).unwrap();
            set_traffic_class(&v4, octet).unwrap();
            assert_eq!(v4.tos_v4().unwrap(), expected, "{kind:?}");
            let v6 = Socket::new(Domain::IPV6, kind, None).unwrap();
            set_traffic_class(&v6, octet).unwrap();
            assert_eq!(v6.tclass_v6().unwrap(), expected, "{kind:?}");
        }
    }

    #[test]
    fn the_kernel_follows_the_scenario() {
        let text = include_str!("../../../../scenarios/satellite-bulk.toml");
        let spec = Plan::parse(text, "satellite-bulk.toml").unwrap().base().traffic[0].tcp().unwrap().tcp;
        let spec = TcpSpec { variant: Variant::Reno, delayed_ack: AckDelay(None), nagle: false, ..spec };
        let HostTcp { options, quick_ack, .. } = HostTcp::from_spec(&spec);
        assert_eq!((options.window, options.send_buffer, options.mss), {
            (Some(spec.window), Some(spec.send_buffer), Some(spec.mss))
        });
        assert_eq!((options.congestion.as_deref(), options.no_delay, quick_ack), (Some("reno"), true, true));
        let with = |spec: &TcpSpec, name| host_settings(spec).into_iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!((with(&spec, "tcp_rto_min_us"), with(&spec, "tcp_rto_max_ms")), (1_000_000, 64_000));
        assert_eq!(with(&spec, "tcp_tso_win_divisor"), 255);
        assert_eq!((with(&spec, "tcp_sack"), with(&spec, "tcp_window_scaling")), (0, 1));
        let spec =
            TcpSpec { variant: Variant::Sack, delayed_ack: AckDelay(Some(Span::from_ms(200))), nagle: true, ..spec };
        assert_eq!(with(&spec, "tcp_sack"), 1);
        let HostTcp { options, quick_ack, .. } = HostTcp::from_spec(&spec);
        assert_eq!((options.no_delay, quick_ack), (false, false));
    }
}
