//! Closed forms: the write amplification that each way of collecting converges to.
//!
//! `alpha` is the number of physical pages over that of user pages, above 1; the result is pages programmed for each page that the
//! host writes, at least 1 (except for [`agarwal_marrow`], which is a bound for little spare area).

mod choices;
mod classes;
mod greedy;
mod lambert;
mod performance;

pub use choices::choices;
pub use classes::{Separated, fifo_classes, separated, zipf_classes};
pub use greedy::{greedy, greedy_desnoyers};
pub use performance::{NandTimes, lifetime_bytes};

use self::lambert::lambert_w0;

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
