//! The spare area that a wanted amplification needs.

use std::ops::ControlFlow;

use iostall_model::flash::FlashSettings;
use iostall_model::kinds::{Between, SpareFor};
use iostall_stats::confidence::{LEVEL, estimate};

use crate::error::FlashError;
use crate::forms::nearest_form;
use crate::steady::steady;
use crate::theory::alpha_for;

/// Simulations that come nearer, and then those with other seeds, from whose scatter the interval comes.
const NEARER: u32 = 4;
const SEEDS: u32 = 5;
/// Fills of each of them.
const FILLS: u32 = 16;
/// The search stays between these, spare over user area.
const SPARE_MIN: f64 = 0.005;
const SPARE_MAX: f64 = 20.0;

/// Finds it. `None` if it was stopped, or if no spare area has that amplification. `on` gets the share that is done.
pub fn spare_for(
    settings: &FlashSettings,
    sequence: &[u32],
    wanted: f64,
    on: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<Option<SpareFor>, FlashError> {
    if !(wanted > 1.0 && wanted <= 100.0) {
        return Err(FlashError::Wanted { wanted });
    }
    let spare_by_form = alpha_for(wanted, |alpha| nearest_form(settings, alpha)).map(|alpha| alpha - 1.0);
    let mut search = Search { settings, sequence, on, runs: 0 };
    // What is bad is no spare area.
    let spare_min = (1.0 + SPARE_MIN) / (1.0 - settings.care.bad_share.clamp(0.0, 0.9)) - 1.0;
    let mut spare = spare_by_form.unwrap_or(0.1).clamp(spare_min, SPARE_MAX);
    // The amplification beyond 1 is nearly a power of the spare area, so the logarithms lie on a line.
    let mut tried: Vec<(f64, f64)> = Vec::new();
    for _ in 0..NEARER {
        let Some(found) = search.at(spare, settings.seed)? else { return Ok(None) };
        tried.push((spare.ln(), (found - 1.0).max(1e-6).ln()));
        let next = (spare.ln() + ((wanted - 1.0).ln() - (found - 1.0).max(1e-6).ln()) / slope(&tried)).exp();
        spare = next.clamp(spare / 4.0, spare * 4.0).clamp(spare_min, SPARE_MAX);
    }
    let mut spares = Vec::new();
    for number in 1..=SEEDS {
        let seed = settings.seed.wrapping_add(u64::from(number));
        let Some(found) = search.at(spare, seed)? else { return Ok(None) };
        // What this seed would have needed instead.
        let missing = (wanted - 1.0).ln() - (found - 1.0).max(1e-6).ln();
        spares.push((spare.ln() + missing / slope(&tried)).exp());
    }
    let Some(found) = estimate(&spares, LEVEL) else { return Ok(None) };
    if (found.mean - spare).abs() > spare / 2.0 {
        return Err(FlashError::OutOfReach { wanted });
    }
    let (low, high) = ((found.mean - found.half_width).max(0.0), found.mean + found.half_width);
    let spare = Between { mean: found.mean, low, high };
    Ok(Some(SpareFor { write_amplification: wanted, spare, spare_by_form }))
}

/// How the logarithm of the amplification beyond 1 changes with that of the spare area: from the last two, if they are apart.
fn slope(tried: &[(f64, f64)]) -> f64 {
    const SLOPE_USUAL: f64 = -1.3;
    if let [.., (x0, y0), (x1, y1)] = tried
        && (x1 - x0).abs() > 0.005
    {
        return ((y1 - y0) / (x1 - x0)).clamp(-20.0, -0.3);
    }
    // They are close together, so a slope further back is better known.
    match tried {
        [rest @ .., _] if rest.len() > 1 => slope(rest),
        _ => SLOPE_USUAL,
    }
}

struct Search<'a> {
    settings: &'a FlashSettings,
    sequence: &'a [u32],
    on: &'a mut dyn FnMut(f64) -> ControlFlow<()>,
    runs: u32,
}

impl Search<'_> {
    /// The amplification with `spare`; `None` if it was stopped.
    fn at(&mut self, spare: f64, seed: u64) -> Result<Option<f64>, FlashError> {
        let settings = FlashSettings { alpha: 1.0 + spare, seed, ..self.settings.clone() };
        let (runs, on) = (f64::from(self.runs), &mut *self.on);
        let mut part = |done: f64| on((runs + done) / f64::from(NEARER + SEEDS));
        let found = steady(&settings, self.sequence, FILLS, &mut part)?;
        self.runs += 1;
        Ok(found.write_amplification().map(|between| between.mean))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{assert_near, settings};

    #[test]
    fn the_spare_area_found_is_that_of_the_formula_and_the_interval_holds_it() {
        for wanted in [1.5, 2.403, 4.531] {
            let found = spare_for(&settings(1.2, 64, 2000), &[], wanted, &mut |_| ControlFlow::Continue(()));
            let found = found.unwrap().unwrap();
            let by_form = found.spare_by_form.unwrap();
            assert_near(found.spare.mean, by_form, 0.01, &format!("{wanted}"));
            let width = (found.spare.high - found.spare.low) / found.spare.mean;
            assert!(width > 0.0 && width < 0.02, "{found:?}");
        }
    }

    #[test]
    fn impossible_wishes_are_refused() {
        let settings = settings(1.2, 64, 200);
        let mut on = |_: f64| ControlFlow::Continue(());
        for wanted in [1.0, 0.5, f64::NAN, 101.0] {
            assert!(matches!(spare_for(&settings, &[], wanted, &mut on), Err(FlashError::Wanted { .. })));
        }
        assert_eq!(spare_for(&settings, &[], 2.0, &mut |_| ControlFlow::Break(())).unwrap(), None);
    }
}
