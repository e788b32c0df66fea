//! `iostall fleet agent`.

use std::sync::atomic::{AtomicBool, Ordering};

use iostall_measure::foreign::shown;
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_report::fleet_push::{applied_text, recovered_text};
use iostall_watch::centre::Centre;
use iostall_watch::deploy::{Policy, PushAgent, refuse_root};
use iostall_watch::{Asked, PushFollower, WatchError};

use crate::cli::{FleetAgentArgs, GlobalArgs};
use crate::failure::Status;
use crate::interrupt::stop_flag;
use crate::printer::Printer;
use crate::store::path;

const LOOK_NS: u64 = 100_000_000;

pub(super) fn run(args: &FleetAgentArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    refuse_root().map_err(WatchError::from)?;
    let policy = Policy::read(&args.policy).map_err(WatchError::from)?;
    let centre = Centre::open(&path(global)?, &args.url).map_err(WatchError::from)?;
    let (agent, recovered) = PushAgent::open(policy).map_err(WatchError::from)?;
    if let Some(recovered) = recovered {
        printer.note(&recovered_text(&recovered));
    }
    let mut follower = PushFollower::new(agent, centre);
    let stop = stop_flag(Some(printer))?;
    if args.once {
        return said(follower.ask()?, printer);
    }
    let (clock, mut said_last) = (MonotonicClock::new(), String::new());
    let every_ns = u64::try_from(args.every.as_nanos()).unwrap_or(u64::MAX);
    while !stop.load(Ordering::Relaxed) {
        match follower.ask() {
            Ok(asked) => {
                said_last.clear();
                said(asked, printer)?;
            }
            Err(error) if error.may_pass() => {
                let text = format!("not asked, and tried again: {error}");
                if text != said_last {
                    printer.note(&text);
                }
                said_last = text;
            }
            Err(error) => return Err(error.into()),
        }
        wait(&clock, every_ns, &stop);
    }
    // Interrupting is the normal way to end it.
    Ok(Status::Done)
}

fn wait(clock: &MonotonicClock, pause_ns: u64, stop: &AtomicBool) {
    let until_ns = clock.now_ns().saturating_add(pause_ns);
    while clock.now_ns() < until_ns && !stop.load(Ordering::Relaxed) {
        clock.sleep_until(until_ns.min(clock.now_ns() + LOOK_NS));
    }
}

fn said(asked: Asked, printer: &Printer) -> anyhow::Result<Status> {
    match asked {
        Asked::Nothing => Ok(Status::Done),
        Asked::Applied(applied) => {
            printer.result(&applied_text(&applied, false))?;
            Ok(Status::Done)
        }
        Asked::Refused { reason, hint } => {
            let text = format!("a release was not applied: {}", shown(&reason));
            match hint {
                Some(hint) => printer.advise(&text, &hint),
                None => printer.note(&text),
            }
            Ok(Status::No)
        }
    }
}
