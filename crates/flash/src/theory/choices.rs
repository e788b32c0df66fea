//! Collection of the best of d random blocks, with uniform random writes.

/// The mean field of d choices (Van Houdt 2013) with blocks of `pages` pages: the fixed point of
/// dw_i/dt = 1 - w_i^d - (b - sum w_j^d) i (w_i - w_(i+1)) alpha / b, where w_i is the share of blocks with at least i valid pages.
pub fn choices(alpha: f64, pages: u32, count: u32) -> f64 {
    let b = f64::from(pages);
    if count <= 1 {
        return alpha / (alpha - 1.0);
    }
    let mut shares = start(alpha, pages);
    let mut slopes = vec![0.0; shares.len()];
    let mut half = shares.clone();
    // The fastest rates are those of the fullest blocks, and of the power.
    let step = 1.0 / (f64::from(count) + b * alpha);
    let mut moved_before = f64::INFINITY;
    for turn in 0..2_000_000u32 {
        slopes_at(&shares, &mut slopes, alpha, count);
        for (middle, (share, slope)) in half.iter_mut().zip(shares.iter().zip(&slopes)) {
            *middle = (share + slope * step / 2.0).clamp(0.0, 1.0);
        }
        slopes_at(&half, &mut slopes, alpha, count);
        for (share, slope) in shares.iter_mut().zip(&slopes) {
            *share = (*share + slope * step).clamp(0.0, 1.0);
        }
        if turn % 1000 == 999 {
            let moved = collected(&shares, count);
            if (moved - moved_before).abs() < 1e-9 * b {
                break;
            }
            moved_before = moved;
        }
    }
    b / (b - collected(&shares, count))
}

/// Valid pages of a collected block, on average.
fn collected(shares: &[f64], count: u32) -> f64 {
    shares.iter().map(|share| power(*share, count)).sum()
}

/// Blocks as random writes leave them: every page is valid with the probability 1 / alpha. Their mean is what matters: it never
/// changes.
fn start(alpha: f64, pages: u32) -> Vec<f64> {
    let mean = f64::from(pages) / alpha;
    // A straight fall from 1 to 0 whose sum is the mean.
    let width = (2.0 * (f64::from(pages) - mean)).min(2.0 * mean);
    let first = mean - width / 2.0;
    (1..=pages).map(|i| (1.0 - (f64::from(i) - 0.5 - first) / width.max(1e-9)).clamp(0.0, 1.0)).collect()
}

fn slopes_at(shares: &[f64], slopes: &mut [f64], alpha: f64, count: u32) {
    let b = shares.len() as f64;
    let rate = (b - collected(shares, count)) * alpha / b;
    for (at, slope) in slopes.iter_mut().enumerate() {
        let next = shares.get(at + 1).copied().unwrap_or(0.0);
        *slope = 1.0 - power(shares[at], count) - rate * (at + 1) as f64 * (shares[at] - next);
    }
}

#[inline]
fn power(share: f64, count: u32) -> f64 {
    share.powi(i32::try_from(count).unwrap_or(i32::MAX))
}
