//! `iostall report`: what watched things did in a window, or in two.

mod forms;
mod history;

use iostall_measure::clock::utc_now;
use iostall_measure::foreign::shown;
use iostall_report::watch::{Level, SourceHistory, WatchComparison, WatchReport, WatchSeries, WatchWindow};
use iostall_store::{History, SqliteHistory};
use jiff::Timestamp;

use self::forms::Forms;
use self::history::Part;
use crate::cli::{GlobalArgs, LevelChoice, ReportArgs};
use crate::failure::{Status, hinted};
use crate::moment::{moment, window};
use crate::printer::Printer;
use crate::store::{open_watch, with_hint};

/// A chart with more lines than this cannot be read.
const LINES_MAX: usize = 8;

/// Shows the window, or the two.
pub(crate) fn run(args: &ReportArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let forms = Forms::checked(args, global)?;
    let now = utc_now();
    let store = open_watch(global)?;
    if let (Some(before), Some(after)) = (&args.before, &args.after) {
        let (before, after) = (window("--before", before, now)?, window("--after", after, now)?);
        let comparison = compared(args, &store, before, after)?;
        return Ok(forms.comparison(&comparison, printer));
    }
    let from = moment("--since", &args.since, now)?;
    let to = args.until.as_deref().map_or(Ok(now), |text| moment("--until", text, now))?;
    let read = || -> anyhow::Result<(WatchReport, Option<WatchSeries>)> {
        let report = gathered(args, &store, (from, to))?;
        let series = args.html.is_some().then(|| followed(&store, &report)).transpose()?;
        Ok((report, series))
    };
    let (report, series) = store.frozen(read).map_err(with_hint)??;
    let sustained_ns =
        args.sustained.map_or(0, |length| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX));
    let status = if report.window.is_over(sustained_ns) { Status::No } else { Status::Done };
    Ok(forms.report(&report, series.as_ref(), printer, status))
}

/// Both windows, which must have nothing in common: what is in both would hide a change.
fn compared(
    args: &ReportArgs,
    store: &SqliteHistory,
    before: (Timestamp, Timestamp),
    after: (Timestamp, Timestamp),
) -> anyhow::Result<WatchComparison> {
    if before.0 < after.1 && after.0 < before.1 {
        let error = anyhow::anyhow!(
            "the windows overlap: {:.0} to {:.0}, and {:.0} to {:.0}",
            before.0,
            before.1,
            after.0,
            after.1
        );
        return Err(hinted(error, "end the first where the change was made, and begin the second after it"));
    }
    let read = || -> anyhow::Result<WatchComparison> {
        Ok(WatchComparison { before: gathered(args, store, before)?, after: gathered(args, store, after)? })
    };
    store.frozen(read).map_err(with_hint)?
}

/// The numbers of a window.
fn gathered(
    args: &ReportArgs,
    store: &SqliteHistory,
    (from, to): (Timestamp, Timestamp),
) -> anyhow::Result<WatchReport> {
    let level = match args.level {
        LevelChoice::Files => Level::Files,
        LevelChoice::Databases => Level::Databases,
        LevelChoice::Volumes => Level::Volumes,
        LevelChoice::Server => Level::Server,
    };
    let threshold_ns = args.over.map(|over| u64::try_from(over.as_nanos()).unwrap_or(u64::MAX));
    let mut window = WatchWindow::new(level, threshold_ns);
    let mut sources = Vec::new();
    for watched in store.sources().map_err(with_hint)? {
        let name = &watched.source.name;
        if args.source.as_ref().is_some_and(|part| !name.contains(part)) {
            continue;
        }
        let part = Part { store, source: watched.source.id, from, to };
        let tiers = part.each_interval(&mut |interval| {
            window.add(name, interval.rows.iter().map(|(row, change)| (row, change)));
        })?;
        let history = part.history(name, tiers)?;
        let has_numbers = window.groups.keys().any(|key| key.source == *name);
        if has_numbers || !history.sentences().is_empty() {
            sources.push(history);
        }
    }
    if window.groups.is_empty() {
        return Err(nothing((from, to), &sources));
    }
    Ok(WatchReport { from, to, window, sources, top: args.top })
}

/// There is no number; why not is in the store where a source was asked and did not answer.
fn nothing((from, to): (Timestamp, Timestamp), sources: &[SourceHistory]) -> anyhow::Error {
    let mut text = format!("nothing was sampled between {from:.0} and {to:.0} that this report shows");
    for source in sources {
        for said in source.sentences() {
            text.push_str(&format!("\n  {}: {said}", shown(&source.name)));
        }
    }
    hinted(anyhow::anyhow!(text), "`iostall collect run` samples; two samples make the first interval")
}

/// How the worst groups of `report` went: a second look, now that they are known.
fn followed(store: &SqliteHistory, report: &WatchReport) -> anyhow::Result<WatchSeries> {
    let mut series = WatchSeries::of(report, LINES_MAX);
    for watched in store.sources().map_err(with_hint)? {
        let name = &watched.source.name;
        if report.sources.iter().any(|source| source.name == *name) {
            let part = Part { store, source: watched.source.id, from: report.from, to: report.to };
            part.each_interval(&mut |interval| series.add(name, &interval))?;
        }
    }
    series.finish();
    Ok(series)
}
