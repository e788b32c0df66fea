//! Greedy collection of uniform random writes.

use super::lambert::lambert_w0;

/// The mean field of greedy collection with blocks of `pages` pages: the limit of d choices among ever more blocks. With H the
/// harmonic numbers, a collected block has v = b (1 - (H_b - H_j + 1) / alpha) / (1 - b / (alpha j)) valid pages, where j is the
/// integer with j - 1 <= v <= j.
pub fn greedy(alpha: f64, pages: u32) -> f64 {
    let b = f64::from(pages);
    // H_b - H_j, summed from the end.
    let mut above = 0.0;
    let mut best: Option<(f64, f64)> = None;
    for whole in (1..=pages).rev() {
        let j = f64::from(whole);
        let v = b * (1.0 - (above + 1.0) / alpha) / (1.0 - b / (alpha * j));
        // How far v lies outside of its interval: rounding may leave it just outside of every one.
        let outside = (j - 1.0 - v).max(v - j).max(0.0);
        if v.is_finite() && v >= 0.0 && v < b && best.is_none_or(|(least, _)| outside < least) {
            best = Some((outside, v));
        }
        above += 1.0 / j;
    }
    // Below one valid page a block is mostly empty when it is collected.
    best.map_or(1.0, |(_, v)| b / (b - v))
}

/// The closed form of Desnoyers (2012), which is up to 2.3 % off for small blocks and little spare area.
pub fn greedy_desnoyers(alpha: f64, pages: u32) -> f64 {
    let b = f64::from(pages);
    let k = 1.0 + 1.0 / (2.0 * b);
    let x0 = 0.5 - b / alpha * lambert_w0(-k * alpha * (-k * alpha).exp());
    b / (b - (x0 - 1.0))
}
