//! Tails of the normal and of Student's t distribution, and the values that leave a given tail.

use std::f64::consts::PI;

/// With more degrees of freedom Student's t is the normal distribution to seven digits.
const FREEDOM_OF_NORMAL: f64 = 1e8;

/// Enough for [`FREEDOM_OF_NORMAL`]: the fraction takes about as many steps as the root of the degrees.
const STEPS_MAX: u32 = 100_000;

/// Probability of a standard normal value above `z`, `z` not below 0. By Marsaglia's series ("Evaluating the Normal
/// Distribution", Journal of Statistical Software 11, 2004), which is exact to 1e-15, but not relative to a tiny tail.
fn normal_tail(z: f64) -> f64 {
    if z > 9.0 {
        return 0.0;
    }
    let (mut sum, mut term, mut odd) = (z, z, 3.0);
    while term > 0.0 && sum + term > sum {
        term *= z * z / odd;
        sum += term;
        odd += 2.0;
    }
    (0.5 - sum * (-z * z / 2.0).exp() / (2.0 * PI).sqrt()).max(0.0)
}

/// The standard normal value that the share `tail` lies above, `tail` between 0 and a half.
pub(crate) fn normal_above(tail: f64) -> f64 {
    above(tail, normal_tail)
}

/// Probability of a value of Student's t with `freedom` degrees of freedom above `t`, `t` not below 0.
pub(crate) fn student_tail(t: f64, freedom: f64) -> f64 {
    if freedom > FREEDOM_OF_NORMAL {
        return normal_tail(t);
    }
    // Abramowitz and Stegun, 26.7.1 and 26.5.27.
    let square = t * t;
    0.5 * incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + square), square / (freedom + square))
}

/// The value of Student's t with `freedom` degrees of freedom that the share `tail` lies above, `tail` between 0 and a half.
pub(crate) fn student_above(tail: f64, freedom: f64) -> f64 {
    above(tail, |t| student_tail(t, freedom))
}

/// Where the falling `tail_of` crosses `tail`, by halving.
fn above(tail: f64, tail_of: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while high < 1e150 && tail_of(high) > tail {
        (low, high) = (high, high * 2.0);
    }
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        if tail_of(middle) > tail { low = middle } else { high = middle }
    }
}

/// The regularized incomplete beta function of `x`; `rest` is 1 - `x`, which a difference would round. By the continued fraction
/// 8.17.22 of the NIST Digital Library of Mathematical Functions, evaluated by Lentz's method (Applied Optics 15, 1976).
fn incomplete_beta(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    if x <= 0.0 || rest.is_nan() {
        return 0.0;
    }
    if rest <= 0.0 {
        return 1.0;
    }
    // The other side converges faster there.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, rest, x);
    }
    let not_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut numerators = 1.0;
    let mut denominators = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = denominators;
    for step in (1..=STEPS_MAX).map(f64::from) {
        let place = a + 2.0 * step;
        let even = step * (b - step) * x / ((place - 1.0) * place);
        let odd = -(a + step) * (a + b + step) * x / (place * (place + 1.0));
        let before = fraction;
        for part in [even, odd] {
            denominators = 1.0 / not_zero(1.0 + part * denominators);
            numerators = not_zero(1.0 + part / numerators);
            fraction *= numerators * denominators;
        }
        if (fraction - before).abs() <= fraction.abs() * 1e-16 {
            break;
        }
    }
    let ln_beta = ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
    (a * x.ln() + b * rest.ln() - ln_beta).exp() * fraction / a
}

/// The logarithm of the gamma function of `x` above 0: Stirling's series (Abramowitz and Stegun, 6.1.41), from 10 on, where six
/// terms are exact to 1e-16.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0);
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    let terms = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
    let series = terms.iter().rev().fold(0.0, |sum, term| sum / (x * x) + term) / x;
    (x - 0.5) * x.ln() - x + (2.0 * PI).ln() / 2.0 + series - f64::ln(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: f64, known: f64, error: f64) {
        assert!((found - known).abs() <= error * known.abs(), "{found:e} instead of {known:e}");
    }

    /// One degree of freedom is Cauchy's distribution and two have a closed form too, so every digit is known.
    #[test]
    fn the_tails_of_one_and_two_degrees_of_freedom_are_those_of_their_formulas() {
        for t in [1e-6, 0.1, 0.5, 1.0, 2.0, 12.7, 1e3, 1e6] {
            assert_near(student_tail(t, 1.0), f64::atan2(1.0, t) / PI, 1e-13);
            let root = (2.0 + t * t).sqrt();
            assert_near(student_tail(t, 2.0), 1.0 / (root * (root + t)), 1e-13);
        }
        assert!(student_tail(0.0, 7.0).to_bits() == 0.5_f64.to_bits());
    }

    /// The printed table of two-sided 95 % and 99 % values.
    #[test]
    fn the_quantiles_are_those_of_the_printed_table() {
        let table = [
            (1.0, 12.706_204_736, 63.656_741_163),
            (2.0, 4.302_652_730, 9.924_843_201),
            (4.0, 2.776_445_105, 4.604_094_871),
            (8.0, 2.306_004_135, 3.355_387_331),
            (30.0, 2.042_272_456, 2.749_995_654),
            (120.0, 1.979_930_405, 2.617_421_145),
        ];
        for (freedom, of_95, of_99) in table {
            assert_near(student_above(0.025, freedom), of_95, 1e-9);
            assert_near(student_above(0.005, freedom), of_99, 1e-9);
        }
        assert_near(normal_above(0.025), 1.959_963_984_540_054, 1e-13);
        assert_near(normal_above(0.005), 2.575_829_303_548_901, 1e-13);
        assert_near(normal_above(0.000_5), 3.290_526_731_491_926, 1e-12);
    }

    #[test]
    fn many_degrees_of_freedom_become_the_normal_distribution() {
        for t in [0.1, 1.0, 1.96, 4.0] {
            assert_near(student_tail(t, 1e8), normal_tail(t), 1e-6);
            assert_near(student_tail(t, f64::INFINITY), normal_tail(t), 1e-15);
        }
        assert_near(student_above(0.025, 1e6), 1.959_966_356, 1e-9);
    }

    #[test]
    fn a_quantile_leaves_the_tail_that_was_asked_for() {
        for freedom in [0.3, 0.5, 1.5, 3.7, 25.0, 480.0, 12_345.6] {
            for tail in [0.5, 0.4, 0.1, 0.025, 1e-4, 1e-9] {
                assert_near(student_tail(student_above(tail, freedom), freedom), tail, 1e-9);
            }
        }
    }
}
