//! ERICA: a port computes the rate that each connection may send at.

use cellway_spec::Fraction;
use cellway_units::{CELL_BITS, Rate, Span, Time};

use super::rm::RmCell;

/// Parts of a second on the clock.
const PS_PER_SEC: u128 = 1_000_000_000_000;

/// The parameters of ERICA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EricaSpec {
    /// Target utilisation: the part of the capacity left for ABR that it hands out.
    pub target: Fraction,
    /// Measurement interval; above zero.
    pub interval: Span,
    /// δ: the load may exceed the target by this part before rates above the fair share are reduced. Up to there rates
    /// are only increased, so the load can stabilise anywhere up to (1 + δ) × target.
    pub tolerance: Fraction,
}

impl EricaSpec {
    /// Creates parameters with δ = 1/100. The authors use 1/10 with a target of 9/10; with a target of 19/20 that would
    /// leave no room to drain queues.
    pub const fn new(target: Fraction, interval: Span) -> EricaSpec {
        EricaSpec { target, interval, tolerance: Fraction::one_over(100) }
    }
}

/// Explicit rate indication for congestion avoidance at one output port. S. Kalyanaraman, R. Jain, S. Fahmy, R. Goyal
/// and B. Vandalore, "The ERICA Switch Algorithm for ABR Traffic Management in ATM Networks", IEEE/ACM Transactions on
/// Networking 8(1), 2000, with its max-min extension; ATM Forum/96-1172.
///
/// In each interval it counts the cells that ABR connections send, these connections, and the cells of services of
/// higher priority. At the end:
///
/// - target = target utilisation × (line rate − higher priorities);
/// - z = ABR input / target;
/// - fair share = target / active connections.
///
/// A backward RM cell of a connection that sends at CCR is given ER = max(fair share, CCR / z) if z > 1 + δ, and
/// max(fair share, CCR / z, largest ER of the last interval) otherwise; a connection below its fair share rises no
/// further than that in one step; and no ER is above the target. ER depends only on the last interval, so a connection
/// gets the same ER during all of an interval.
///
/// CCR is the mean of the values in forward RM cells over the interval in which z was measured. The last CCR belongs to
/// a later load than z: with it, rates swing where round trips are longer than the interval.
///
/// Guaranteed rates come first: target, input and CCR above are without the MCRs, and a connection gets its MCR on top,
/// as in ATM Forum/98-0408. This is "MCR plus equal share", one of the fairness criteria that TM 4.0 names.
#[derive(Clone, Debug)]
pub struct Erica {
    spec: EricaSpec,
    line: Rate,
    connections: Vec<Connection>,
    /// The interval after that of each connection's last cell, 0 before the first. Separate, because every cell reads
    /// only this.
    idle_from: Vec<u64>,
    /// Number of the current interval; it starts at `number` × interval.
    number: u64,
    counted: Counted,
    share: Share,
    /// The largest ER given in this interval, above MCR.
    largest: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    ccr: CurrentRate,
    mcr: u64,
}

/// CCR of a connection (bit/s), and its mean over the last interval.
#[derive(Clone, Copy, Debug, Default)]
struct CurrentRate {
    now: u64,
    mean: u64,
    /// The integral of CCR from the start of the interval to `until`.
    area: u128,
    until: Time,
}

impl CurrentRate {
    fn set(&mut self, now: Time, start: Time, interval: Span, rate: u64) {
        self.account(start, interval);
        self.area += u128::from(self.now) * u128::from((now - self.until).as_ps());
        self.until = now;
        self.now = rate;
    }

    /// Ends the interval before the one that started at `start`, if that was not done yet.
    fn account(&mut self, start: Time, interval: Span) {
        if self.until >= start {
            return;
        }
        let rest = start - self.until;
        let area = if rest >= interval { 0 } else { self.area };
        let area = area + u128::from(self.now) * u128::from(rest.as_ps().min(interval.as_ps()));
        self.mean = (area / u128::from(interval.as_ps())) as u64;
        self.area = 0;
        self.until = start;
    }
}

/// Counts of the current interval.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    cells: u64,
    higher: u64,
    active: u64,
    /// MCR of the active connections (bit/s).
    mcr: u64,
}

/// The results of the last interval, in bit/s above the MCRs.
#[derive(Clone, Copy, Debug)]
struct Share {
    target: u64,
    input: u64,
    fair: u64,
    /// The largest ER given in the interval before.
    largest: u64,
}

impl Erica {
    /// Creates the state of a port of `line` rate (bit/s of whole cells). Until the first interval ends, ER is only
    /// limited to the target.
    pub fn new(spec: EricaSpec, line: Rate) -> Erica {
        assert!(!spec.interval.is_zero(), "ERICA measures over an interval");
        let target = spec.target.floor_of(line.as_bps());
        let share = Share { target, input: 0, fair: target, largest: target };
        let counted = Counted::default();
        Erica { spec, line, connections: Vec::new(), idle_from: Vec::new(), number: 0, counted, share, largest: 0 }
    }

    /// Changes the rate of the line at `now`; the interval that runs is judged by the new rate.
    pub fn set_line_rate(&mut self, now: Time, line: Rate) {
        self.advance(now);
        self.line = line;
    }

    /// Counts a cell of ABR connection `slot` (a small number of the port's own) that arrives at the port at `now`,
    /// data or a backward RM cell.
    #[inline]
    pub fn cell(&mut self, now: Time, slot: usize) {
        self.advance(now);
        self.counted.cells += 1;
        if self.idle_from.get(slot) != Some(&(self.number + 1)) {
            self.becomes_active(slot);
        }
    }

    /// Counts a forward RM cell of `slot` that arrives at the port at `now`, and records CCR and MCR.
    pub fn forward(&mut self, now: Time, slot: usize, rm: &RmCell) {
        self.advance(now);
        let (start, interval) = (self.start(), self.spec.interval);
        let connection = self.connection(slot);
        connection.ccr.set(now, start, interval, rm.ccr.as_bps());
        connection.mcr = rm.mcr.as_bps();
        self.cell(now, slot);
    }

    /// Counts a cell of a service with higher priority that the port sends at `now`.
    #[inline]
    pub fn higher_priority(&mut self, now: Time) {
        self.advance(now);
        self.counted.higher += 1;
    }

    /// Lowers ER in the backward RM cell of `slot` that passes at `now`.
    pub fn backward(&mut self, now: Time, slot: usize, rm: &mut RmCell) {
        self.advance(now);
        let (start, interval) = (self.start(), self.spec.interval);
        let connection = self.connection(slot);
        connection.ccr.account(start, interval);
        let Connection { ccr: CurrentRate { mean: ccr, .. }, mcr, .. } = *connection;
        let (er, largest) = self.share.explicit_rate(ccr.saturating_sub(mcr), self.spec.tolerance);
        self.largest = self.largest.max(largest);
        rm.limit(Rate::from_bps(mcr.saturating_add(er)));
    }

    /// Removes the state of a connection, as another one gets the number `slot`.
    pub fn forget(&mut self, slot: usize) {
        if let Some(connection) = self.connections.get_mut(slot) {
            *connection = Connection::default();
        }
    }

    #[inline(never)]
    fn becomes_active(&mut self, slot: usize) {
        let mcr = self.connection(slot).mcr;
        if slot >= self.idle_from.len() {
            self.idle_from.resize(slot + 1, 0);
        }
        self.idle_from[slot] = self.number + 1;
        self.counted.active += 1;
        self.counted.mcr = self.counted.mcr.saturating_add(mcr);
    }

    fn connection(&mut self, slot: usize) -> &mut Connection {
        if slot >= self.connections.len() {
            self.connections.resize(slot + 1, Connection::default());
        }
        &mut self.connections[slot]
    }

    /// Returns the start of the current interval.
    fn start(&self) -> Time {
        Time::ZERO + self.spec.interval * self.number
    }

    /// Ends the intervals that are over at `now`. After an idle time only the last of them counts, which was empty.
    #[inline]
    fn advance(&mut self, now: Time) {
        let interval = self.spec.interval.as_ps();
        if now.as_ps() - self.number * interval < interval {
            return;
        }
        let number = now.as_ps() / interval;
        self.end_interval();
        if number > self.number + 1 {
            self.end_interval();
        }
        self.number = number;
    }

    fn end_interval(&mut self) {
        let Counted { cells, higher, active, mcr } = std::mem::take(&mut self.counted);
        let interval = u128::from(self.spec.interval.as_ps());
        let rate = |cells: u64| (u128::from(cells) * u128::from(CELL_BITS.0) * PS_PER_SEC / interval) as u64;
        let capacity = self.line.as_bps().saturating_sub(rate(higher));
        let target = self.spec.target.floor_of(capacity).saturating_sub(mcr);
        let fair = target / active.max(1);
        self.share = Share { target, input: rate(cells).saturating_sub(mcr), fair, largest: self.largest };
        self.largest = fair;
    }
}

impl Share {
    /// Returns ER above MCR for a connection that sends at `ccr` above MCR, and the rate that counts for the largest ER
    /// of the interval.
    fn explicit_rate(&self, ccr: u64, tolerance: Fraction) -> (u64, u64) {
        let Share { target, input, fair, largest } = *self;
        // CCR / z = CCR × target / input; an idle port leaves room for all of the target.
        let own = u128::from(ccr) * u128::from(target);
        let own = own.checked_div(u128::from(input)).map_or(target, |own| own.min(u128::from(target)) as u64);
        let overloaded = input > target.saturating_add(tolerance.floor_of(target));
        let er = own.max(fair).max(if overloaded { 0 } else { largest }).min(target);
        if er > fair && ccr < fair { (fair, er) } else { (er, er) }
    }
}

#[cfg(test)]
mod tests;
