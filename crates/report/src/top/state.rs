//! What the view shows, and what it learns of each source.

use std::collections::BTreeMap;
use std::time::Duration;

use iostall_model::{Change, Gap, Level, ResetReason, Row, Step, Warning};
use iostall_watch::FeedEvent;
use iostall_watch::windows::{Group, GroupKey, SourceHistory, WatchReport, WatchWindow};
use jiff::{SignedDuration, Timestamp};

use super::columns::Column;
use super::line::Line;

/// A source as the view knows it.
#[derive(Clone, Debug, Default)]
pub struct TopSource {
    /// Its name.
    pub name: String,
    /// What its rows did in the newest interval.
    pub changes: Vec<(Row, Change)>,
    /// Whether there was an interval since it last failed to answer.
    pub has_interval: bool,
    /// When its newest sample was taken.
    pub taken: Option<Timestamp>,
    /// When it first failed to answer since then, and why.
    pub gap: Option<(Timestamp, String)>,
    /// What it could not tell in its newest sample.
    pub warnings: Vec<Warning>,
    /// Intervals of rows that could not be counted since the view began, by reason.
    pub resets: BTreeMap<ResetReason, u64>,
}

/// Everything that is on the screen.
#[derive(Clone, Debug)]
pub struct TopState {
    pub(super) sources: Vec<TopSource>,
    pub(super) level: Level,
    pub(super) sort: Column,
    pub(super) is_ascending: bool,
    pub(super) filter: String,
    pub(super) is_typing: bool,
    pub(super) is_paused: bool,
    /// From sample to sample; `None`: as somebody else decides.
    pub(super) interval: Option<Duration>,
    /// How many lines are scrolled past.
    pub(super) offset: usize,
    pub(super) has_colour: bool,
    pub(super) now: Timestamp,
    pub(super) lines: Vec<Line>,
}

impl TopState {
    /// A view of the sources called `names` in which nothing has happened yet.
    pub fn new(names: &[String], level: Level, interval: Option<Duration>, has_colour: bool) -> Self {
        let source = |name: &String| TopSource { name: name.clone(), ..TopSource::default() };
        Self {
            sources: names.iter().map(source).collect(),
            level,
            sort: Column::StallPerIo,
            is_ascending: false,
            filter: String::new(),
            is_typing: false,
            is_paused: false,
            interval,
            offset: 0,
            has_colour,
            now: Timestamp::UNIX_EPOCH,
            lines: Vec::new(),
        }
    }

    /// It is `now`.
    pub fn tick(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Only lines with this in their name are shown.
    pub fn set_filter(&mut self, filter: &str) {
        filter.clone_into(&mut self.filter);
        self.refresh();
    }

    /// Something is new.
    pub fn take(&mut self, event: FeedEvent<'_>) {
        match event {
            FeedEvent::Step { source, step } => self.step(source, step),
            FeedEvent::Gap { source, at, reason } => self.gap(source, at, reason),
        }
    }

    /// The source called `name`, which is added where it is new, answered. While the view is paused it stays as it is,
    /// but for what is known at the first answer.
    pub fn step(&mut self, name: &str, step: &Step) {
        let is_first = step.since.is_none();
        if self.is_paused && !is_first {
            return;
        }
        let source = self.source(name);
        (source.taken, source.gap) = (Some(step.at()), None);
        source.warnings.clone_from(&step.sample.warnings);
        if is_first {
            return;
        }
        for change in &step.changes {
            if let Change::Reset(reason) = change {
                *source.resets.entry(*reason).or_default() += 1;
            }
        }
        (source.changes, source.has_interval) = (step.to_rows(), true);
        self.refresh();
    }

    /// The source called `name` did not answer at `at`. What it did before is no news any more.
    pub fn gap(&mut self, name: &str, at: Timestamp, reason: &str) {
        if self.is_paused {
            return;
        }
        let source = self.source(name);
        let first = source.gap.take().map_or(at, |(first, _)| first);
        source.gap = Some((first, reason.to_owned()));
        source.changes.clear();
        source.has_interval = false;
        self.refresh();
    }

    fn source(&mut self, name: &str) -> &mut TopSource {
        let place = self.sources.iter().position(|source| source.name == name).unwrap_or_else(|| {
            self.sources.push(TopSource { name: name.to_owned(), ..TopSource::default() });
            self.sources.len() - 1
        });
        &mut self.sources[place]
    }

    /// Whether every source has said something: what it did, or that it does not answer.
    pub fn is_complete(&self) -> bool {
        self.sources.iter().all(|source| source.gap.is_some() || source.has_interval)
    }

    /// What is on the screen as a report about one interval, for the forms that reports have.
    pub fn report(&self) -> WatchReport {
        let window = self.window();
        let begun = |source: &TopSource| {
            let covered_ns = window.covered_ns.get(&source.name).copied().unwrap_or(0);
            let covered = SignedDuration::from_nanos(i64::try_from(covered_ns).unwrap_or(i64::MAX));
            source.taken.and_then(|taken| taken.checked_sub(covered).ok())
        };
        let to = self.sources.iter().filter_map(|source| source.taken).max().unwrap_or(self.now);
        let from = self.sources.iter().filter_map(begun).min().unwrap_or(to);
        let history = |source: &TopSource| SourceHistory {
            name: source.name.clone(),
            days_until: None,
            hours_until: None,
            gaps: source.gap.iter().map(gap).collect(),
            warnings: source.warnings.clone(),
        };
        let sources = self.sources.iter().map(history).collect();
        WatchReport { from, to, window, sources, top: usize::MAX }
    }

    fn window(&self) -> WatchWindow {
        let mut window = WatchWindow::new(self.level, None);
        for source in &self.sources {
            window.add(&source.name, source.changes.iter().map(|(row, change)| (row, change)));
        }
        let filter = self.filter.to_lowercase();
        window.groups.retain(|key, _| is_wanted(key, &filter));
        window
    }

    /// Makes the lines anew.
    pub(super) fn refresh(&mut self) {
        let line = |(key, group): (GroupKey, Group)| Line {
            key,
            totals: group.totals,
            resets: group.resets.into_keys().collect(),
        };
        self.lines = self.window().groups.into_iter().map(line).collect();
        let (sort, is_ascending) = (self.sort, self.is_ascending);
        // The order by name stands where the column says nothing.
        self.lines.sort_by(|a, b| sort.compare(a, b, is_ascending));
        self.offset = self.offset.min(self.lines.len().saturating_sub(1));
    }
}

/// A source's silence as reports tell it.
fn gap((at, reason): &(Timestamp, String)) -> Gap {
    Gap { at: *at, missed: 1, reason: reason.clone() }
}

fn is_wanted(key: &GroupKey, filter: &str) -> bool {
    key.name.to_lowercase().contains(filter) || key.source.to_lowercase().contains(filter)
}
