//! `iostall fleet pull`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iostall_measure::clock::utc_now;
use iostall_report::fleet_pull::{listed, outcome_line, progress};
use iostall_store::SqliteHistory;
use iostall_watch::pull::{PullEvent, PullRequest, PullService, PulledState};
use iostall_watch::{CollectorSetup, WatchError};

use crate::cli::{FleetPullArgs, GlobalArgs};
use crate::collected;
use crate::failure::Status;
use crate::interrupt::on_signal;
use crate::metrics;
use crate::printer::Printer;
use crate::store::path;

pub(super) fn run(args: &FleetPullArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let setup = CollectorSetup::read_pulled(&args.sources).map_err(WatchError::from)?;
    for rule in setup.rules_about_nothing() {
        printer.note(&format!("warning: the rule {rule:?} is about none of these sources"));
    }
    let spool = args.spool.clone().map_or_else(|| path(global).map(beside), Ok)?;
    let mut spooled = SqliteHistory::open(&spool).map_err(WatchError::from)?;
    collected::set_aside_unknown(&mut spooled, printer)?;
    drop(spooled);
    let (address, until) = (setup.metrics.clone(), args.duration.and_then(|d| utc_now().checked_add(d).ok()));
    let request = PullRequest {
        url: &args.url,
        setup,
        spool: &spool,
        threads: args.workers.into(),
        connections: args.connections.into(),
        once: args.once,
        until,
        version: env!("CARGO_PKG_VERSION"),
        environment: vec![("IOSTALL_STORE".into(), path(global)?.into_os_string())],
    };
    let service = PullService::open(request, &Printer::ask_password)?;
    let serve = |(address, values): (&String, _)| metrics::serve(address, values, printer);
    let _server = address.as_ref().zip(service.metrics().cloned()).map(serve).transpose()?;
    let (stopper, is_interrupted) = (service.stopper(), Arc::new(AtomicBool::new(false)));
    let interrupted = Arc::clone(&is_interrupted);
    on_signal(Some(printer), move || {
        interrupted.store(true, Ordering::Relaxed);
        stopper.stop();
    })?;
    let outcomes = service.run(&mut |event| match event {
        PullEvent::Collect(event) => collected::show(event, &spool, printer),
        other => show(&other, printer),
    })?;
    printer.clear();
    let is_whole = outcomes.iter().all(|one| one.state == PulledState::Sent);
    if args.json {
        printer.result(&(serde_json::to_string_pretty(&outcomes)? + "\n"))?;
    } else if args.once {
        outcomes.iter().try_for_each(|one| printer.result(&outcome_line(one)))?;
    }
    Ok(match args.once {
        true if is_interrupted.load(Ordering::Relaxed) => Status::Interrupted,
        true if !is_whole => Status::CouldNot,
        // Interrupting is the normal way to end it without a duration.
        _ => Status::Done,
    })
}

fn beside(store: PathBuf) -> PathBuf {
    let mut name = store.into_os_string();
    name.push(".pull");
    name.into()
}

fn show(event: &PullEvent<'_>, printer: &Printer) {
    match event {
        PullEvent::Collect(_) | PullEvent::Sent { .. } => {}
        PullEvent::Elsewhere(sources) => printer.advise(
            &format!("another puller samples {}", listed(sources)),
            "they are left alone; when that one has been gone for some seconds they are sampled here",
        ),
        PullEvent::Ours(sources) => printer.note(&format!("sampled here from now on: {}", listed(sources))),
        PullEvent::Cut { reason, hint } => {
            let text = format!("samples wait in the spool: {reason}");
            match hint {
                Some(hint) => printer.advise(&text, hint),
                None => printer.note(&text),
            }
        }
        PullEvent::Continues => printer.note("samples are sent to the repository again"),
        PullEvent::Progress(now) => {
            let (share, text) = progress(now);
            printer.progress(share, &text);
        }
    }
}
