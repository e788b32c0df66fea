//! The closed forms that stand beside a simulation.

use iostall_model::flash::{Collect, FlashCare, FlashSettings, Separation, WriteClass, WritePattern};
use iostall_model::kinds::ClosedForm;

use crate::theory::{
    agarwal_marrow, cached, choices, effective_alpha, fifo, fifo_classes, greedy, live_share, separated,
    zipf_classes,
};

/// The least alpha that formulas are asked for.
const ALPHA_MIN: f64 = 1.0001;

/// Those that say something about `settings`, the nearest first. Trims count as spare area.
pub fn closed_forms(settings: &FlashSettings) -> Vec<ClosedForm> {
    // A search may try fewer blocks than hold the data.
    let alpha = effective(settings, settings.good_alpha().max(ALPHA_MIN));
    let pages = settings.pages_per_block;
    let mut forms = Vec::new();
    let mut add = |name: &str, write_amplification: f64, is_same: bool| {
        forms.push(ClosedForm { name: name.to_owned(), write_amplification, is_same });
    };
    match &settings.pattern {
        // A choice among random blocks takes one that is still valid before those that no longer are.
        WritePattern::Sequential => {
            let is_in_order = !matches!(settings.collect, Collect::Choices(_));
            add("sequential writes move nothing", 1.0, is_in_order);
        }
        WritePattern::Uniform => {
            let one_pool = settings.separation != Separation::Moved;
            let is = |collect| settings.collect == collect && one_pool;
            if let Collect::Choices(count) = settings.collect {
                add("d choices, mean field (Van Houdt 2013)", choices(alpha, pages, count), one_pool);
            }
            add("greedy, mean field", greedy(alpha, pages), is(Collect::Greedy));
            add("FIFO (Xiang and Kurkoski 2011; Desnoyers 2012)", fifo(alpha), is(Collect::Fifo));
            add("Agarwal and Marrow 2010", agarwal_marrow(alpha).max(1.0), false);
            forms.sort_by_key(|form| !form.is_same);
        }
        WritePattern::Classes(classes) => of_classes(settings, alpha, classes, &mut add),
        WritePattern::Zipf { theta } => {
            let classes = zipf_classes(settings.user_pages, *theta);
            let is_fifo = settings.collect == Collect::Fifo && settings.separation == Separation::None;
            add("FIFO without separation", fifo_classes(alpha, &classes), is_fifo);
        }
        WritePattern::Sequence { .. } => {
            add("greedy, if the writes were uniform", greedy(alpha, pages), false);
        }
    }
    let slc_share = settings.care.slc_share;
    if slc_share > 0.0 && settings.pattern == WritePattern::Uniform && settings.trim_share <= 0.0 {
        let cached = cached(slc_share, alpha, |alpha| greedy(alpha, pages));
        let is_same = settings.collect == Collect::Greedy && settings.separation != Separation::Moved;
        let is_all = FlashCare { slc_share: 0.0, ..settings.care }.is_area_only();
        let name = "greedy behind a cache that takes all writes".to_owned();
        let form = ClosedForm { name, write_amplification: cached, is_same: is_same && is_all };
        for other in &mut forms {
            other.is_same = false;
        }
        forms.insert(0, form);
    } else if !settings.care.is_area_only() {
        for form in &mut forms {
            form.is_same = false;
        }
    }
    forms
}

fn of_classes(
    settings: &FlashSettings,
    alpha: f64,
    classes: &[WriteClass],
    add: &mut dyn FnMut(&str, f64, bool),
) {
    let pages = settings.pages_per_block;
    let apart = separated(alpha, classes, |alpha| greedy(alpha, pages)).write_amplification;
    let is_fifo = settings.collect == Collect::Fifo && settings.separation == Separation::None;
    let is_apart = settings.separation == Separation::Classes;
    let best = "greedy, each class with the best part of the spare area";
    if is_apart {
        // Spare area that trims make is not divided anew.
        add(best, apart, settings.collect == Collect::Greedy && settings.trim_share <= 0.0);
    }
    add("FIFO without separation", fifo_classes(alpha, classes), is_fifo);
    if !is_apart {
        add(best, apart, false);
    }
}

/// The amplification at `alpha` by the form nearest to `settings`, for a first guess.
pub(crate) fn nearest_form(settings: &FlashSettings, alpha: f64) -> f64 {
    let forms = closed_forms(&FlashSettings { alpha, ..settings.clone() });
    forms.first().map_or(1.0, |form| form.write_amplification)
}

fn effective(settings: &FlashSettings, alpha: f64) -> f64 {
    effective_alpha(alpha, live_share(settings.trim_share))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The story: 3.85 was simulated, and "sequential writes move nothing, 1.00" stood beside it as the same.
    #[test]
    fn a_choice_among_random_blocks_is_not_what_sequential_writes_are_said_to_need() {
        let is_same = |collect| {
            let pattern = WritePattern::Sequential;
            let settings = FlashSettings { collect, pattern, ..crate::tests::settings(1.06, 16, 100) };
            closed_forms(&settings).iter().any(|form| form.is_same)
        };
        assert!(is_same(Collect::Greedy) && is_same(Collect::Fifo) && !is_same(Collect::Choices(5)));
    }
}
