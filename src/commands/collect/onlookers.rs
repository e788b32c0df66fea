//! Those who look at what a collector reads while it reads: the page for Prometheus, and alerts.
//!
//! They see each event after it happened and never hold it up.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use iostall_model::{Sample, delta};
use iostall_watch::Event;

use super::judging::Alerts;
use super::metrics::Metrics;
use crate::cli::RunArgs;
use crate::printer::Printer;

/// How long to wait for an event before looking at the time.
const WAIT: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Onlookers {
    /// The newest sample of each source, where anybody looks.
    before: Vec<Option<Arc<Sample>>>,
    metrics: Option<Metrics>,
    alerts: Option<Alerts>,
}

impl Onlookers {
    /// Starts those that were asked for, so that what is wrong with them is said before the first sample.
    pub(super) fn start(args: &RunArgs, names: &[&str], printer: &Printer) -> anyhow::Result<Self> {
        let alerts = args.alerts.as_ref().map(|path| Alerts::start(path, args.interval, names, printer));
        let metrics = args.metrics.as_ref().map(|address| Metrics::start(address, names, printer));
        Ok(Self {
            before: vec![None; names.len()],
            alerts: alerts.transpose()?,
            metrics: metrics.transpose()?,
        })
    }

    /// The next event, once they have seen it; `None` when there are no more.
    pub(super) fn next(&mut self, events: &Receiver<Event>, printer: &Printer) -> Option<Event> {
        loop {
            let received = events.recv_timeout(WAIT);
            if let Ok(event) = &received {
                self.see(event, printer);
            }
            if let Some(alerts) = &mut self.alerts {
                alerts.tick(printer);
            }
            match received {
                Ok(event) => return Some(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Has what they still have to do done.
    pub(super) fn finish(self, printer: &Printer) {
        if let Some(alerts) = self.alerts {
            alerts.finish(printer);
        }
    }

    fn see(&mut self, event: &Event, printer: &Printer) {
        if self.metrics.is_none() && self.alerts.is_none() {
            return;
        }
        match event {
            Event::Sample { source, sample } => {
                let sample = Arc::new(sample.clone());
                let before = self.before[*source].replace(Arc::clone(&sample));
                let changes = before.map(|before| delta::compare(&before, &sample)).unwrap_or_default();
                if let Some(metrics) = &self.metrics {
                    metrics.sample(*source, &sample, &changes);
                }
                if let Some(alerts) = &mut self.alerts {
                    alerts.sample(*source, &sample.rows, &changes, printer);
                }
            }
            Event::Missed(missed) => {
                if let Some(metrics) = &self.metrics {
                    metrics.gap(missed.source, missed.gap.missed);
                }
                if let Some(alerts) = &mut self.alerts {
                    alerts.gap(missed.source, printer);
                }
            }
        }
    }
}
