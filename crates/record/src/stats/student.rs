//! The quantiles of Student's t distribution.

/// Returns the `p` quantile of Student's t with `df` degrees of freedom: `t_quantile(0.975, 19.0)` is the 2.093 of the
/// tables. Accurate to ten digits for the few degrees of freedom of replicated runs, to eight for a million. Infinite
/// at `p` 0 and 1; not a number outside, or without freedom.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if p == 0.5 {
        return 0.0;
    }
    if p < 0.5 {
        return -upper_quantile(p, df);
    }
    upper_quantile(1.0 - p, df)
}

/// Returns the t that a value exceeds with probability `tail` < 0.5, by bisection on the doubles, which is slow and
/// always converges.
fn upper_quantile(tail: f64, df: f64) -> f64 {
    if tail == 0.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while upper_tail(high, df) > tail {
        low = high;
        high *= 2.0;
        if high == f64::INFINITY {
            return high;
        }
    }
    // Each step halves the bracket; 60 of them leave less than one part in 1e15 of it.
    for _ in 0..60 {
        let middle = low + (high - low) / 2.0;
        if upper_tail(middle, df) > tail { low = middle } else { high = middle }
    }
    low + (high - low) / 2.0
}

/// Returns P(T > t) for t >= 0: half the regularised incomplete beta function at df / (df + t^2). Abramowitz and Stegun
/// 26.7.1.
fn upper_tail(t: f64, df: f64) -> f64 {
    let (x, y) = (df / (df + t * t), t * t / (df + t * t));
    0.5 * incomplete_beta(df / 2.0, 0.5, x, y)
}

/// Returns the regularised incomplete beta function I_x(a, b); `y` = 1 - x is an argument so that it keeps its digits.
fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    let log_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log(y);
    let front = libm::exp(log_front);
    // The symmetry allows the side of the mean on which the continued fraction converges fast.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, y) / b
    }
}

/// Returns the continued fraction of the incomplete beta function, DLMF 8.17.22, by the modified Lentz method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let keep = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / keep(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for numerator in [even, odd] {
            d = 1.0 / keep(1.0 + numerator * d);
            c = keep(1.0 + numerator / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= 1e-16 * fraction.abs() {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-sided 95 % and 99 % points, as any table prints them.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (1.0, 12.706, 63.657),
            (2.0, 4.303, 9.925),
            (3.0, 3.182, 5.841),
            (4.0, 2.776, 4.604),
            (5.0, 2.571, 4.032),
            (9.0, 2.262, 3.250),
            (10.0, 2.228, 3.169),
            (19.0, 2.093, 2.861),
            (20.0, 2.086, 2.845),
            (29.0, 2.045, 2.756),
            (30.0, 2.042, 2.750),
            (60.0, 2.000, 2.660),
            (120.0, 1.980, 2.617),
        ];
        for (df, at_95, at_99) in table {
            assert!((t_quantile(0.975, df) - at_95).abs() < 5.1e-4, "df {df}: {}", t_quantile(0.975, df));
            assert!((t_quantile(0.995, df) - at_99).abs() < 5.1e-4, "df {df}: {}", t_quantile(0.995, df));
        }
    }

    /// With one and two degrees of freedom the quantile has a closed form.
    #[test]
    fn closed_forms_agree() {
        for p in [0.001, 0.2, 0.4999, 0.6, 0.9, 0.975, 0.9995] {
            let cauchy = libm::tan(std::f64::consts::PI * (p - 0.5));
            let two = (2.0 * p - 1.0) * (2.0 / (4.0 * p * (1.0 - p))).sqrt();
            assert!((t_quantile(p, 1.0) / cauchy - 1.0).abs() < 1e-11, "p {p}: {} {cauchy}", t_quantile(p, 1.0));
            assert!((t_quantile(p, 2.0) / two - 1.0).abs() < 1e-11, "p {p}: {} {two}", t_quantile(p, 2.0));
        }
    }

    /// The first terms of the expansion about the normal quantile, Abramowitz and Stegun 26.7.5.
    #[test]
    fn many_degrees_of_freedom_approach_the_normal_distribution() {
        let z: f64 = 1.959_963_984_540_054;
        for (df, tolerance) in [(1e3, 1e-8), (1e4, 1e-9), (1e6, 1e-8)] {
            let first = (z * z * z + z) / 4.0;
            let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
            let expected = z + first / df + second / (df * df);
            assert!((t_quantile(0.975, df) - expected).abs() < tolerance, "df {df}: {}", t_quantile(0.975, df));
        }
    }

    #[test]
    fn ends_and_nonsense() {
        assert_eq!(t_quantile(0.5, 7.0), 0.0);
        assert_eq!(t_quantile(1.0, 7.0), f64::INFINITY);
        assert_eq!(t_quantile(0.0, 7.0), f64::NEG_INFINITY);
        assert!(t_quantile(1.1, 7.0).is_nan() && t_quantile(0.9, 0.0).is_nan() && t_quantile(f64::NAN, 3.0).is_nan());
    }
}
