//! Evaluates the rules on every sample.

mod backups;
mod grouping;
mod memory;
mod met;

use std::collections::BTreeMap;

use jiff::Timestamp;

use self::met::{Met, has_worked};
use super::class::RuleSource;
use super::instance::{AlertInstance, Evidence};
use super::mute::Now;
use super::notice::{Notice, SavedAlert};
use super::rule::{Condition, GoodDrill, LastDrill, Measured, Rule, RuleBook};
use super::volume_limit::{VolumeCourse, VolumeLimit};
use crate::counter::Counter;
use crate::delta::Change;
use crate::kind::Kind;
use crate::sample::Row;
use crate::totals::Totals;

#[derive(Debug, Default)]
struct Interval {
    totals: Totals,
    /// Size at the end of the interval, over the rows that report one.
    size_bytes: Option<u64>,
    is_whole: bool,
    is_broken: bool,
    /// The volume of its first row, if all others have the same.
    volume: Option<String>,
    has_rows: bool,
}

impl Interval {
    fn see_volume(&mut self, volume: Option<&String>) {
        if !self.has_rows {
            self.volume = volume.cloned();
        } else if self.volume.as_ref() != volume {
            self.volume = None;
        }
        self.has_rows = true;
    }
}

/// In the place of a source's name in notices about drills.
const BACKUPS: &str = "backups";

#[derive(Debug)]
pub struct RuleEvaluator {
    book: RuleBook,
    sources: Vec<Source>,
    /// All backups, in the place of a source that is never sampled.
    backups: Source,
    /// Drills that were good; `None` as long as nobody has looked.
    drills: Option<Vec<GoodDrill>>,
    /// By rule.
    met: Vec<Met>,
}

impl RuleEvaluator {
    pub fn new(book: RuleBook) -> Self {
        let backups = Source {
            known: RuleSource { name: BACKUPS.to_owned(), ..RuleSource::default() },
            silence: vec![AlertInstance::default(); book.rules.len()],
            instances: vec![BTreeMap::new(); book.rules.len()],
            ..Source::default()
        };
        let met = vec![Met::default(); book.rules.len()];
        Self { book, sources: Vec::new(), backups, drills: None, met }
    }

    pub fn add(&mut self, source: RuleSource, now: Now) -> usize {
        let rules = self.book.rules.len();
        self.sources.push(Source {
            known: source,
            answered_ns: now.clock_ns,
            instances: vec![BTreeMap::new(); rules],
            silence: vec![AlertInstance::default(); rules],
            is_retired: false,
            has_worked: false,
            courses: BTreeMap::new(),
        });
        self.sources.len() - 1
    }

    /// The alerts that somebody was notified of, and that have not been resolved for them.
    pub fn saved(&self, now: Now) -> Vec<SavedAlert> {
        let rules = || self.book.rules.iter().enumerate();
        self.sources
            .iter()
            .chain([&self.backups])
            .flat_map(|source| rules().flat_map(|(place, rule)| source.saved_of(place, rule, now)))
            .collect()
    }

    /// Takes up alerts that [`RuleEvaluator::saved`] gave, of this process or of one before it. Gives the notices of those whose
    /// rule or source is gone: they are resolved.
    pub fn restore(&mut self, saved: Vec<SavedAlert>, now: Now) -> Vec<Notice> {
        let mut orphans = Vec::new();
        for one in saved {
            if !self.take_up(&one, now) {
                orphans.push(one.resolved(now));
            }
        }
        orphans
    }

    /// Applies other rules from now on. What fires by a rule that is still there goes on firing; a streak that has not fired yet
    /// begins anew. Gives the notices of those whose rule is gone.
    pub fn replace_book(&mut self, book: RuleBook, now: Now) -> Vec<Notice> {
        if book == self.book {
            return Vec::new();
        }
        let saved = self.saved(now);
        let rules = book.rules.len();
        self.book = book;
        self.met = vec![Met::default(); rules];
        for source in self.sources.iter_mut().chain([&mut self.backups]) {
            source.courses.clear();
            source.instances = vec![BTreeMap::new(); rules];
            source.silence = vec![AlertInstance::default(); rules];
        }
        self.restore(saved, now)
    }

    fn take_up(&mut self, saved: &SavedAlert, now: Now) -> bool {
        let notice = &saved.notice;
        let rules = &self.book.rules;
        let known = |source: &&mut Source| !source.is_retired && source.known.name == notice.source;
        let place = rules.iter().position(|rule| rule.name == notice.rule);
        let Some((place, rule)) = place.map(|place| (place, &rules[place])) else { return false };
        let is_about_backups = rule.condition.is_about_drills() && notice.source == BACKUPS;
        let source =
            if is_about_backups { Some(&mut self.backups) } else { self.sources.iter_mut().find(known) };
        source.is_some_and(|source| source.take_up(place, rule, saved, now))
    }

    pub fn update_source(&mut self, number: usize, source: RuleSource) {
        if let Some(one) = self.sources.get_mut(number).filter(|one| !one.is_retired) {
            one.known = source;
        }
    }

    /// Source number `source` is not sampled any more: what fires there is resolved.
    pub fn retire(&mut self, source: usize, now: Now) -> Vec<Notice> {
        let Some(known) = self.sources.get_mut(source) else { return Vec::new() };
        let gone = std::mem::take(known);
        // Silence of one that nobody asks is none.
        known.is_retired = true;
        self.book.rules.iter().enumerate().flat_map(|(place, rule)| gone.farewell(place, rule, now)).collect()
    }

    /// Source number `source` was sampled; each of its rows has its change since the sample before.
    pub fn sample(&mut self, source: usize, rows: &[Row], changes: &[Change], now: Now) -> Vec<Notice> {
        let mut notices = Vec::new();
        let source = self.sources.get_mut(source).filter(|source| !source.is_retired);
        let Some(source) = source else { return notices };
        source.answered_ns = now.clock_ns;
        source.has_worked |= has_worked(changes);
        for (place, rule) in self.book.rules.iter().enumerate() {
            match &rule.condition {
                Condition::Silent => source.silence[place].update_silence(0, rule, now),
                Condition::Undrilled { .. } => {}
                Condition::NotBackedUp { counts } => source.look_at_backups(place, rule, counts, rows, now),
                Condition::Limit(limit) => {
                    let found = intervals(&self.book, rule, &source.known, rows.iter().zip(changes));
                    let measured = rule.measured().unwrap_or(Measured::Iops);
                    self.met[place] = self.met[place].after(measured, groups(&found));
                    source.look_at_limits(place, rule, *limit, &found, now);
                }
                Condition::Over { measured, .. } => {
                    let found = intervals(&self.book, rule, &source.known, rows.iter().zip(changes));
                    let interval_ns = source.known.interval_ns;
                    self.met[place] = self.met[place].after(*measured, groups(&found));
                    update(&mut source.instances[place], rule, *measured, &found, (interval_ns, now));
                }
            }
            source.notify(place, rule, now, &mut notices);
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

    /// Handles silence, repeats and the end of mute hours.
    pub fn tick(&mut self, now: Now) -> Vec<Notice> {
        let mut notices = Vec::new();
        for source in self.sources.iter_mut().filter(|source| !source.is_retired) {
            let silent_ns = now.clock_ns.saturating_sub(source.answered_ns);
            for (place, rule) in self.book.rules.iter().enumerate() {
                let is_silence =
                    rule.condition == Condition::Silent && rule.matches.fits_source(&source.known);
                if is_silence && silent_ns > 0 {
                    source.silence[place].update_silence(silent_ns, rule, now);
                }
                source.notify(place, rule, now, &mut notices);
            }
        }
        self.look_at_drills(now, &mut notices);
        notices
    }

    pub fn needs_drills(&self) -> bool {
        self.book.rules.iter().any(|rule| rule.condition.is_about_drills())
    }

    /// The good drills of all backups, as far as they are known. The next tick goes by them.
    pub fn update_drills(&mut self, drills: Vec<GoodDrill>) {
        self.drills = Some(drills);
    }

    /// Rules that have met nothing that they can measure although all of their sources have done I/O since, each with why and once.
    pub fn unmet(&mut self) -> Vec<(String, &'static str)> {
        let mut unmet = Vec::new();
        let rules = self.met.iter_mut().zip(&self.book.rules);
        for (met, rule) in rules.filter(|(_, rule)| rule.measured().is_some()) {
            let is_of_it = |source: &&Source| !source.is_retired && rule.matches.fits_source(&source.known);
            let its = || self.sources.iter().filter(is_of_it);
            let is_seen = its().next().is_some() && its().all(|source| source.has_worked);
            if let Some(reason) = met.why(rule).filter(|_| is_seen) {
                *met = Met::Said;
                unmet.push((rule.name.clone(), reason));
            }
        }
        unmet
    }

    fn look_at_drills(&mut self, now: Now, notices: &mut Vec<Notice>) {
        let Some(drills) = &self.drills else { return };
        for (place, rule) in self.book.rules.iter().enumerate() {
            let Condition::Undrilled { backup } = &rule.condition else { continue };
            let counted = drills.iter().filter(|drill| drill.is_of(backup.as_deref()));
            let last = counted.map(|drill| drill.at).max();
            let age_ns = |at: Timestamp| u64::try_from(now.utc.duration_since(at).as_nanos()).unwrap_or(0);
            // One that never was is missing from now on.
            let missing_ns =
                last.map_or(Some(0), |at| Some(age_ns(at)).filter(|age| *age > rule.sustained_ns));
            self.backups.silence[place].update_at_once(missing_ns, now);
            let before = notices.len();
            self.backups.notify(place, rule, now, notices);
            for notice in &mut notices[before..] {
                notice.drill = Some(LastDrill { backup: backup.clone(), at: last });
            }
        }
    }
}

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
        interval.see_volume(row.subject.volume.as_ref());
        if let Some(bytes) = row.counters.get(Counter::SizeBytes) {
            interval.size_bytes = Some(interval.size_bytes.unwrap_or(0).saturating_add(bytes));
        }
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

fn groups(found: &BTreeMap<Name, Interval>) -> impl Iterator<Item = (Kind, &Totals, Option<u64>)> {
    found.iter().map(|(name, interval)| (name.kind, &interval.totals, interval.size_bytes))
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
            Some(instance) => {
                instance.volume.clone_from(&interval.volume);
                instance.update(evidence, interval.totals.covered_ns, rule, now);
            }
            None if matches!(evidence, Evidence::Holds(_)) => {
                let mut instance = AlertInstance::on(interval.volume.clone());
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
    let operations = measured.operations(&interval.totals);
    let is_enough = operations.is_none_or(|operations| operations >= rule.operations_min);
    match measured.value(&interval.totals, interval.size_bytes) {
        Some(value) if value > threshold && is_enough => Evidence::Holds(value),
        value => Evidence::HoldsNot(value),
    }
}

/// What a rule can be about: a group of rows on one class of storage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    kind: Kind,
    group: String,
    class: Option<String>,
}

#[derive(Debug, Default)]
struct Source {
    known: RuleSource,
    /// When it was last known to answer; at first, when the watch over it began.
    answered_ns: u64,
    /// By rule: its alert instances.
    instances: Vec<BTreeMap<Name, AlertInstance>>,
    /// By rule: whether it is silent; of the backups, whether they lack a drill.
    silence: Vec<AlertInstance>,
    is_retired: bool,
    /// Whether an interval of it had I/O.
    has_worked: bool,
    /// By rule and volume: how it went lately.
    courses: BTreeMap<(usize, Name), VolumeCourse>,
}

impl Source {
    fn look_at_limits(
        &mut self,
        place: usize,
        rule: &Rule,
        limit: VolumeLimit,
        found: &BTreeMap<Name, Interval>,
        now: Now,
    ) {
        let interval_ns = self.known.interval_ns;
        let Self { courses, instances, .. } = self;
        let instances = &mut instances[place];
        for (name, interval) in found {
            let course = courses.entry((place, name.clone())).or_default();
            let evidence = if interval.is_broken || !interval.is_whole {
                course.interrupt();
                Evidence::Unknown
            } else {
                course.add(limit, &interval.totals).map_or(Evidence::HoldsNot(None), Evidence::Holds)
            };
            if matches!(evidence, Evidence::Holds(_)) && !instances.contains_key(name) {
                instances.insert(name.clone(), AlertInstance::on(interval.volume.clone()));
            }
            if let Some(instance) = instances.get_mut(name) {
                instance.update(evidence, interval.totals.covered_ns, rule, now);
            }
        }
        courses.retain(|(of, name), _| *of != place || found.contains_key(name));
        for (_, gone) in instances.iter_mut().filter(|(name, _)| !found.contains_key(name)) {
            gone.update(Evidence::HoldsNot(None), interval_ns, rule, now);
        }
    }
}

#[cfg(test)]
mod tests;
