//! The order of what is still to happen: by instant, and within an instant by a number.

use std::cmp::Ordering;

use cellway_units::Time;

/// A position in the order. Two words are stored and loaded separately; one of 128 bits would not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: Time,
    /// The position within the instant.
    pub(crate) within: u64,
}

impl Place {
    /// Compared as one number: a compare and a subtract with borrow; comparing word by word would branch.
    #[inline]
    fn rank(&self) -> u128 {
        u128::from(self.at.as_ps()) << 64 | u128::from(self.within)
    }
}

impl Ord for Place {
    #[inline]
    fn cmp(&self, other: &Place) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Place {
    #[inline]
    fn partial_cmp(&self, other: &Place) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    // Heaps and sorted lists call these; their default implementations would go through `Option<Ordering>`.
    #[inline]
    fn lt(&self, other: &Place) -> bool {
        self.rank() < other.rank()
    }
    #[inline]
    fn le(&self, other: &Place) -> bool {
        self.rank() <= other.rank()
    }
    #[inline]
    fn gt(&self, other: &Place) -> bool {
        self.rank() > other.rank()
    }
    #[inline]
    fn ge(&self, other: &Place) -> bool {
        self.rank() >= other.rank()
    }
}
