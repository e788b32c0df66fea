//! Time series made of samples: what every protocol sends, in its own form.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use iostall_model::metric::{Labels, Metric, labelled};
use iostall_model::{Counter, Kind, ResetReason, Row, Sample};
use jiff::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    /// A count, a level or seconds.
    Number(f64),
    /// The series ends here, or its source does not answer.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) at: Timestamp,
    /// When its counting was first seen: counters go on from there without a reset.
    pub(crate) since: Timestamp,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    pub(crate) metric: Arc<Metric>,
    pub(crate) labels: Labels,
    pub(crate) points: Vec<Point>,
}

/// What a source counted since it was sent first: the same numbers again after a restart, because they are stored with the position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceCounts<'a> {
    pub(crate) since: Timestamp,
    pub(crate) samples: u64,
    pub(crate) gaps: u64,
    pub(crate) resets: &'a BTreeMap<ResetReason, u64>,
}

/// Metrics by what they are made of, so that a name is built once.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    of_rows: HashMap<(Kind, Counter), Option<Arc<Metric>>>,
    of_sources: HashMap<&'static str, Arc<Metric>>,
}

impl Metrics {
    fn of(&mut self, kind: Kind, counter: Counter) -> Option<Arc<Metric>> {
        let made = self.of_rows.entry((kind, counter));
        made.or_insert_with(|| Metric::of(kind, counter).map(Arc::new)).clone()
    }

    fn of_source(&mut self, name: &'static str, help: &str) -> Arc<Metric> {
        let made = self.of_sources.entry(name).or_insert_with(|| {
            let is_counter = name.ends_with("_total");
            Arc::new(Metric { name: name.into(), help: help.into(), is_counter, is_time: false })
        });
        Arc::clone(made)
    }
}

pub(crate) struct Builder<'a> {
    metrics: &'a mut Metrics,
    source: &'a str,
    all: Vec<Series>,
    /// Where the counters of a row are in `all`.
    places: HashMap<(Kind, Labels), [Option<usize>; Counter::COUNT]>,
    of_source: HashMap<(&'static str, Option<ResetReason>), usize>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(metrics: &'a mut Metrics, source: &'a str) -> Self {
        Self { metrics, source, all: Vec::new(), places: HashMap::new(), of_source: HashMap::new() }
    }

    /// The counters of `sample`, and the end of those of `before` that it lacks.
    ///
    /// `since` tells of a row when its counting was first seen.
    pub(crate) fn sample(
        &mut self,
        before: Option<&Sample>,
        sample: &Sample,
        since: &dyn Fn(&Row) -> Timestamp,
    ) {
        let at = sample.taken.utc;
        if let Some(before) = before.filter(|before| !has_same_series(before, sample)) {
            self.end_but(before, &sample.rows, at);
        }
        for (row, labels) in labelled(self.source, &sample.rows) {
            let (kind, since) = (row.subject.kind, since(row));
            for (counter, raw) in row.counters.iter() {
                let canonical = kind.column(counter).canonical(raw);
                self.counter(kind, &labels, counter, (since, at), |metric| {
                    let value = canonical as f64;
                    Value::Number(if metric.is_time { value / 1e9 } else { value })
                });
            }
        }
    }

    pub(crate) fn end(&mut self, before: &Sample, at: Timestamp) {
        self.end_but(before, &[], at);
    }

    /// What is known of the source as a whole, and how many warnings it gave; `None` if it did not answer.
    pub(crate) fn source(&mut self, at: Timestamp, counts: SourceCounts<'_>, warnings: Option<usize>) {
        let times = (counts.since, at);
        let up = if warnings.is_some() { 1.0 } else { 0.0 };
        self.of_source("iostall_source_up", "Whether the newest tick gave a sample.", None, times, up);
        if let Some(warnings) = warnings {
            let help = "What the source could not tell in its newest sample: missing grants and settings.";
            self.of_source("iostall_source_warnings", help, None, times, warnings as f64);
        }
        let help = "Samples since the source was sent first.";
        self.of_source("iostall_source_samples_total", help, None, times, counts.samples as f64);
        let help = "Missed samples since the source was sent first.";
        self.of_source("iostall_source_gaps_total", help, None, times, counts.gaps as f64);
        for reason in ResetReason::ALL {
            let count = counts.resets.get(&reason).copied().unwrap_or(0);
            let help =
                "Intervals of rows that could not be counted, by reason, since the source was sent first.";
            self.of_source("iostall_source_resets_total", help, Some(reason), times, count as f64);
        }
    }

    pub(crate) fn finish(self) -> Vec<Series> {
        self.all
    }

    fn counter(
        &mut self,
        kind: Kind,
        labels: &Labels,
        counter: Counter,
        (since, at): (Timestamp, Timestamp),
        value: impl FnOnce(&Metric) -> Value,
    ) {
        let Some(metric) = self.metrics.of(kind, counter) else { return };
        let value = value(&metric);
        // Looking first saves a copy of the labels in all samples but the first.
        let key = (kind, labels.clone());
        let places = self.places.entry(key).or_insert([None; Counter::COUNT]);
        let place = *places[counter as usize].get_or_insert_with(|| {
            self.all.push(Series { metric, labels: labels.clone(), points: Vec::new() });
            self.all.len() - 1
        });
        self.all[place].points.push(Point { at, since, value });
    }

    fn end_but(&mut self, before: &Sample, rows: &[Row], at: Timestamp) {
        let now = labelled(self.source, rows);
        let now: HashMap<(Kind, &Labels), &Row> =
            now.iter().map(|(row, labels)| ((row.subject.kind, labels), *row)).collect();
        for (row, labels) in labelled(self.source, &before.rows) {
            let kind = row.subject.kind;
            let same = now.get(&(kind, &labels));
            for (counter, _) in row.counters.iter() {
                if same.is_none_or(|same| same.counters.get(counter).is_none()) {
                    self.counter(kind, &labels, counter, (at, at), |_| Value::Gone);
                }
            }
        }
    }

    fn of_source(
        &mut self,
        name: &'static str,
        help: &str,
        reason: Option<ResetReason>,
        (since, at): (Timestamp, Timestamp),
        value: f64,
    ) {
        let metric = self.metrics.of_source(name, help);
        let place = *self.of_source.entry((name, reason)).or_insert_with(|| {
            let labels = Labels::of_source(self.source);
            let labels = match reason {
                Some(reason) => labels.with("reason", reason.name()),
                None => labels,
            };
            self.all.push(Series { metric, labels, points: Vec::new() });
            self.all.len() - 1
        });
        self.all[place].points.push(Point { at, since, value: Value::Number(value) });
    }
}

/// Whether both have the same rows with the same counters, as nearly always.
fn has_same_series(before: &Sample, now: &Sample) -> bool {
    let is_same = |(before, now): (&Row, &Row)| {
        before.subject == now.subject
            && before.counters.present() == now.counters.present()
            && before.is_stale() == now.is_stale()
    };
    before.rows.len() == now.rows.len() && before.rows.iter().zip(&now.rows).all(is_same)
}
