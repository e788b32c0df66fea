//! `iostall load`: profile → targets → spans → verdict on the numbers → reports and store.

mod profile;
mod progress;
mod targets;

use std::fmt;
use std::sync::Arc;

use iostall_engine::host;
use iostall_engine::uring::{UringConfig, UringEngine};
use iostall_load::runner::{SpanJob, run_span};
use iostall_load::seat::EngineKind;
use iostall_load::trust::{BusyBefore, Evidence, judge};
use iostall_load::window::StopSign;
use iostall_measure::clock::utc_now;
use iostall_measure::{Clock, MonotonicClock};
use iostall_model::run::{SCHEMA, SCHEMA_VERSION};
use iostall_model::{LoadOutcome, Profile, Run, RunBody, RunId, SpanOutcome};

use crate::cli::{EngineChoice, GlobalArgs, LoadArgs};
use crate::failure::{Status, hinted};
use crate::interrupt::raise_on_signal;
use crate::output;
use crate::printer::Printer;
use crate::store;

use progress::LiveLine;
use targets::Targets;

/// How long the devices are watched before the load begins.
const LOOK_BEFORE_NS: u64 = 300_000_000;

/// Ctrl-C before anything was measured.
#[derive(Debug)]
pub(super) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted before anything was measured; what was made for the run is removed")
    }
}

impl std::error::Error for Interrupted {}

/// What all parts of one run share.
struct Session<'a> {
    printer: &'a Printer,
    clock: MonotonicClock,
    stop: Arc<StopSign>,
    engine: EngineKind,
    /// Why io_uring is not used, where it was wanted.
    fallback: Option<String>,
}

/// Runs a load and reports it.
pub(crate) fn run(args: &LoadArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let profile = profile::resolve(args)?;
    output::check(&args.output)?;
    // Before the load: a store that cannot be used should not cost anybody a run.
    let mut store = if args.no_store { None } else { Some(store::open(global)?) };
    let session = begin(args, printer)?;
    let run = match prepare_and_measure(args, profile, &session) {
        Err(error) if error.is::<Interrupted>() => {
            printer.error(&error);
            return Ok(Status::Interrupted);
        }
        other => other?,
    };
    let number = store.as_mut().map(|store| store::add(store, &run)).transpose()?;
    output::write(&run, number, &args.output, printer)?;
    Ok(status(&run))
}

fn begin<'a>(args: &LoadArgs, printer: &'a Printer) -> anyhow::Result<Session<'a>> {
    let clock = MonotonicClock::new();
    let stop = Arc::new(StopSign::default());
    raise_on_signal(&stop, &clock)?;
    let (engine, fallback) = choose_engine(args.what.engine)?;
    if let Some(cause) = &fallback {
        printer.note(&format!("note: {cause}"));
    }
    Ok(Session { printer, clock, stop, engine, fallback })
}

fn status(run: &Run) -> Status {
    if run.interrupted {
        return Status::Interrupted;
    }
    let RunBody::Load(outcome) = &run.body else { return Status::Done };
    let mut roles = outcome.spans.iter().flat_map(|span| &span.roles);
    if roles.any(|role| !role.errors.is_empty()) { Status::No } else { Status::Done }
}

/// io_uring where the kernel allows it; else threads, with the cause.
fn choose_engine(choice: EngineChoice) -> anyhow::Result<(EngineKind, Option<String>)> {
    let probe = UringConfig { capacity: 1, files: &[], buffers: None };
    match choice {
        EngineChoice::Psync => Ok((EngineKind::Psync, None)),
        EngineChoice::Null => Ok((EngineKind::Null, None)),
        EngineChoice::Auto | EngineChoice::Uring => match UringEngine::new(&probe) {
            Ok(_ring) => Ok((EngineKind::Uring, None)),
            Err(error) if choice == EngineChoice::Auto => {
                let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                Ok((EngineKind::Psync, Some(format!("{error}, so threads do the I/O{hint}"))))
            }
            Err(error) => {
                let hint = error.hint().unwrap_or("leave --engine out to use threads").to_owned();
                Err(hinted(error, hint))
            }
        },
    }
}

fn prepare_and_measure(args: &LoadArgs, profile: Profile, session: &Session<'_>) -> anyhow::Result<Run> {
    let targets = Targets::prepare(args, &profile, session)?;
    let devices = targets.devices();
    let busy_before = look_before(&devices, &session.clock);
    let started_utc = utc_now();
    let spans = run_spans(&profile, &targets, &devices, session)?;
    let interrupted = spans.iter().any(|span| span.interrupted) || spans.len() < profile.spans.len();
    let host = host::host();
    let facts = targets.facts();
    let outcome = LoadOutcome { profile, spans };
    let warnings = judge(&Evidence {
        host: &host,
        targets: &facts,
        sizes_after: &targets.sizes_now(),
        busy_before: &busy_before,
        outcome: &outcome,
    });
    Ok(Run {
        schema: SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        id: RunId::new(started_utc),
        name: args.name.clone().unwrap_or_else(|| outcome.profile.name.clone()),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        started_utc,
        ended_utc: utc_now(),
        interrupted,
        host,
        targets: facts,
        warnings,
        body: RunBody::Load(outcome),
    })
}

/// What the devices do before we do anything.
fn look_before(devices: &[String], clock: &MonotonicClock) -> Vec<BusyBefore> {
    let before = host::device_counters(devices);
    let from_ns = clock.now_ns();
    clock.sleep_until(from_ns + LOOK_BEFORE_NS);
    let seconds = (clock.now_ns() - from_ns) as f64 / 1e9;
    host::device_counters(devices)
        .iter()
        .filter_map(|after| {
            let then = before.iter().find(|counters| counters.name == after.name)?;
            let added = after.since(then)?;
            Some(BusyBefore {
                device: added.name.clone(),
                busy_share: added.busy_ms as f64 / 1e3 / seconds,
                iops: (added.read_requests + added.write_requests) as f64 / seconds,
            })
        })
        .collect()
}

fn run_spans(
    profile: &Profile,
    targets: &Targets,
    devices: &[String],
    session: &Session<'_>,
) -> anyhow::Result<Vec<SpanOutcome>> {
    let load_targets = targets.for_load();
    let mut outcomes = Vec::with_capacity(profile.spans.len());
    for (index, span) in profile.spans.iter().enumerate() {
        let lengths = [span.warmup, span.duration, span.cooldown];
        let mut line = LiveLine::new(session.printer, lengths, index, profile.spans.len());
        let job = SpanJob {
            span,
            seed: profile.seed,
            targets: &load_targets,
            engine: session.engine,
            fallback: session.fallback.as_deref(),
            devices,
        };
        let outcome = run_span(job, &session.clock, &session.stop, &mut line);
        session.printer.clear();
        outcomes.push(outcome.map_err(with_hint)?);
        if session.stop.is_raised() {
            break;
        }
    }
    Ok(outcomes)
}

fn with_hint(error: iostall_load::runner::RunError) -> anyhow::Error {
    match error.hint().map(str::to_owned) {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
