//! `iostall fleet push`.

use anyhow::anyhow;
use iostall_report::fleet_push::{drift_text, log_text, plan_text, status_text};
use iostall_store::PostgresHistory;
use iostall_watch::release::{ReleaseError, read_release};
use iostall_watch::rollout::{
    self, DriftState, Operator, PushRequest, Role, RolloutError, chosen_by, drift, put_operator,
};
use iostall_watch::{WatchError, open_repository};
use serde::Serialize;

use crate::cli::{
    FleetPushArgs, FleetPushCommand, PushApplyArgs, PushOperatorArgs, PushPlanArgs, PushReadArgs,
    PushRollbackArgs, PushStatusArgs,
};
use crate::failure::Status;
use crate::printer::Printer;

/// Works on pushes.
pub(super) fn run(args: &FleetPushArgs, printer: &Printer) -> anyhow::Result<Status> {
    match &args.command {
        FleetPushCommand::Operator(args) => operator(args),
        FleetPushCommand::Plan(args) => plan(args, printer),
        FleetPushCommand::Apply(args) => apply(args, printer),
        FleetPushCommand::Status(args) => status(args, printer),
        FleetPushCommand::Rollback(args) => rollback(args, printer),
        FleetPushCommand::Drift(args) => show_drift(args, printer),
        FleetPushCommand::Log(args) => log(args, printer),
    }
}

fn operator(args: &PushOperatorArgs) -> anyhow::Result<Status> {
    let role: Role = args.role.parse().map_err(|reason: String| anyhow!("--role {}: {reason}", args.role))?;
    let key = args.public_key.parse().map_err(|error: ReleaseError| WatchError::from(error))?;
    let repository = open_repository(&args.url, &Printer::ask_password)?;
    put_operator(&repository, &args.key, &args.name, key, role).map_err(WatchError::from)?;
    Ok(Status::Done)
}

/// The repository, for who may do this.
fn opened(url: &str, key: &std::path::Path, needed: Role) -> anyhow::Result<(PostgresHistory, Operator)> {
    let repository = open_repository(url, &Printer::ask_password)?;
    let operator = Operator::open(&repository, key, needed).map_err(WatchError::from)?;
    Ok((repository, operator))
}

fn plan(args: &PushPlanArgs, printer: &Printer) -> anyhow::Result<Status> {
    let (rings, failed_max) = (parsed(&args.rings)?, parsed("0")?);
    let file = read_release(&args.release).map_err(WatchError::from)?;
    let (repository, _) = opened(&args.url, &args.key, Role::Viewer)?;
    let request = PushRequest {
        file: &file,
        labels: chosen_by(&args.labels).map_err(WatchError::from)?,
        rings,
        failed_max,
    };
    let plan = rollout::plan(&repository, &request).map_err(WatchError::from)?;
    shown(args.json, &plan, || plan_text(&plan), printer)
}

fn parsed<T: std::str::FromStr<Err = RolloutError>>(text: &str) -> Result<T, WatchError> {
    Ok(text.parse()?)
}

fn apply(args: &PushApplyArgs, printer: &Printer) -> anyhow::Result<Status> {
    let PushApplyArgs { what, max_failed } = args;
    let (rings, failed_max) = (parsed(&what.rings)?, parsed(max_failed)?);
    let file = read_release(&what.release).map_err(WatchError::from)?;
    let (repository, operator) = opened(&what.url, &what.key, Role::Operator)?;
    let request = PushRequest {
        file: &file,
        labels: chosen_by(&what.labels).map_err(WatchError::from)?,
        rings,
        failed_max,
    };
    let number = rollout::begin(&repository, &operator, &request).map_err(WatchError::from)?;
    shown(what.json, &serde_json::json!({ "push": number }), || format!("push {number} has begun\n"), printer)
}

fn rollback(args: &PushRollbackArgs, printer: &Printer) -> anyhow::Result<Status> {
    let permit = read_release(&args.permit).map_err(WatchError::from)?;
    let (repository, operator) = opened(&args.url, &args.key, Role::Operator)?;
    rollout::undo(&repository, &operator, args.push, &permit).map_err(WatchError::from)?;
    printer.result(&format!("servers are asked to undo push {}\n", args.push))?;
    Ok(Status::Done)
}

fn status(args: &PushStatusArgs, printer: &Printer) -> anyhow::Result<Status> {
    let (repository, _) = opened(&args.read.url, &args.read.key, Role::Viewer)?;
    let pushes = rollout::status(&repository, args.push).map_err(WatchError::from)?;
    shown(args.read.json, &pushes, || status_text(&pushes), printer)
}

fn show_drift(args: &PushReadArgs, printer: &Printer) -> anyhow::Result<Status> {
    let (repository, _) = opened(&args.url, &args.key, Role::Viewer)?;
    let found = drift(&repository).map_err(WatchError::from)?;
    let is_same = found.iter().all(|one| one.state == DriftState::Same);
    shown(args.json, &found, || drift_text(&found), printer)?;
    Ok(if is_same { Status::Done } else { Status::No })
}

fn log(args: &PushReadArgs, printer: &Printer) -> anyhow::Result<Status> {
    let (repository, _) = opened(&args.url, &args.key, Role::Viewer)?;
    let log = rollout::log(&repository).map_err(WatchError::from)?;
    shown(args.json, &log, || log_text(&log), printer)
}

/// As JSON or as text.
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
