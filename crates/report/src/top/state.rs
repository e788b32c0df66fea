//! The state of the view, and what it knows about each source.

use std::collections::BTreeMap;
use std::time::Duration;

use iostall_model::{Change, Gap, Kind, Level, ResetReason, Step, Warning};
use iostall_watch::FeedEvent;
use iostall_watch::windows::{Group, GroupKey, Interval, Order, SourceHistory, WatchReport, WatchWindow};
use jiff::{SignedDuration, Timestamp};

use super::columns::{Column, Line};
use super::past::Past;

#[derive(Clone, Debug, Default)]
pub struct TopSource {
    pub name: String,
    /// The newest interval; `None` if the source has not answered since its last failure.
    pub newest: Option<Interval>,
    pub taken: Option<Timestamp>,
    /// Time and reason of its first failure since then.
    pub gap: Option<(Timestamp, String)>,
    pub warnings: Vec<Warning>,
    /// Row intervals lost to resets since the view began, by reason.
    pub resets: BTreeMap<ResetReason, u64>,
}

#[derive(Clone, Debug)]
pub struct TopState {
    pub(super) sources: Vec<TopSource>,
    pub(super) level: Level,
    pub(super) sort: Column,
    pub(super) is_ascending: bool,
    pub(super) filter: String,
    pub(super) is_typing: bool,
    pub(super) is_paused: bool,
    pub(super) is_helping: bool,
    /// Time between samples; `None` if it is not ours to choose.
    pub(super) interval: Option<Duration>,
    /// The line that the graph is of, and that is looked into.
    pub(super) selected: usize,
    /// Its group, once the reader has chosen it: it stays selected wherever it is sorted to.
    pub(super) chosen: Option<GroupKey>,
    pub(super) is_inside: bool,
    /// Whether idle rows and loop devices are shown.
    pub(super) shows_all: bool,
    /// How many of them are not.
    pub(super) hidden: usize,
    /// The time in the past that is shown; `None`: now.
    pub(super) position: Option<Timestamp>,
    /// Why a key did nothing.
    pub(super) notice: Option<&'static str>,
    pub(super) past: Past,
    /// Whether the lines are not those of the newest intervals.
    is_stale: bool,
    pub(super) has_colour: bool,
    pub(super) has_unicode: bool,
    pub(super) now: Timestamp,
    pub(super) lines: Vec<Line>,
}

impl TopState {
    pub fn new(names: &[String], level: Level, interval: Option<Duration>, has_colour: bool) -> Self {
        let source = |name: &String| TopSource { name: name.clone(), ..TopSource::default() };
        Self {
            sources: names.iter().map(source).collect(),
            level,
            sort: Column::Queue,
            is_ascending: false,
            filter: String::new(),
            is_typing: false,
            is_paused: false,
            is_helping: false,
            interval,
            selected: 0,
            chosen: None,
            is_inside: false,
            shows_all: false,
            hidden: 0,
            position: None,
            notice: None,
            past: Past::default(),
            is_stale: false,
            has_colour,
            has_unicode: true,
            now: Timestamp::UNIX_EPOCH,
            lines: Vec::new(),
        }
    }

    pub fn set_unicode(&mut self, has_unicode: bool) {
        self.has_unicode = has_unicode;
    }

    pub fn tick(&mut self, now: Timestamp) {
        self.now = now;
        if self.is_stale {
            self.refresh();
        }
    }

    pub fn show_all(&mut self, is_wanted: bool) {
        self.shows_all = is_wanted;
        self.refresh();
    }

    pub fn nothing_earlier(&mut self) {
        self.notice = Some("nothing earlier is stored");
    }

    pub fn set_filter(&mut self, filter: &str) {
        filter.clone_into(&mut self.filter);
        self.refresh();
    }

    pub fn take(&mut self, event: FeedEvent<'_>) {
        match event {
            FeedEvent::Step { source, step } => self.step(source, step),
            FeedEvent::Gap { source, at, reason } => self.gap(source, at, reason),
            FeedEvent::Past { source, interval } => self.earlier(source, interval),
            FeedEvent::Moved { at } => self.moved(at),
        }
    }

    fn moved(&mut self, at: Option<Timestamp>) {
        for source in &mut self.sources {
            *source = TopSource { name: std::mem::take(&mut source.name), ..TopSource::default() };
        }
        (self.position, self.past, self.is_stale) = (at, Past::default(), true);
    }

    /// An interval that was stored before the view began, or that the reader has gone back to.
    fn earlier(&mut self, name: &str, interval: &Interval) {
        self.past.add(name, interval);
        let source = self.source(name);
        (source.taken, source.newest) = (Some(interval.end), Some(interval.clone()));
        self.is_stale = true;
    }

    /// The source `name`, added if new, was sampled. A paused view does not change, except for what is known
    /// from the first sample.
    pub fn step(&mut self, name: &str, step: &Step) {
        let is_first = step.since.is_none();
        if self.is_paused && !is_first {
            return;
        }
        let source = source_of(&mut self.sources, name);
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
        // A late row covers more than the newest interval.
        source.newest = Interval::all_of(step).into_iter().next();
        if let Some(interval) = &source.newest {
            self.past.add(name, interval);
        }
        self.refresh();
    }

    /// The source `name` did not answer at `at`. Its earlier numbers are not shown any more.
    pub fn gap(&mut self, name: &str, at: Timestamp, reason: &str) {
        if self.is_paused {
            return;
        }
        let source = self.source(name);
        let first = source.gap.take().map_or(at, |(first, _)| first);
        source.gap = Some((first, reason.to_owned()));
        source.newest = None;
        self.past.skip(name, at);
        self.refresh();
    }

    fn source(&mut self, name: &str) -> &mut TopSource {
        source_of(&mut self.sources, name)
    }

    /// Whether every source has answered or failed.
    pub fn is_complete(&self) -> bool {
        self.sources.iter().all(|source| source.gap.is_some() || source.newest.is_some())
    }

    /// The screen as a report on one interval, for the report's output formats.
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
            notes: Vec::new(),
            unread: Vec::new(),
            warnings: source.warnings.clone(),
            backups: None,
        };
        let sources = self.sources.iter().map(history).collect();
        let (order, verdicts) = (Order::default(), Vec::new());
        WatchReport { from, to, window, sources, top: Some(usize::MAX), order, verdicts }
    }

    /// The same for readers: without loop devices, and with a sentence about those that were left out.
    pub fn report_to_read(&self) -> (WatchReport, Option<String>) {
        let mut report = self.report();
        let groups = &mut report.window.groups;
        let loops = groups.keys().filter(|key| is_loop(key)).count();
        if self.shows_everything() || loops == groups.len() || loops == 0 {
            return (report, None);
        }
        groups.retain(|key, _| !is_loop(key));
        let devices =
            if loops == 1 { "1 loop device is".to_owned() } else { format!("{loops} loop devices are") };
        (
            report,
            Some(format!("{devices} left out, whose I/O is that of the disks under them: --all shows them")),
        )
    }

    fn window(&self) -> WatchWindow {
        let mut window = WatchWindow::new(self.level, None);
        for source in &self.sources {
            if let Some(interval) = &source.newest {
                window.add(&source.name, interval);
            }
        }
        let filter = self.filter.to_lowercase();
        window.groups.retain(|key, _| is_wanted(key, &filter));
        window
    }

    /// Whoever types a part of a name wants to see what has it.
    fn shows_everything(&self) -> bool {
        self.shows_all || !self.filter.is_empty()
    }

    pub(super) fn refresh(&mut self) {
        self.is_stale = false;
        let line = |(key, group): (GroupKey, Group)| {
            let resets = group.resets.keys().map(|reason| reason.name());
            let missing = resets.chain((group.unread > 0).then_some("not read")).collect();
            Line { key, totals: group.totals, missing }
        };
        let all: Vec<Line> = self.window().groups.into_iter().map(line).collect();
        let count = all.len();
        self.lines = if self.shows_everything() {
            all
        } else {
            all.into_iter().filter(|line| self.is_worth_a_line(line)).collect()
        };
        self.hidden = count - self.lines.len();
        let (sort, is_ascending) = (self.sort, self.is_ascending);
        // Where the column has no numbers, the order by name remains.
        self.lines.sort_by(|a, b| sort.compare(a, b, is_ascending));
        let place = self.chosen.as_ref().and_then(|key| self.lines.iter().position(|line| line.key == *key));
        self.selected = place.unwrap_or(self.selected).min(self.lines.len().saturating_sub(1));
    }

    /// A row without numbers says why, so it is no idle one.
    fn is_worth_a_line(&self, line: &Line) -> bool {
        let is_idle = line.missing.is_empty() && self.past.is_idle(self.level, &line.key);
        !is_idle && !is_loop(&line.key)
    }

    /// The group of the selected line; inside a group, that group even if it has no line now.
    pub(super) fn selected_key(&self) -> Option<&GroupKey> {
        let of_line = || self.lines.get(self.selected).map(|line| &line.key);
        self.chosen.as_ref().filter(|_| self.is_inside).or_else(of_line)
    }
}

fn source_of<'a>(sources: &'a mut Vec<TopSource>, name: &str) -> &'a mut TopSource {
    let place = sources.iter().position(|source| source.name == name).unwrap_or_else(|| {
        sources.push(TopSource { name: name.to_owned(), ..TopSource::default() });
        sources.len() - 1
    });
    &mut sources[place]
}

/// A file that is mounted as a device, such as a snap: its I/O is counted in the disk that holds the file.
fn is_loop(key: &GroupKey) -> bool {
    key.kind == Kind::LinuxDevice && key.name.starts_with("loop")
}

fn gap((at, reason): &(Timestamp, String)) -> Gap {
    Gap { at: *at, missed: 1, reason: reason.clone() }
}

fn is_wanted(key: &GroupKey, filter: &str) -> bool {
    key.name.to_lowercase().contains(filter) || key.source.to_lowercase().contains(filter)
}
