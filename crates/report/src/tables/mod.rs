//! The tables of a load run, built once for text and HTML.

mod latency;
mod resources;

use iostall_measure::platform::Target;
use iostall_model::outcome::SpanOutcome;

use crate::table::Table;

pub(crate) use latency::{ladder, percentile_cell};
pub use latency::{percentiles, results};
pub use resources::{cpu, devices, errors, open_loop};

/// The tables that follow the results of a span, those that have something to say.
pub fn below_results(span: &SpanOutcome, targets: &[Target]) -> Vec<Table> {
    let tables = [open_loop(span), cpu(span), devices(span), errors(span, targets)];
    tables.into_iter().flatten().collect()
}
