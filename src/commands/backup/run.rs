//! `iostall backup run`: has a server make its own backup, and writes report and run.

use iostall_collect::{Address, Secret};
use iostall_model::Run;
use iostall_model::sqlserver_backup::{BackupStatement, cautions, refusal_to_read_back, refusals};
use iostall_session::SessionError;
use iostall_session::backup::database::server_of;
use iostall_session::backup::sqlserver::{
    FormError, SqlServerBackupError, SqlServerBackupRequest, agent_job, maintenance_script, run as back_up,
    script,
};
use iostall_session::transfer::Transfer;

use super::stats::Stats;
use crate::cli::{BackupRunArgs, FormChoice, GlobalArgs, RunOutput};
use crate::failure::{Status, hinted};
use crate::frame::{answer, begin_transfer};
use crate::output::{self, Delivery};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

pub(super) fn run(args: &BackupRunArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let statement = args.statement();
    let (address, password) = server(&args.sqlserver, args.printed().is_none())?;
    let mut refusals = refusals(&statement, args.for_version.unwrap_or_default());
    refusals.extend(refusal_to_read_back(&statement).filter(|_| args.verify));
    if !refusals.is_empty() {
        return Err(SqlServerBackupError::Refused { refusals }.into());
    }
    if let Some(form) = args.printed() {
        args.output.refuse("the T-SQL is only printed")?;
        for caution in cautions(&statement) {
            printer.warning(&hinted(anyhow::anyhow!(caution.message), caution.hint));
        }
        printer.result(&printed(form, &statement, args)?)?;
        return Ok(Status::Done);
    }
    let outputs = output::check(&args.output, &taken(global))?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let transfer = begin_transfer(None, printer)?;
    let (read_back, trace_flags) = (args.verify, args.trace_flags);
    let request = SqlServerBackupRequest { address, password, statement, read_back, trace_flags };
    let percent = Stats::new(args.set.stats, printer);
    let mut made = back_up(&request, transfer, &percent)?;
    let ended = made.ended.take();
    let mut run = made.into_run();
    let status = match &ended {
        Some(SqlServerBackupError::Stopped { .. }) => Status::Interrupted,
        Some(_) => Status::CouldNot,
        None if run.interrupted => Status::Interrupted,
        None => answer(&run),
    };
    match ended {
        None => percent.complete(),
        Some(error) => printer.error(&error.into()),
    }
    let delivery = Delivery::new(&outputs, &args.output, printer).after(status, global.quiet);
    Ok(delivery.give(&mut run, &mut writer, status))
}

fn printed(form: FormChoice, statement: &BackupStatement, args: &BackupRunArgs) -> anyhow::Result<String> {
    let read_back = args.verify;
    let refused = |error: FormError| hinted(error.clone(), error.hint);
    match form {
        FormChoice::Tsql => Ok(script(statement, read_back, args.trace_flags)),
        FormChoice::MaintenanceScript => maintenance_script(statement, read_back).map_err(refused),
        FormChoice::AgentJob => agent_job(statement, read_back).map_err(refused),
    }
}

/// Has a server read or restore its own backup, and writes report and run.
pub(super) fn ask(
    output: &dyn RunOutput,
    no_store: bool,
    global: &GlobalArgs,
    printer: &Printer,
    work: impl FnOnce(Transfer) -> Result<Run, SqlServerBackupError>,
) -> anyhow::Result<Status> {
    let outputs = output::check(output, &taken(global))?;
    let mut writer = run_writer(global, no_store, printer)?;
    let mut run = match work(begin_transfer(None, printer)?) {
        Err(error @ SqlServerBackupError::ReadingStopped { .. }) => {
            printer.error(&error.into());
            return Ok(Status::Interrupted);
        }
        done => done?,
    };
    let status = if run.interrupted { Status::Interrupted } else { answer(&run) };
    Ok(Delivery::new(&outputs, output, printer).after(status, global.quiet).give(
        &mut run,
        &mut writer,
        status,
    ))
}

/// The server that a URL names, with its password where that is needed.
pub(super) fn server(url: &str, is_asked: bool) -> anyhow::Result<(Address, Secret)> {
    Ok(server_of(url, &Printer::ask_password, is_asked).map_err(SessionError::from)?)
}
