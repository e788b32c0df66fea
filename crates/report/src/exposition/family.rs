//! Metric families and their text form.

use std::collections::BTreeMap;

use iostall_model::metric::{Labels, Metric};

/// A canonical value in the unit of `metric`.
pub(super) fn value(metric: &Metric, canonical: u64) -> String {
    if metric.is_time { seconds(canonical) } else { canonical.to_string() }
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

/// Label names and escaped values, as they stand between the braces.
pub(super) fn escaped(labels: &Labels) -> String {
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
pub(super) struct Families(BTreeMap<String, Family>);

impl Families {
    pub(super) fn gauge(&mut self, name: &str, help: &str, labels: &str, value: &str) {
        let metric = Metric { name: name.into(), help: help.into(), is_counter: false, is_time: false };
        self.add(&metric, labels, value);
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, labels: &str, value: &str) {
        let metric = Metric { name: name.into(), help: help.into(), is_counter: true, is_time: false };
        self.add(&metric, labels, value);
    }

    pub(super) fn add(&mut self, metric: &Metric, labels: &str, value: &str) {
        if !self.0.contains_key(&metric.name) {
            let Metric { name, help, is_counter, .. } = metric.clone();
            self.0.insert(name, Family { help, is_counter, lines: String::new() });
        }
        let Some(family) = self.0.get_mut(&metric.name) else { return };
        for part in [&metric.name, "{", labels, "} ", value, "\n"] {
            family.lines.push_str(part);
        }
    }

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
