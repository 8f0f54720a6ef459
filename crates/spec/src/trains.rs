//! A link as trains of packets have found it.

use std::sync::Arc;

use cellway_units::{Bytes, Span, Time};

/// A train of packets that was sent over an idle link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Train {
    /// The instant of its start.
    pub at: Time,
    /// The one-way delay of its first packet.
    pub delay: Span,
    /// The times at which its packets arrived, after the first: 0 for that one.
    pub opportunities: Vec<Span>,
}

/// Trains that were sent at intervals, from the start of a recording to its end. Copies share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trains(Arc<[Train]>);

impl Trains {
    /// The size of the packets of both loads, which is what one opportunity carries.
    pub const PACKET: Bytes = Bytes(1400);

    /// Creates a recording whose length is the time of the last train.
    ///
    /// # Panics
    ///
    /// Unless there are two trains or more, the first at the start, the others at ascending times, each with
    /// opportunities that begin with 0 and never descend.
    pub fn new(trains: Vec<Train>) -> Trains {
        assert!(trains.len() >= 2, "a recording has two trains or more");
        assert!(trains[0].at == Time::ZERO, "the first train is at the start");
        assert!(trains.is_sorted_by(|one, other| one.at < other.at), "the times of trains ascend");
        let is_train = |train: &Train| {
            let times = &train.opportunities;
            times.first().is_some_and(|first| first.is_zero()) && times.is_sorted()
        };
        assert!(trains.iter().all(is_train), "opportunities ascend from 0");
        Trains(trains.into())
    }

    /// Returns the trains, in ascending order.
    pub fn all(&self) -> &[Train] {
        &self.0
    }

    /// Returns the length of the recording. Never zero.
    pub fn length(&self) -> Span {
        self.0[self.0.len() - 1].at.since(Time::ZERO)
    }

    /// Returns the base delay at `within`, a time in the interval that begins with train `index`: the delay between
    /// those of two trains is interpolated linearly (rounded down to a picosecond). After the last train it stays.
    pub fn delay(&self, index: usize, within: Time) -> Span {
        let train = &self.0[index];
        let Some(next) = self.0.get(index + 1) else { return train.delay };
        let (from, to) = (i128::from(train.delay.as_ps()), i128::from(next.delay.as_ps()));
        let (past, whole) = (within.since(train.at).as_ps(), next.at.since(train.at).as_ps());
        let added = ((to - from) * i128::from(past)).div_euclid(i128::from(whole));
        // Between two spans, so it is one.
        Span::from_ps((from + added) as u64)
    }

    /// Returns the mean base delay over the recording (rounded down to a picosecond).
    pub fn mean_delay(&self) -> Span {
        let doubled = |pair: &[Train]| {
            let both = u128::from(pair[0].delay.as_ps()) + u128::from(pair[1].delay.as_ps());
            both * u128::from(pair[1].at.since(pair[0].at).as_ps())
        };
        let total: u128 = self.0.windows(2).map(doubled).sum();
        Span::from_ps((total / 2 / u128::from(self.length().as_ps())) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// 20 ms, 40 ms after 100 ms, 10 ms at 400 ms: means of 30 ms over 100 ms and of 25 ms over 300 ms.
    #[test]
    fn the_base_delay_is_interpolated() {
        let train = |at, delay| Train { at: ms(at), delay: Span::from_ms(delay), opportunities: vec![Span::ZERO] };
        let trains = Trains::new(vec![train(0, 20), train(100, 40), train(400, 10)]);
        let at = |index, time| trains.delay(index, ms(time));
        assert_eq!([at(0, 0), at(0, 25), at(1, 100), at(1, 200), at(2, 999)], [20, 25, 40, 30, 10].map(Span::from_ms));
        assert_eq!(trains.mean_delay(), Span::from_us(26_250));
        assert_eq!(trains.length(), Span::from_ms(400));
    }
}
