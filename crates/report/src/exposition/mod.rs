//! Sampled counters in the text format that Prometheus scrapes (version 0.0.4).
//!
//! Counters are exported as read, cumulative and in base units: Prometheus computes rates and detects resets
//! itself. With them comes what only the collector knows: whether a source answers, how old its last sample
//! is, and how many intervals were lost to resets, and why.

use std::collections::{BTreeMap, HashMap};

use iostall_model::metric::{Labels, Metric, labelled};
use iostall_model::{Counter, Kind, ResetReason, Row};
use iostall_watch::{Figure, SourceNow};

pub use iostall_model::metric::{METRIC_NAMES_OF_SOURCES, metric_names};

#[cfg(test)]
mod tests;

pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a program says of itself.
pub fn of_program(version: &str, figures: &[Figure]) -> String {
    exposition(&[], figures, version)
}

pub fn exposition(sources: &[SourceNow], figures: &[Figure], version: &str) -> String {
    let mut families = Families::default();
    let build = escaped(&Labels::default().with("version", version));
    families.gauge("iostall_build_info", "The iostall that answers; always 1.", &build, "1");
    for figure in figures {
        let named = figure.label.as_ref().map(|(name, value)| Labels::default().with(name, value));
        let (labels, value) = (escaped(&named.unwrap_or_default()), figure.value.to_string());
        if figure.is_counter {
            families.counter(figure.name, figure.help, &labels, &value);
        } else {
            families.gauge(figure.name, figure.help, &labels, &value);
        }
    }
    for source in sources {
        add_source(&mut families, source);
        // Stale values would look like an idle source, so they are left out.
        if let Some(sample) = source.last.as_ref().filter(|_| source.is_up) {
            add_rows(&mut families, &source.name, &sample.rows);
        }
    }
    families.into_text()
}

fn add_source(families: &mut Families, source: &SourceNow) {
    let of_source = Labels::of_source(&source.name);
    let labels = escaped(&of_source);
    let up = if source.is_up { "1" } else { "0" };
    families.gauge("iostall_source_up", "Whether the newest tick gave a sample.", &labels, up);
    if let Some(age_ns) = source.age_ns {
        let help = "Time since the newest sample of the source arrived.";
        families.gauge("iostall_source_last_sample_age_seconds", help, &labels, &seconds(age_ns));
    }
    if let Some(sample) = &source.last {
        let help = "What the source could not tell in its newest sample: missing grants and settings.";
        families.gauge("iostall_source_warnings", help, &labels, &sample.warnings.len().to_string());
    }
    let help = "Samples since the collector started.";
    families.counter("iostall_source_samples_total", help, &labels, &source.samples.to_string());
    let help = "Missed samples since the collector started.";
    families.counter("iostall_source_gaps_total", help, &labels, &source.gaps.to_string());
    for reason in ResetReason::ALL {
        let labels = escaped(&of_source.clone().with("reason", reason.name()));
        let count = source.resets.get(&reason).copied().unwrap_or(0);
        let help = "Intervals of rows that could not be counted, by reason, since the collector started.";
        families.counter("iostall_source_resets_total", help, &labels, &count.to_string());
    }
}

fn add_rows(families: &mut Families, source: &str, rows: &[Row]) {
    // Names and descriptions are the same for thousands of rows.
    let mut metrics: HashMap<(Kind, Counter), Option<Metric>> = HashMap::new();
    for (row, labels) in labelled(source, rows) {
        let (kind, labels) = (row.subject.kind, escaped(&labels));
        for (counter, raw) in row.counters.iter() {
            if let Some(metric) = metrics.entry((kind, counter)).or_insert_with(|| Metric::of(kind, counter))
            {
                let value = value(metric, kind.column(counter).canonical(raw));
                families.add(metric, &labels, &value);
            }
        }
    }
}

/// A canonical value in the unit of `metric`.
fn value(metric: &Metric, canonical: u64) -> String {
    if metric.is_time { seconds(canonical) } else { canonical.to_string() }
}

/// Nanoseconds as exact seconds.
fn seconds(ns: u64) -> String {
    let (whole, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = format!("{rest:09}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

/// Label names and escaped values, as they stand between the braces.
fn escaped(labels: &Labels) -> String {
    let mut text = String::new();
    for (name, value) in labels.iter() {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(name);
        text.push_str("=\"");
        for character in value.chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                other => text.push(other),
            }
        }
        text.push('"');
    }
    text
}

#[derive(Debug)]
struct Family {
    help: String,
    is_counter: bool,
    lines: String,
}

/// All families by name: the format requires the lines of a family to be adjacent.
#[derive(Debug, Default)]
struct Families(BTreeMap<String, Family>);

impl Families {
    fn gauge(&mut self, name: &str, help: &str, labels: &str, value: &str) {
        let metric = Metric { name: name.into(), help: help.into(), is_counter: false, is_time: false };
        self.add(&metric, labels, value);
    }

    fn counter(&mut self, name: &str, help: &str, labels: &str, value: &str) {
        let metric = Metric { name: name.into(), help: help.into(), is_counter: true, is_time: false };
        self.add(&metric, labels, value);
    }

    fn add(&mut self, metric: &Metric, labels: &str, value: &str) {
        if !self.0.contains_key(&metric.name) {
            let Metric { name, help, is_counter, .. } = metric.clone();
            self.0.insert(name, Family { help, is_counter, lines: String::new() });
        }
        let Some(family) = self.0.get_mut(&metric.name) else { return };
        for part in [&metric.name, "{", labels, "} ", value, "\n"] {
            family.lines.push_str(part);
        }
    }

    fn into_text(self) -> String {
        let mut text = String::new();
        for (name, family) in self.0 {
            let kind = if family.is_counter { "counter" } else { "gauge" };
            text.push_str(&format!("# HELP {name} {}\n# TYPE {name} {kind}\n", family.help));
            text.push_str(&family.lines);
        }
        text
    }
}
