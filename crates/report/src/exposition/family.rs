//! Metric families and their text form.

use std::collections::BTreeMap;

/// A family's name and description.
#[derive(Clone, Debug)]
pub(super) struct Metric {
    pub(super) name: String,
    pub(super) help: String,
    pub(super) is_counter: bool,
    /// Whether canonical values are nanoseconds.
    pub(super) is_time: bool,
}

impl Metric {
    /// A canonical value in the metric's own unit.
    pub(super) fn value(&self, canonical: u64) -> String {
        if self.is_time { seconds(canonical) } else { canonical.to_string() }
    }
}

/// Nanoseconds as exact seconds.
pub(super) fn seconds(ns: u64) -> String {
    let (whole, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = format!("{rest:09}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

/// Escaped label names and values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Labels(String);

impl Labels {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(name);
        self.0.push_str("=\"");
        for character in value.chars() {
            match character {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' => self.0.push_str("\\n"),
                other => self.0.push(other),
            }
        }
        self.0.push('"');
        self
    }
}

/// A family's header and its lines.
#[derive(Debug)]
struct Family {
    help: String,
    is_counter: bool,
    lines: String,
}

/// All families by name: the format requires the lines of a family to be adjacent.
#[derive(Debug, Default)]
pub(super) struct Families(BTreeMap<String, Family>);

impl Families {
    /// Adds a level.
    pub(super) fn gauge(&mut self, name: &str, help: &str, labels: &Labels, value: &str) {
        let metric = Metric { name: name.into(), help: help.into(), is_counter: false, is_time: false };
        self.add(&metric, labels, value);
    }

    /// Adds a counter.
    pub(super) fn counter(&mut self, name: &str, help: &str, labels: &Labels, value: &str) {
        let metric = Metric { name: name.into(), help: help.into(), is_counter: true, is_time: false };
        self.add(&metric, labels, value);
    }

    /// Adds a line to the family of `metric`.
    pub(super) fn add(&mut self, metric: &Metric, labels: &Labels, value: &str) {
        if !self.0.contains_key(&metric.name) {
            let Metric { name, help, is_counter, .. } = metric.clone();
            self.0.insert(name, Family { help, is_counter, lines: String::new() });
        }
        let Some(family) = self.0.get_mut(&metric.name) else { return };
        for part in [&metric.name, "{", &labels.0, "} ", value, "\n"] {
            family.lines.push_str(part);
        }
    }

    /// The whole document.
    pub(super) fn into_text(self) -> String {
        let mut text = String::new();
        for (name, family) in self.0 {
            let kind = if family.is_counter { "counter" } else { "gauge" };
            text.push_str(&format!("# HELP {name} {}\n# TYPE {name} {kind}\n", family.help));
            text.push_str(&family.lines);
        }
        text
    }
}
