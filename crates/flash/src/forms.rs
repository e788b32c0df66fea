//! The closed forms that stand beside a simulation.

use iostall_model::flash::{Collect, FlashSettings, Separation, WriteClass, WritePattern};
use iostall_model::kinds::ClosedForm;

use crate::theory::{
    agarwal_marrow, choices, effective_alpha, fifo, fifo_classes, greedy, live_share, separated, zipf_classes,
};

/// Those that say something about `settings`, the nearest first. Trims count as spare area.
pub fn closed_forms(settings: &FlashSettings) -> Vec<ClosedForm> {
    let alpha = effective(settings, settings.alpha);
    let pages = settings.pages_per_block;
    let mut forms = Vec::new();
    let mut add = |name: &str, write_amplification: f64, is_same: bool| {
        forms.push(ClosedForm { name: name.to_owned(), write_amplification, is_same });
    };
    match &settings.pattern {
        WritePattern::Sequential => add("sequential writes move nothing", 1.0, true),
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
    if settings.separation == Separation::Classes {
        add("greedy, each class with the best part of the spare area", apart, false);
    }
    add("FIFO without separation", fifo_classes(alpha, classes), is_fifo);
    if settings.separation != Separation::Classes {
        add("greedy, each class with the best part of the spare area", apart, false);
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
