//! What each group did in the newest intervals, for sparklines and graphs.

use std::collections::{BTreeMap, HashMap, VecDeque};

use iostall_model::Level;
use iostall_watch::windows::{Grain, GroupKey, Interval, WatchWindow};
use jiff::Timestamp;

use super::columns::{Column, Line};

/// As many intervals of each source are kept.
pub(super) const KEPT: usize = 120;

/// The numbers of a group in one interval; not a number where there is none.
#[derive(Clone, Debug)]
struct Activity {
    tick: usize,
    values: [f32; Column::ALL.len()],
}

#[derive(Clone, Debug, Default)]
struct Track {
    tick: usize,
    times: VecDeque<(Timestamp, Timestamp)>,
}

/// See the module. Groups without I/O take no memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    tracks: BTreeMap<String, Track>,
    activity: HashMap<(Level, GroupKey), VecDeque<Activity>>,
}

impl Past {
    pub(super) fn add(&mut self, source: &str, interval: &Interval) {
        if interval.grain == Grain::Late {
            return;
        }
        let tick = self.begin(source, interval.start, interval.end);
        for (level, _) in LEVELS {
            let mut window = WatchWindow::new(level, None);
            window.add(source, interval);
            for (key, group) in window.groups {
                let line = Line { key, totals: group.totals, missing: Vec::new() };
                let values = Column::ALL.map(|column| column.value(&line).map_or(f32::NAN, narrow));
                if values.iter().any(|value| *value > 0.0) {
                    self.activity.entry((level, line.key)).or_default().push_back(Activity { tick, values });
                }
            }
        }
        let oldest = tick.saturating_sub(KEPT);
        self.activity.retain(|(_, key), done| {
            if key.source == source {
                while done.front().is_some_and(|first| first.tick <= oldest) {
                    done.pop_front();
                }
            }
            !done.is_empty()
        });
    }

    /// Leaves a gap: `source` was not sampled at `at`.
    pub(super) fn skip(&mut self, source: &str, at: Timestamp) {
        // A feed may report a gap again and again.
        let is_known =
            self.tracks.get(source).and_then(|track| track.times.back()).is_some_and(|(_, end)| *end >= at);
        if !is_known {
            self.begin(source, at, at);
        }
    }

    fn begin(&mut self, source: &str, start: Timestamp, end: Timestamp) -> usize {
        let track = self.tracks.entry(source.to_owned()).or_default();
        track.tick += 1;
        track.times.push_back((start, end));
        if track.times.len() > KEPT {
            track.times.pop_front();
        }
        track.tick
    }

    /// Whether the group had no I/O in any interval that is kept.
    pub(super) fn is_idle(&self, level: Level, key: &GroupKey) -> bool {
        !self.activity.contains_key(&(level, key.clone()))
    }

    /// The newest `count` numbers of a column, the newest last; fewer if there are no more intervals.
    pub(super) fn values(
        &self,
        level: Level,
        key: &GroupKey,
        column: Column,
        count: usize,
    ) -> Vec<Option<f64>> {
        let Some(track) = self.tracks.get(&key.source) else { return Vec::new() };
        let count = count.min(track.times.len());
        let mut values = vec![None; count];
        let first = track.tick + 1 - count;
        let place = Column::ALL.iter().position(|one| *one == column).unwrap_or(0);
        for done in self.activity.get(&(level, key.clone())).into_iter().flatten() {
            if let Some(value) = done.tick.checked_sub(first).and_then(|index| values.get_mut(index)) {
                *value = Some(f64::from(done.values[place])).filter(|value| value.is_finite());
            }
        }
        values
    }

    /// When the first of the newest `count` intervals of `source` began, and the last one ended.
    pub(super) fn span(&self, source: &str, count: usize) -> Option<(Timestamp, Timestamp)> {
        let times = &self.tracks.get(source)?.times;
        let first = times.get(times.len().saturating_sub(count))?;
        Some((first.0, times.back()?.1))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a graph of eighths needs no more digits")]
fn narrow(value: f64) -> f32 {
    value as f32
}

/// By their keys 1 to 4.
pub(super) const LEVELS: [(Level, &str); 4] = [
    (Level::Files, "files"),
    (Level::Databases, "databases"),
    (Level::Volumes, "volumes"),
    (Level::Server, "server"),
];
