//! `iostall fleet push`.

use iostall_report::fleet_push::{drift_text, plan_text, status_text, unreached_text};
use iostall_store::PostgresHistory;
use iostall_watch::release::read_release;
use iostall_watch::rollout::{self, DriftState, PushRequest, chosen_by, drift};
use iostall_watch::{WatchError, open_repository};
use serde::Serialize;

use crate::cli::{
    FleetPushArgs, FleetPushCommand, PushApplyArgs, PushEndArgs, PushPlanArgs, PushReadArgs,
    PushRollbackArgs, PushStatusArgs,
};
use crate::failure::Status;
use crate::printer::Printer;

pub(super) fn run(args: &FleetPushArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        FleetPushCommand::Plan(args) => plan(args, printer),
        FleetPushCommand::Apply(args) => apply(args, printer),
        FleetPushCommand::Status(args) => status(args, printer),
        FleetPushCommand::Skip(args) => intervene(&args.which, Some(&args.server)),
        FleetPushCommand::End(args) => intervene(args, None),
        FleetPushCommand::Rollback(args) => rollback(args, printer),
        FleetPushCommand::Drift(args) => show_drift(args, printer),
    }
}

fn opened(url: &str) -> Result<PostgresHistory, WatchError> {
    open_repository(url, &Printer::ask_password)
}

fn request<'a>(args: &PushPlanArgs, file: &'a [u8], max_failed: &str) -> Result<PushRequest<'a>, WatchError> {
    let (rings, failed_max) = (args.rings.parse()?, max_failed.parse()?);
    Ok(PushRequest { file, labels: chosen_by(&args.labels)?, rings, failed_max })
}

fn plan(args: &PushPlanArgs, printer: &Printer) -> anyhow::Result<Status> {
    let file = read_release(&args.release).map_err(WatchError::from)?;
    let request = request(args, &file, "0")?;
    let repository = opened(&args.url)?;
    let plan = rollout::plan(&repository, &request).map_err(WatchError::from)?;
    shown(args.json, &plan, || plan_text(&plan), printer)
}

fn apply(args: &PushApplyArgs, printer: &Printer) -> anyhow::Result<Status> {
    let PushApplyArgs { what, max_failed } = args;
    let file = read_release(&what.release).map_err(WatchError::from)?;
    let request = request(what, &file, max_failed)?;
    let repository = opened(&what.url)?;
    let number = rollout::begin(&repository, &request).map_err(WatchError::from)?;
    shown(what.json, &serde_json::json!({ "push": number }), || format!("push {number} has begun\n"), printer)
}

/// Without a server, the whole push ends.
fn intervene(which: &PushEndArgs, server: Option<&str>) -> anyhow::Result<Status> {
    let repository = opened(&which.url)?;
    let done = match server {
        Some(server) => rollout::skip(&repository, which.push, server),
        None => rollout::end(&repository, which.push),
    };
    Ok(done.map(|()| Status::Done).map_err(WatchError::from)?)
}

fn rollback(args: &PushRollbackArgs, printer: &Printer) -> anyhow::Result<Status> {
    let permit = read_release(&args.permit).map_err(WatchError::from)?;
    let repository = opened(&args.url)?;
    rollout::undo(&repository, args.push, &permit).map_err(WatchError::from)?;
    printer.result(&format!("servers are asked to undo push {}\n", args.push))?;
    Ok(Status::Done)
}

fn status(args: &PushStatusArgs, printer: &Printer) -> anyhow::Result<Status> {
    let repository = opened(&args.read.url)?;
    let pushes = rollout::status(&repository, args.push).map_err(WatchError::from)?;
    let unreached = rollout::unreached(&repository).map_err(WatchError::from)?;
    shown(args.read.json, &pushes, || status_text(&pushes) + &unreached_text(&unreached), printer)
}

fn show_drift(args: &PushReadArgs, printer: &Printer) -> anyhow::Result<Status> {
    let repository = opened(&args.url)?;
    let found = drift(&repository).map_err(WatchError::from)?;
    let is_same = found.iter().all(|one| one.state == DriftState::Same);
    shown(args.json, &found, || drift_text(&found), printer)?;
    Ok(if is_same { Status::Done } else { Status::No })
}

fn shown(
    json: bool,
    document: &impl Serialize,
    text: impl FnOnce() -> String,
    printer: &Printer,
) -> anyhow::Result<Status> {
    let text = if json { serde_json::to_string_pretty(document)? + "\n" } else { text() };
    printer.result(&text)?;
    Ok(Status::Done)
}
