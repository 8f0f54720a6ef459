//! Draws by a probability in `f64`. Only additions, multiplications and divisions are used, which every machine rounds
//! alike.

use cellway_units::uniform;

use crate::loss::Stream;

/// Returns a number from 0 to below 1.
#[inline]
pub(super) fn draw(stream: &mut Stream) -> f64 {
    uniform(stream.bits())
}

/// Returns `base` to the power of `exponent`, by squaring.
pub(super) fn power(base: f64, mut exponent: u64) -> f64 {
    let (mut result, mut square) = (1.0, base);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result *= square;
        }
        square *= square;
        exponent /= 2;
    }
    result
}
