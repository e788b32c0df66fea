//! Evaluates the rules for every sample.

use std::collections::BTreeMap;

use super::instance::{AlertInstance, Due, Evidence};
use super::notice::{About, Notice};
use super::now::Now;
use super::rule::{Condition, Measured, Rule, RuleBook};
use super::source::RuleSource;
use crate::delta::Change;
use crate::kind::Kind;
use crate::sample::Row;
use crate::totals::Totals;

/// A group of rows on one storage class, which a rule can be about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    kind: Kind,
    group: String,
    class: Option<String>,
}

/// A group in one interval.
#[derive(Debug, Default)]
struct Interval {
    totals: Totals,
    is_whole: bool,
    is_broken: bool,
}

/// The state of a source.
#[derive(Debug)]
struct Source {
    known: RuleSource,
    /// When it last answered; initially, when monitoring began.
    answered_ns: u64,
    /// Alert instances by rule.
    instances: Vec<BTreeMap<Name, AlertInstance>>,
    /// By rule: whether the source is silent.
    silence: Vec<AlertInstance>,
}

/// See the module.
#[derive(Debug)]
pub struct RuleEvaluator {
    book: RuleBook,
    sources: Vec<Source>,
}

impl RuleEvaluator {
    /// An evaluator for `book`, without sources.
    pub fn new(book: RuleBook) -> Self {
        Self { book, sources: Vec::new() }
    }

    /// Adds a source that is sampled from `now` on. Returns its number.
    pub fn add(&mut self, source: RuleSource, now: Now) -> usize {
        let rules = self.book.rules.len();
        self.sources.push(Source {
            known: source,
            answered_ns: now.clock_ns,
            instances: vec![BTreeMap::new(); rules],
            silence: vec![AlertInstance::default(); rules],
        });
        self.sources.len() - 1
    }

    /// Source number `source` was sampled; each of its rows has its change since the sample before.
    pub fn sample(&mut self, source: usize, rows: &[Row], changes: &[Change], now: Now) -> Vec<Notice> {
        let mut notices = Vec::new();
        let Some(source) = self.sources.get_mut(source) else { return notices };
        source.answered_ns = now.clock_ns;
        for (place, rule) in self.book.rules.iter().enumerate() {
            match &rule.condition {
                Condition::Silent => source.silence[place].update_silence(0, rule, now),
                Condition::Over { measured, .. } => {
                    let found = intervals(&self.book, rule, &source.known, rows.iter().zip(changes));
                    let interval_ns = source.known.interval_ns;
                    update(&mut source.instances[place], rule, *measured, &found, (interval_ns, now));
                }
            }
            notify(source, place, rule, now, &mut notices);
        }
        notices
    }

    /// Source number `source` missed a tick: what was true before may no longer be.
    pub fn gap(&mut self, source: usize, now: Now) -> Vec<Notice> {
        if let Some(source) = self.sources.get_mut(source) {
            for (instances, rule) in source.instances.iter_mut().zip(&self.book.rules) {
                for instance in instances.values_mut() {
                    instance.update(Evidence::Unknown, 0, rule, now);
                }
                instances.retain(|_, instance| !instance.is_idle());
            }
        }
        self.tick(now)
    }

    /// Time has passed: handles silence, repeats and the end of mute hours.
    pub fn tick(&mut self, now: Now) -> Vec<Notice> {
        let mut notices = Vec::new();
        for source in &mut self.sources {
            let silent_ns = now.clock_ns.saturating_sub(source.answered_ns);
            for (place, rule) in self.book.rules.iter().enumerate() {
                let is_silence =
                    rule.condition == Condition::Silent && rule.matches.fits_source(&source.known);
                if is_silence && silent_ns > 0 {
                    source.silence[place].update_silence(silent_ns, rule, now);
                }
                notify(source, place, rule, now, &mut notices);
            }
        }
        notices
    }
}

/// The intervals of the groups that `rule` applies to.
fn intervals<'a>(
    book: &RuleBook,
    rule: &Rule,
    source: &RuleSource,
    changes: impl Iterator<Item = (&'a Row, &'a Change)>,
) -> BTreeMap<Name, Interval> {
    let late_ns = source.interval_ns.saturating_add(source.interval_ns / 2);
    let mut found: BTreeMap<Name, Interval> = BTreeMap::new();
    for (row, change) in changes.filter(|(row, _)| rule.matches.fits(source, &row.subject)) {
        let Some(group) = rule.level.group(&row.subject) else { continue };
        let class = book.class_of(source, &row.subject);
        if rule.condition.threshold(class).is_none() {
            continue;
        }
        let kind = rule.level.kind(row.subject.kind);
        let interval = found.entry(Name { kind, group, class: class.map(str::to_owned) }).or_default();
        match change {
            // Half a tick late is still this tick; more means a tick without a sample.
            Change::Delta(totals) if totals.covered_ns <= late_ns => {
                interval.totals.beside(totals);
                interval.is_whole = true;
            }
            Change::Delta(_) | Change::NotRead | Change::Reset(_) => interval.is_broken = true,
            Change::Baseline => {}
        }
    }
    found
}

/// Updates the instances with their intervals. An instance without an interval is gone.
fn update(
    instances: &mut BTreeMap<Name, AlertInstance>,
    rule: &Rule,
    measured: Measured,
    found: &BTreeMap<Name, Interval>,
    (interval_ns, now): (u64, Now),
) {
    for (name, interval) in found {
        let threshold = rule.condition.threshold(name.class.as_deref());
        let evidence = evidence(rule, measured, interval, threshold.unwrap_or(f64::INFINITY));
        match instances.get_mut(name) {
            Some(instance) => instance.update(evidence, interval.totals.covered_ns, rule, now),
            None if matches!(evidence, Evidence::Holds(_)) => {
                let mut instance = AlertInstance::default();
                instance.update(evidence, interval.totals.covered_ns, rule, now);
                instances.insert(name.clone(), instance);
            }
            None => {}
        }
    }
    for (_, gone) in instances.iter_mut().filter(|(name, _)| !found.contains_key(name)) {
        gone.update(Evidence::HoldsNot(None), interval_ns, rule, now);
    }
}

fn evidence(rule: &Rule, measured: Measured, interval: &Interval, threshold: f64) -> Evidence {
    if interval.is_broken || !interval.is_whole {
        return Evidence::Unknown;
    }
    let value = measured.value(&interval.totals);
    match value {
        Some(value) if value > threshold && measured.operations(&interval.totals) >= rule.operations_min => {
            Evidence::Holds(value)
        }
        value => Evidence::HoldsNot(value),
    }
}

/// Collects the notices of rule number `place` for `source`.
fn notify(source: &mut Source, place: usize, rule: &Rule, now: Now, notices: &mut Vec<Notice>) {
    let name = &source.known.name;
    let notice = |due: Due, about| Notice {
        occasion: due.occasion,
        rule: rule.name.clone(),
        channels: rule.channels.clone(),
        source: name.clone(),
        about,
        since: due.since,
        at: now.utc,
        lasted_ns: due.lasted_ns,
    };
    if let Some(due) = source.silence[place].notify(rule, now) {
        notices.push(notice(due, None));
    }
    let Condition::Over { measured, .. } = rule.condition else { return };
    for (instance_name, instance) in &mut source.instances[place] {
        let Some(due) = instance.notify(rule, now) else { continue };
        let about = About {
            level: rule.level,
            kind: instance_name.kind,
            name: instance_name.group.clone(),
            class: instance_name.class.clone(),
            measured,
            threshold: rule.condition.threshold(instance_name.class.as_deref()).unwrap_or(f64::INFINITY),
            value: instance.value,
            value_max: due.value_max,
        };
        notices.push(notice(due, Some(about)));
    }
    source.instances[place].retain(|_, instance| !instance.is_idle());
}

#[cfg(test)]
mod tests;
