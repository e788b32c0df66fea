//! Data of which parts are written more often than others.

use iostall_model::flash::WriteClass;

use crate::zipf::share_of_first;

/// FIFO collection without separation: A(tau) = sum r_i / (1 - e^(-r_i tau / f_i)) at the tau with A(tau) tau = alpha, where class
/// i has the share f_i of the data and r_i of the writes.
pub fn fifo_classes(alpha: f64, classes: &[WriteClass]) -> f64 {
    // x / (1 - e^-x), which is 1 for data that is never written.
    let weight = |x: f64| if x.abs() < 1e-12 { 1.0 } else { x / -(-x).exp_m1() };
    let area = |tau: f64| -> f64 {
        classes
            .iter()
            .map(|class| class.data_share * weight(class.write_share * tau / class.data_share))
            .sum()
    };
    let (mut low, mut high) = (0.0, alpha.max(1.0));
    while area(high) < alpha {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if area(middle) < alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    alpha / f64::midpoint(low, high)
}

/// Classes with blocks of their own, and the best distribution of the spare area among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Separated {
    /// Pages programmed for each page that the host writes.
    pub write_amplification: f64,
    pub spare_shares: Vec<f64>,
}

/// The least write amplification of separated classes, each of which has `alone(alpha)` with its part of the spare area:
/// A = sum r_i alone(1 + s_i / f_i) with the s_i adding up to alpha - 1. Spare is exchanged between pairs of classes until none gains.
pub fn separated(alpha: f64, classes: &[WriteClass], alone: impl Fn(f64) -> f64) -> Separated {
    let whole = alpha - 1.0;
    // Half by data and half by writes: near the best for usual classes.
    let start = |class: &WriteClass| whole * f64::midpoint(class.data_share, class.write_share);
    let mut spares: Vec<f64> = classes.iter().map(start).collect();
    let cost = |class: &WriteClass, spare: f64| {
        if class.write_share <= 0.0 { 0.0 } else { class.write_share * alone(1.0 + spare / class.data_share) }
    };
    for _ in 0..if classes.len() > 2 { 20 } else { 1 } {
        for first in 0..classes.len() {
            for second in first + 1..classes.len() {
                let both = spares[first] + spares[second];
                let of_share = |share: f64| {
                    cost(&classes[first], both * share) + cost(&classes[second], both * (1.0 - share))
                };
                let share = minimum(of_share, 1e-4, 1.0 - 1e-4);
                (spares[first], spares[second]) = (both * share, both * (1.0 - share));
            }
        }
    }
    let costs = classes.iter().zip(&spares).map(|(class, spare)| cost(class, *spare));
    Separated {
        write_amplification: costs.sum(),
        spare_shares: spares.iter().map(|part| part / whole).collect(),
    }
}

/// Where a function with one valley is least, by golden sections.
fn minimum(cost: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    const SECTION: f64 = 0.618_033_988_749_894_9;
    let (mut low, mut high) = (low, high);
    let (mut left, mut right) = (high - SECTION * (high - low), low + SECTION * (high - low));
    let (mut at_left, mut at_right) = (cost(left), cost(right));
    for _ in 0..60 {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - SECTION * (high - low);
            at_left = cost(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + SECTION * (high - low);
            at_right = cost(right);
        }
    }
    f64::midpoint(low, high)
}

/// Zipf's law on `pages` pages as classes of pages that are written about equally often, for the closed forms.
pub fn zipf_classes(pages: u32, theta: f64) -> Vec<WriteClass> {
    /// Each class has so many times the pages of those before it.
    const GROWTH: f64 = 1.05;
    let count = f64::from(pages);
    let (mut classes, mut done, mut share_done) = (Vec::new(), 0.0, 0.0);
    while done < count {
        let end = (done * GROWTH).floor().max(done + 1.0).min(count);
        let share = share_of_first(end, count, theta);
        classes.push(WriteClass { data_share: (end - done) / count, write_share: share - share_done });
        (done, share_done) = (end, share);
    }
    classes
}
