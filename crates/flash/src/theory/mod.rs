//! Closed forms: the write amplification that each way of collecting converges to.
//!
//! `alpha` is the number of physical pages over that of user pages, above 1; the result is pages programmed for each page that the
//! host writes, at least 1 (except for [`agarwal_marrow`], which is a bound for little spare area).

mod choices;
mod classes;

pub use choices::choices;
pub use classes::{Separated, fifo_classes, separated, zipf_classes};

/// FIFO collection of uniform random writes, which least-recently-used collection equals (Menon 1995; Xiang and Kurkoski 2011;
/// Desnoyers 2012).
pub fn fifo(alpha: f64) -> f64 {
    alpha / (alpha + lambert_w0(-alpha * (-alpha).exp()))
}

/// The first published estimate for uniform random writes (Agarwal and Marrow 2010). Too low, and below 1 for an alpha above 2.
pub fn agarwal_marrow(alpha: f64) -> f64 {
    alpha / (2.0 * (alpha - 1.0))
}

/// The share of the pages that are live where `trim_share` of the requests trim a random live page and the others write a random one
/// (Frankie et al. 2012).
pub fn live_share(trim_share: f64) -> f64 {
    (1.0 - 2.0 * trim_share) / (1.0 - trim_share)
}

/// The alpha of a device of which only `share` holds live data: the rest is spare.
pub fn effective_alpha(alpha: f64, share: f64) -> f64 {
    alpha / share
}

/// Uniform random writes behind a cache of `share` of the user area that takes all of them first and gives the oldest to the device: a
/// page is not written again in `share` fills, and so leaves, with a probability of e^-share, and as many are live in the device.
pub fn cached(share: f64, alpha: f64, write_amplification: impl Fn(f64) -> f64) -> f64 {
    let leaves = (-share).exp();
    leaves * write_amplification(effective_alpha(alpha, leaves))
}

/// Finds the `alpha` at which `write_amplification`, which falls with it, is `wanted`; `None` if no alpha from 1 to 100 has it.
pub fn alpha_for(wanted: f64, write_amplification: impl Fn(f64) -> f64) -> Option<f64> {
    const ALPHA_MAX: f64 = 100.0;
    const SPARE_MIN: f64 = 1e-4;
    let (mut low, mut high) = (1.0 + SPARE_MIN, ALPHA_MAX);
    if write_amplification(low) < wanted || write_amplification(high) > wanted {
        return None;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if write_amplification(middle) > wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(f64::midpoint(low, high))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NandTimes {
    pub read_us: f64,
    pub program_us: f64,
    pub erase_us: f64,
}

impl NandTimes {
    /// Chips with two or three bits a cell, as MQSim's sample configuration has them.
    pub const TYPICAL: Self = Self { read_us: 75.0, program_us: 750.0, erase_us: 3800.0 };

    /// How long a plane is busy for each page that the host writes, microseconds, with blocks of `pages` pages.
    pub fn write_us(&self, write_amplification: f64, pages: u32) -> f64 {
        self.program_us
            + (write_amplification - 1.0) * (self.read_us + self.program_us)
            + write_amplification / f64::from(pages) * self.erase_us
    }

    /// Random writes a second, over those of a device that moves nothing.
    pub fn iops_ratio(&self, write_amplification: f64, pages: u32) -> f64 {
        self.write_us(1.0, pages) / self.write_us(write_amplification, pages)
    }
}

/// Bytes that the host can write until the blocks have been erased `cycles` times on average over `wear_spread`, the largest
/// number of erases of a block over the mean, at least 1.
pub fn lifetime_bytes(cycles: f64, physical_bytes: f64, write_amplification: f64, wear_spread: f64) -> f64 {
    cycles * physical_bytes / (write_amplification * wear_spread.max(1.0))
}

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

/// The principal branch of the inverse of w·e^w, for `z` in -1/e to 0.
fn lambert_w0(z: f64) -> f64 {
    // Near -1/e the function is a square root, where Halley's method needs this start.
    let root = (2.0 * (std::f64::consts::E * z + 1.0)).max(0.0).sqrt();
    let mut w = -1.0 + root - root * root / 3.0;
    for _ in 0..50 {
        let power = w.exp();
        let error = w * power - z;
        let slope = power * (w + 1.0) - (w + 2.0) * error / (2.0 * w + 2.0);
        let step = error / slope;
        if !step.is_finite() {
            break;
        }
        w -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_inverse_on_its_whole_range() {
        for w in [-0.999, -0.9, -0.5, -0.1, -1e-3, -1e-9] {
            let found = lambert_w0(w * f64::exp(w));
            assert!((found - w).abs() < 1e-9, "{w}: {found}");
        }
        assert!(lambert_w0(0.0).abs() < 1e-15);
    }
}
