//! `iostall report`: what watched things did in a window.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use iostall_measure::clock::utc_now;
use iostall_model::{Change, Row, Tier};
use iostall_report::watch::{Level, WatchWindow, write_watch_csv, write_watch_json, write_watch_text};
use iostall_store::{WatchStore, Watched};
use jiff::Timestamp;

use crate::cli::{GlobalArgs, LevelChoice, ReportArgs};
use crate::failure::{Status, hinted};
use crate::moment::moment;
use crate::printer::Printer;
use crate::store::{open_watch, with_hint};

/// Shows the window.
pub(crate) fn run(args: &ReportArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let now = utc_now();
    let from = moment("--since", &args.since, now)?;
    let to = args.until.as_deref().map_or(Ok(now), |text| moment("--until", text, now))?;
    let level = match args.level {
        LevelChoice::Files => Level::Files,
        LevelChoice::Databases => Level::Databases,
        LevelChoice::Volumes => Level::Volumes,
        LevelChoice::Server => Level::Server,
    };
    let threshold_ns = args.over.map(|over| u64::try_from(over.as_nanos()).unwrap_or(u64::MAX));
    let store = open_watch(global)?;
    let mut window = WatchWindow::new(level, threshold_ns);
    let wanted = |watched: &Watched| args.source.as_ref().is_none_or(|part| watched.name.contains(part));
    for watched in store.sources().map_err(with_hint)?.iter().filter(|watched| wanted(watched)) {
        add_source(&store, watched, (from, to), &mut window, printer)?;
    }
    if window.groups.is_empty() {
        let error =
            anyhow::anyhow!("nothing was sampled between {from:.0} and {to:.0} that this report shows");
        return Err(hinted(error, "`iostall collect run` samples; two samples make the first interval"));
    }
    write(args, &window, printer)?;
    let sustained_ns =
        args.sustained.map_or(0, |length| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX));
    Ok(if window.is_over(sustained_ns) { Status::No } else { Status::Done })
}

/// Adds what `watched` did: interval by interval where its raw samples reach back far enough, hour by hour
/// where they do not.
fn add_source(
    store: &WatchStore,
    watched: &Watched,
    (from, to): (Timestamp, Timestamp),
    window: &mut WatchWindow,
    printer: &Printer,
) -> anyhow::Result<()> {
    let number = watched.number;
    let hours = match watched.first {
        Some(first) if first <= from => Vec::new(),
        _ => {
            store.rollups(number, Tier::Hour, from, watched.first.unwrap_or(to).min(to)).map_err(with_hint)?
        }
    };
    let older =
        watched.first.filter(|first| hours.iter().any(|row| row.beginning < Tier::Hour.floor(*first)));
    if let Some(first) = older {
        printer.note(&format!("{}: hour by hour, because raw samples begin at {first:.0}", watched.name));
        return add_hours(store, watched, (from, to), window);
    }
    let mut add =
        |rows: &[(Row, Change)]| window.add(&watched.name, rows.iter().map(|(row, change)| (row, change)));
    store.steps(number, from, to, &mut |step| add(&step.rows)).map_err(with_hint)?;
    for gap in store.gaps(number, from, to).map_err(with_hint)? {
        printer.note(&format!(
            "{}: no sample at {:.0} ({} beats): {}",
            watched.name, gap.at, gap.beats, gap.reason
        ));
    }
    for warning in store.warnings(number, from, to).map_err(with_hint)? {
        printer.note(&format!("{}: {}", watched.name, warning.message));
    }
    Ok(())
}

/// Adds the hours of the window, each as one interval.
fn add_hours(
    store: &WatchStore,
    watched: &Watched,
    (from, to): (Timestamp, Timestamp),
    window: &mut WatchWindow,
) -> anyhow::Result<()> {
    let rows = store.rollups(watched.number, Tier::Hour, Tier::Hour.floor(from), to).map_err(with_hint)?;
    for hour in rows.chunk_by(|a, b| a.beginning == b.beginning) {
        let rows: Vec<(Row, Change)> = hour
            .iter()
            .map(|one| {
                let row = Row {
                    subject: one.subject.clone(),
                    counters: iostall_model::Counters::new(),
                    age_ms: None,
                };
                (row, Change::Delta(one.rollup.totals))
            })
            .collect();
        window.add(&watched.name, rows.iter().map(|(row, change)| (row, change)));
    }
    Ok(())
}

/// Writes the forms that were asked for; text where none goes to standard output.
fn write(args: &ReportArgs, window: &WatchWindow, printer: &Printer) -> anyhow::Result<()> {
    let top = Some(args.top);
    let mut text_wanted = true;
    let mut form = |path: &Option<PathBuf>, render: &dyn Fn(&mut dyn Write) -> std::io::Result<()>| {
        let Some(path) = path else { return Ok(()) };
        if path == Path::new("-") {
            text_wanted = false;
            return to_stdout(printer, render);
        }
        let file = || -> std::io::Result<()> {
            let mut out = BufWriter::new(File::create(path)?);
            render(&mut out)?;
            out.flush()
        };
        file().with_context(|| format!("cannot write {}", path.display()))
    };
    form(&args.csv, &|out| write_watch_csv(window, top, out))?;
    form(&args.json, &|out| write_watch_json(window, top, out))?;
    if text_wanted {
        to_stdout(printer, &|out| write_watch_text(window, top, out))?;
    }
    Ok(())
}

fn to_stdout(
    printer: &Printer,
    render: &dyn Fn(&mut dyn Write) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = Vec::new();
    render(&mut out)?;
    printer.result(&String::from_utf8_lossy(&out))?;
    Ok(())
}
