//! Those who look at what a collector reads while it reads: the page for Prometheus.
//!
//! They see each event after it happened and never hold it up.

use std::sync::Arc;

use iostall_collect::Event;
use iostall_model::{Sample, delta};

use super::metrics::Metrics;
use crate::cli::RunArgs;
use crate::printer::Printer;

/// See the module.
pub(super) struct Onlookers {
    /// The newest sample of each source, where anybody looks.
    before: Vec<Option<Arc<Sample>>>,
    metrics: Option<Metrics>,
}

impl Onlookers {
    /// Starts those that were asked for, so that what is wrong with them is said before the first sample.
    pub(super) fn start(args: &RunArgs, names: &[&str], printer: &Printer) -> anyhow::Result<Self> {
        let metrics =
            args.metrics.as_ref().map(|address| Metrics::start(address, names, printer)).transpose()?;
        Ok(Self { before: vec![None; names.len()], metrics })
    }

    /// Shows them what happened.
    pub(super) fn see(&mut self, event: &Event) {
        let Some(metrics) = &self.metrics else { return };
        match event {
            Event::Sample { source, sample } => {
                let sample = Arc::new(sample.clone());
                let before = self.before[*source].replace(Arc::clone(&sample));
                let changes = before.map(|before| delta::compare(&before, &sample)).unwrap_or_default();
                metrics.sample(*source, &sample, &changes);
            }
            Event::Gap(gap) => metrics.gap(gap.source, gap.beats),
        }
    }
}
