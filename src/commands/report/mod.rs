//! `iostall report`: reports on one window, or compares two.

mod forms;

use std::io::{self, Write};
use std::time::Duration;

use iostall_measure::clock::utc_now;
use iostall_report::watch::{TimedCsv, reasons};
use iostall_session::output::Form;
use iostall_store::SqliteHistory;
use iostall_watch::{ReportRequest, Slot, WatchError, check_window, compare, report, slots};

use self::forms::Forms;
use crate::cli::timestamp::{timestamp, window};
use crate::cli::{GlobalArgs, ReportArgs};
use crate::failure::{Status, hinted};
use crate::printer::Printer;
use crate::store::path;

/// More lines in a chart cannot be read.
const LINES_MAX: usize = 8;

pub(crate) fn run(args: &ReportArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let forms = Forms::checked(args, global)?;
    let now = utc_now();
    let store = SqliteHistory::open_existing(path(global)?)?;
    let request = ReportRequest {
        level: args.level.into(),
        source: args.source.clone(),
        threshold_ns: args.over.map(nanoseconds),
        top: args.top,
        order: args.sort.into(),
        require: args.require.clone(),
    };
    if let (Some(before), Some(after)) = (&args.before, &args.after) {
        let (before, after) = (window("--before", before, now)?, window("--after", after, now)?);
        let comparison = compare(&store, &request, before, after).map_err(with_reasons)?;
        return Ok(forms.comparison(&comparison, printer));
    }
    let from = timestamp("--since", &args.since, now)?;
    let to = args.until.as_deref().map_or(Ok(now), |text| timestamp("--until", text, now))?;
    check_window((from, to), now)?;
    if let Some(every) = args.every {
        let render = |_: Form, out: &mut dyn Write| {
            let mut rows = TimedCsv::new(out)?;
            let write = &mut |slot: &Slot<'_>| rows.slot(slot);
            slots(&store, &request, (from, to), every, write).map_err(io::Error::other)?;
            rows.finish()
        };
        return Ok(forms.only(&render, printer));
    }
    let lines_max = args.html.is_some().then_some(LINES_MAX);
    let (report, series) = report(&store, &request, (from, to), lines_max).map_err(with_reasons)?;
    let is_over = report.window.is_over(args.sustained.map_or(0, nanoseconds));
    let status = if is_over { Status::No } else { Status::Done };
    Ok(forms.report(&report, series.as_ref(), printer, status))
}

fn nanoseconds(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// If there are no numbers, the store knows why: a source was asked and did not answer.
fn with_reasons(error: WatchError) -> anyhow::Error {
    let WatchError::NothingSampled { sources, .. } = &error else { return error.into() };
    let text = format!("{error}{}", reasons(sources));
    hinted(anyhow::anyhow!(text), error.hint().unwrap_or_default())
}
