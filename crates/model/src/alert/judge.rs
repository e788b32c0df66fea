//! Judges what samples say by the rules.

use std::collections::BTreeMap;

use super::notice::{About, Notice};
use super::now::Now;
use super::rule::{Condition, Measured, Rule, RuleBook};
use super::thing::{Evidence, Thing, Told};
use crate::delta::Change;
use crate::kind::Kind;
use crate::sample::Row;
use crate::totals::Totals;

/// What a rule can be about: a group of rows on one class of storage.
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

/// A source, and what is remembered of it.
#[derive(Debug)]
struct Source {
    name: String,
    /// When it was last known to answer; at first, when the watch over it began.
    answered_ns: u64,
    /// By rule: the things it is about.
    things: Vec<BTreeMap<Name, Thing>>,
    /// By rule: whether it is silent.
    silence: Vec<Thing>,
}

/// See the module.
#[derive(Debug)]
pub struct Judge {
    book: RuleBook,
    /// From beat to beat, nanoseconds.
    interval_ns: u64,
    sources: Vec<Source>,
}

impl Judge {
    /// A judge of the sources called `names`, sampled every `interval_ns`, from `now` on.
    pub fn new(book: RuleBook, interval_ns: u64, names: &[&str], now: Now) -> Self {
        let rules = book.rules.len();
        let source = |name: &&str| Source {
            name: (*name).to_owned(),
            answered_ns: now.clock_ns,
            things: vec![BTreeMap::new(); rules],
            silence: vec![Thing::default(); rules],
        };
        Self { sources: names.iter().map(source).collect(), book, interval_ns }
    }

    /// Source number `source` gave a sample; each of its rows has its change since the sample before.
    pub fn sample(&mut self, source: usize, rows: &[Row], changes: &[Change], now: Now) -> Vec<Notice> {
        let mut notices = Vec::new();
        let Some(source) = self.sources.get_mut(source) else { return notices };
        source.answered_ns = now.clock_ns;
        for (place, rule) in self.book.rules.iter().enumerate() {
            match &rule.condition {
                Condition::Silent => source.silence[place].learn_silence(0, rule, now),
                Condition::Over { measured, .. } => {
                    let found =
                        intervals(&self.book, rule, &source.name, rows.iter().zip(changes), self.interval_ns);
                    learn(&mut source.things[place], rule, *measured, &found, (self.interval_ns, now));
                }
            }
            tell(source, place, rule, now, &mut notices);
        }
        notices
    }

    /// Source number `source` gave none at a beat: what was going on there may not have gone on.
    pub fn gap(&mut self, source: usize, now: Now) -> Vec<Notice> {
        if let Some(source) = self.sources.get_mut(source) {
            for (things, rule) in source.things.iter_mut().zip(&self.book.rules) {
                for thing in things.values_mut() {
                    thing.learn(Evidence::Unknown, 0, rule, now);
                }
                things.retain(|_, thing| !thing.is_idle());
            }
        }
        self.tick(now)
    }

    /// Time has passed: silence, repeats and the ends of quiet hours.
    pub fn tick(&mut self, now: Now) -> Vec<Notice> {
        let mut notices = Vec::new();
        for source in &mut self.sources {
            let silent_ns = now.clock_ns.saturating_sub(source.answered_ns);
            for (place, rule) in self.book.rules.iter().enumerate() {
                let is_silence =
                    rule.condition == Condition::Silent && rule.matches.fits_source(&source.name);
                if is_silence && silent_ns > 0 {
                    source.silence[place].learn_silence(silent_ns, rule, now);
                }
                tell(source, place, rule, now, &mut notices);
            }
        }
        notices
    }
}

/// What the groups that `rule` is about did.
fn intervals<'a>(
    book: &RuleBook,
    rule: &Rule,
    source: &str,
    changes: impl Iterator<Item = (&'a Row, &'a Change)>,
    interval_ns: u64,
) -> BTreeMap<Name, Interval> {
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
            // Half a beat late is late; more is a beat without a sample.
            Change::Delta(totals) if totals.covered_ns <= interval_ns.saturating_add(interval_ns / 2) => {
                interval.totals.beside(totals);
                interval.is_whole = true;
            }
            Change::Delta(_) | Change::Reset(_) => interval.is_broken = true,
            Change::Baseline => {}
        }
    }
    found
}

/// Takes what the intervals say of the things, and that the things that are not in them are gone.
fn learn(
    things: &mut BTreeMap<Name, Thing>,
    rule: &Rule,
    measured: Measured,
    found: &BTreeMap<Name, Interval>,
    (interval_ns, now): (u64, Now),
) {
    for (name, interval) in found {
        let threshold = rule.condition.threshold(name.class.as_deref());
        let evidence = evidence(rule, measured, interval, threshold.unwrap_or(f64::INFINITY));
        match things.get_mut(name) {
            Some(thing) => thing.learn(evidence, interval.totals.covered_ns, rule, now),
            None if matches!(evidence, Evidence::Holds(_)) => {
                let mut thing = Thing::default();
                thing.learn(evidence, interval.totals.covered_ns, rule, now);
                things.insert(name.clone(), thing);
            }
            None => {}
        }
    }
    for (_, gone) in things.iter_mut().filter(|(name, _)| !found.contains_key(name)) {
        gone.learn(Evidence::HoldsNot(None), interval_ns, rule, now);
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

/// Collects what rule number `place` has to tell of `source`.
fn tell(source: &mut Source, place: usize, rule: &Rule, now: Now, notices: &mut Vec<Notice>) {
    let name = &source.name;
    let notice = |told: Told, about| Notice {
        occasion: told.occasion,
        rule: rule.name.clone(),
        channels: rule.channels.clone(),
        source: name.clone(),
        about,
        since: told.since,
        at: now.utc,
        lasted_ns: told.lasted_ns,
    };
    if let Some(told) = source.silence[place].tell(rule, now) {
        notices.push(notice(told, None));
    }
    let Condition::Over { measured, .. } = rule.condition else { return };
    for (thing_name, thing) in &mut source.things[place] {
        let Some(told) = thing.tell(rule, now) else { continue };
        let about = About {
            level: rule.level,
            kind: thing_name.kind,
            name: thing_name.group.clone(),
            class: thing_name.class.clone(),
            measured,
            threshold: rule.condition.threshold(thing_name.class.as_deref()).unwrap_or(f64::INFINITY),
            value: thing.value,
            value_max: told.value_max,
        };
        notices.push(notice(told, Some(about)));
    }
    source.things[place].retain(|_, thing| !thing.is_idle());
}

#[cfg(test)]
mod tests;
