//! Reports on one window of time, and comparisons of two.

use iostall_model::Level;
use iostall_model::requirement::Requirement;
use iostall_store::History;
use jiff::Timestamp;

use crate::error::WatchError;
use crate::tiers::SourceWindow;
use crate::windows::{Order, SourceHistory, WatchComparison, WatchReport, WatchSeries, WatchWindow};

#[derive(Clone, Debug, PartialEq)]
pub struct ReportRequest {
    pub level: Level,
    pub source: Option<String>,
    pub threshold_ns: Option<u64>,
    /// At most so many groups of each source are shown; `None`: as many as the form has room for.
    pub top: Option<usize>,
    pub order: Order,
    /// What is required of the groups of one window.
    pub require: Vec<Requirement>,
}

pub type TimeRange = (Timestamp, Timestamp);

/// Reports on one window. With `lines_max`, also returns the series of at most this many of the worst groups.
pub fn report(
    history: &impl History,
    request: &ReportRequest,
    range: TimeRange,
    lines_max: Option<usize>,
) -> Result<(WatchReport, Option<WatchSeries>), WatchError> {
    history.frozen(|| {
        let mut report = window(history, request, range)?;
        report.verdicts = report.verdicts_on(&request.require);
        let series = lines_max.map(|most| series(history, &report, most)).transpose()?;
        Ok((report, series))
    })?
}

pub fn compare(
    history: &impl History,
    request: &ReportRequest,
    before: TimeRange,
    after: TimeRange,
) -> Result<WatchComparison, WatchError> {
    if before.0 < after.1 && after.0 < before.1 {
        return Err(WatchError::Overlap { before, after });
    }
    history.frozen(|| {
        Ok(WatchComparison {
            before: window(history, request, before)?,
            after: window(history, request, after)?,
        })
    })?
}

/// Refuses a window in which nothing can be.
pub fn check_window((from, to): TimeRange, now: Timestamp) -> Result<(), WatchError> {
    if to <= from {
        return Err(WatchError::WindowEnds { from, to });
    }
    if from > now { Err(WatchError::WindowToCome { from }) } else { Ok(()) }
}

fn window(
    history: &impl History,
    request: &ReportRequest,
    (from, to): TimeRange,
) -> Result<WatchReport, WatchError> {
    let mut window = WatchWindow::new(request.level, request.threshold_ns);
    let mut sources = Vec::new();
    let all = history.sources()?;
    if let Some(part) = &request.source
        && !all.iter().any(|watched| watched.source.name.contains(part))
    {
        let known = all.into_iter().map(|watched| watched.source.name).collect();
        return Err(WatchError::NoSourceContains { part: part.clone(), known });
    }
    for watched in all {
        let name = &watched.source.name;
        if request.source.as_ref().is_some_and(|part| !name.contains(part)) {
            continue;
        }
        let part = SourceWindow { history, source: watched.source.id, from, to };
        let mut about = SourceHistory { name: name.clone(), ..SourceHistory::default() };
        let tiers = part.each_interval(&mut |interval| {
            about.note_unread(&interval);
            about.note_backups(&interval);
            window.add(name, &interval);
        })?;
        part.complete(&mut about, tiers)?;
        let has_numbers = window.groups.keys().any(|key| key.source == *name);
        if has_numbers || about.has_remarks() {
            sources.push(about);
        }
    }
    if window.groups.is_empty() {
        return Err(WatchError::NothingSampled { from, to, sources });
    }
    Ok(WatchReport {
        from,
        to,
        window,
        sources,
        top: request.top,
        order: request.order,
        verdicts: Vec::new(),
    })
}

/// The series of the worst groups of `report`: a second pass, now that they are known.
fn series(history: &impl History, report: &WatchReport, lines_max: usize) -> Result<WatchSeries, WatchError> {
    let mut series = WatchSeries::of(report, lines_max);
    for watched in history.sources()? {
        let name = &watched.source.name;
        if report.sources.iter().any(|source| source.name == *name) {
            let part = SourceWindow { history, source: watched.source.id, from: report.from, to: report.to };
            part.each_interval(&mut |interval| series.add(name, &interval))?;
        }
    }
    series.finish();
    Ok(series)
}

#[cfg(test)]
mod tests {
    use iostall_model::{Counter, Epoch, Sample, SampleTime};
    use iostall_store::SqliteHistory;
    use jiff::SignedDuration;

    use super::*;
    use crate::windows::fixture;

    fn at(minute: u64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute.cast_signed())
    }

    fn sample(minute: u64) -> Sample {
        let mut row = fixture::row("a.mdf", Some("E:\\"));
        row.counters.set(Counter::Reads, 600 * minute);
        row.counters.set(Counter::ReadStall, 600_000_000 * minute);
        let taken = SampleTime { utc: at(minute), clock: "c".into(), clock_ns: 5 + minute * 60_000_000_000 };
        Sample { taken, epoch: Epoch::default(), rows: vec![row], warnings: Vec::new() }
    }

    #[test]
    fn a_report_of_one_source_has_its_numbers_and_its_line_alone() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = SqliteHistory::open(directory.path().join("store.db")).unwrap();
        for name in ["db1", "db2"] {
            let source = store.source(name).unwrap().id;
            (0..5).for_each(|minute| store.add_sample(source, sample(minute)).unwrap());
        }
        let request = ReportRequest {
            level: Level::Files,
            source: Some("db2".into()),
            threshold_ns: None,
            top: None,
            order: Order::default(),
            require: Vec::new(),
        };
        let (report, series) = report(&store, &request, (at(0), at(4)), Some(8)).unwrap();
        assert_eq!(report.sources.iter().map(|source| &source.name).collect::<Vec<_>>(), ["db2"]);
        let series = series.unwrap();
        assert_eq!(series.lines.len(), 1);
        assert!(!series.lines[0].pieces.is_empty(), "{series:?}");
    }
}
