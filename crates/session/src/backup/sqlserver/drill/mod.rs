//! A drill of a server's own backup: it is restored under another name on a server, checked there, and dropped again.

mod chain;
mod clean_up;
mod hold;
mod plan;

use iostall_connect::sqlserver::{BlockingConnection, Columns};
use iostall_engine::random_bytes;
use iostall_model::sqlserver_backup::{BackupDevice, BackupStatement};
use iostall_model::{BackupHeader, DrillOutcome, Run, RunBody, Warning, WarningCode};

use self::chain::Listed;
use self::clean_up::CleanUp;
use self::hold::Hold;
use self::plan::{MovedFile, Part, Plan};
use super::error::SqlServerBackupError;
use super::follow::{Answered, Follower};
use super::run::cause;
use super::server::Server;
use super::tsql::{self, RestoreCheck};
use crate::event::Observer;
use crate::transfer::Transfer;

pub use self::chain::{DrillTarget, SqlServerDrillRequest};

const ROOM: &str = include_str!("../sql/drill_room.sql");
const SYSTEM: [&str; 5] = ["master", "model", "msdb", "tempdb", "mssqlsystemresource"];
const NAME_MAX: usize = 128;

/// What is wrong with the backup is in the outcome of the run. An error says what was left on the server.
pub fn drill(
    request: &SqlServerDrillRequest,
    transfer: Transfer,
    observer: &dyn Observer,
) -> Result<Run, SqlServerBackupError> {
    let server = Server::new(&request.address, &request.password)?;
    let (plan, follower, main) = prepare(request, &server, &transfer, observer)?;
    let clean_up = CleanUp { server: &server, name: &request.name, files: &plan.files };
    let outcome = outcome(request, &plan, &server);
    let mut hold = Hold { request, plan: &plan, follower, outcome, made: None };
    let ended = hold.hold(main);
    let mut outcome = std::mem::take(&mut hold.outcome);
    // What broke off is not kept: nobody would look for it.
    let stays = request.keep && matches!(ended, Ok(())) && outcome.is_complete;
    let made = hold.made.take();
    drop(hold);
    let left = if stays { Ok(false) } else { clean_up.drop_database(made.as_ref()) };
    outcome.is_kept = stays || left.is_err();
    if let Err(error) = ended {
        let left = left
            .err()
            .map_or_else(|| format!("nothing is left of {}", request.name), |error| error.to_string());
        return Err(SqlServerBackupError::Drill { error: Box::new(error), left });
    }
    outcome.checks.push(clean_up::check(request, stays, left));
    outcome.elapsed_ns = transfer.elapsed_ns();
    let warnings = plan.warnings;
    let name = format!("{} on {}", request.name, server.name());
    Ok(transfer.finish(name, Vec::new(), warnings, RunBody::BackupDrill(Box::new(outcome))))
}

/// The statements of a drill, written for the files that the backup has. Only reads.
pub fn drill_script(
    request: &SqlServerDrillRequest,
    transfer: &Transfer,
    observer: &dyn Observer,
) -> Result<String, SqlServerBackupError> {
    let server = Server::new(&request.address, &request.password)?;
    let (plan, _, _) = prepare(request, &server, transfer, observer)?;
    let name = &request.name;
    let restores = plan.parts.iter().map(|part| {
        let BackupHeader { database, server, .. } = &part.backup;
        let what = iostall_measure::foreign::shown(&format!("{database} of {server}: {}", part.named));
        format!("-- {what}\n{}", plan::restore(part, name, plan.stop_at))
    });
    let mut text: String = restores.collect();
    text.push_str(&plan::recover(name));
    text.push_str(&plan::check_database(name));
    for statement in &request.statements {
        text.push_str(&plan::in_database(name, statement));
    }
    if !request.keep {
        text.push_str(&plan::drop(name, None, &plan.files));
    }
    Ok(text)
}

fn prepare<'a>(
    request: &SqlServerDrillRequest,
    server: &'a Server,
    transfer: &'a Transfer,
    observer: &'a dyn Observer,
) -> Result<(Plan, Follower<'a>, BlockingConnection), SqlServerBackupError> {
    check_request(request)?;
    let (mut main, monitor) = (server.open()?, server.open()?);
    let before = server.look(&mut main, &request.name)?;
    if !before.facts.state.is_empty() {
        return Err(SqlServerBackupError::DrillName {
            name: request.name.clone(),
            reason: format!("there is a database of that name ({})", before.facts.state),
        });
    }
    let mut follower = Follower {
        server,
        session_id: before.session_id,
        transfer,
        observer,
        monitor: Some(monitor),
        points: Vec::new(),
        blind_looks: 0,
    };
    let media: Vec<BackupStatement> = request
        .media
        .iter()
        .map(|devices| BackupStatement { devices: devices.clone(), ..BackupStatement::default() })
        .collect();
    let mut all = Vec::new();
    for (number, statement) in media.iter().enumerate() {
        let (connection, rows) = ask(&mut follower, main, RestoreCheck::Header, statement, None)?;
        main = connection;
        all.extend(rows.iter().map(|row| Listed::of(number, row)));
    }
    let links = chain::chain(&all, &request.target, request.database.as_deref())?;
    let token = token()?;
    let (mut files, mut parts) = (Vec::new(), Vec::new());
    for link in &links {
        let listed = &all[link.index];
        let statement = media[listed.media].clone();
        let position = listed.backup.position.to_string();
        let (connection, rows) =
            ask(&mut follower, main, RestoreCheck::FileList, &statement, Some(&position))?;
        main = connection;
        let new_files = plan::moved(&rows, &files, &request.name, &request.directory, &token);
        files.extend(new_files.iter().cloned());
        let (backup, may_be_beyond) = (listed.backup.clone(), link.may_be_beyond);
        parts.push(Part { statement, backup, new_files, named: listed.named(), may_be_beyond });
    }
    let warnings = check_room(&mut main, request, &files)?;
    let last = links.last().map(|link| &all[link.index]);
    let plan = Plan {
        parts,
        stop_at: request.target.time(),
        set: last.map(|last| last.set.replace('-', "")).unwrap_or_default(),
        made_utc: last.and_then(|last| last.made_utc),
        files,
        engine: format!("SQL Server {} ({})", before.facts.version, before.facts.edition),
        warnings,
    };
    Ok((plan, follower, main))
}

fn check_request(request: &SqlServerDrillRequest) -> Result<(), SqlServerBackupError> {
    let (name, directory) = (&request.name, &request.directory);
    let refused =
        |reason: &str| Err(SqlServerBackupError::DrillName { name: name.clone(), reason: reason.to_owned() });
    if name.trim().is_empty() || name.encode_utf16().count() > NAME_MAX || name.contains('\0') {
        return refused("it is no name of a database: 1 to 128 characters");
    }
    if SYSTEM.contains(&name.to_lowercase().as_str()) {
        return refused("it is a system database");
    }
    if directory.trim().is_empty() || directory.contains('\0') {
        return refused("--move-to names no directory for its files");
    }
    match request.media.iter().flatten().find(|device| **device == BackupDevice::Nul) {
        Some(device) => Err(SqlServerBackupError::NothingThere { device: device.name().to_owned() }),
        None => Ok(()),
    }
}

/// Whether the files fit. A server knows only the volumes that it has files on.
fn check_room(
    main: &mut BlockingConnection,
    request: &SqlServerDrillRequest,
    files: &[MovedFile],
) -> Result<Vec<Warning>, SqlServerBackupError> {
    let wanted_bytes = files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
    let rows = main.query("iostall:drill_room", ROOM, &[]).unwrap_or_default();
    match plan::room(&rows, &request.directory) {
        Some(free_bytes) if free_bytes < wanted_bytes => Err(SqlServerBackupError::DrillRoom {
            directory: request.directory.clone(),
            wanted_bytes,
            free_bytes,
        }),
        Some(_) => Ok(Vec::new()),
        None => {
            let message = format!(
                "whether {} has room for {} was not checked: the server does not say how much is free there",
                request.directory,
                iostall_measure::ByteCount(wanted_bytes)
            );
            Ok(vec![Warning::new(WarningCode::NotCounted, message).hint(
                "it says so of volumes that hold files of a database, to logins with VIEW SERVER STATE",
            )])
        }
    }
}

fn ask(
    follower: &mut Follower<'_>,
    main: BlockingConnection,
    check: RestoreCheck,
    statement: &BackupStatement,
    position: Option<&str>,
) -> Result<(BlockingConnection, Vec<Columns>), SqlServerBackupError> {
    let tag = check.tag();
    let source_name = follower.server.name();
    let text = format!("/* {tag} */ {}", tsql::restore(check, statement, position));
    match follower.run(main, tag, &text) {
        Answered::Done(main, rows) => Ok((*main, rows)),
        Answered::Failed(error) => Err(SqlServerBackupError::Failed { source_name, reason: cause(error) }),
        Answered::Stopped(how) => Err(SqlServerBackupError::ReadingStopped { how }),
        Answered::Cut { reason, .. } => Err(SqlServerBackupError::Lost { source_name, reason }),
    }
}

/// A part of file names that nothing else has.
fn token() -> Result<String, SqlServerBackupError> {
    let bytes = random_bytes::<8>().map_err(|_| iostall_connect::SourceError::Defect)?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}

fn outcome(request: &SqlServerDrillRequest, plan: &Plan, server: &Server) -> DrillOutcome {
    let mut devices: Vec<&str> = Vec::new();
    for device in plan.parts.iter().flat_map(|part| &part.statement.devices) {
        if !devices.contains(&device.name()) {
            devices.push(device.name());
        }
    }
    let source = plan.parts.first().map(|part| format!("{}: {}", part.backup.server, part.backup.database));
    let (bytes, stored_bytes) = plan.bytes();
    DrillOutcome {
        set: plan.set.clone(),
        from: devices.join(", "),
        source: source.unwrap_or_default(),
        made_utc: plan.made_utc,
        scratch: format!("database {} on {}, files in {}", request.name, server.name(), request.directory),
        engines: vec![plan.engine.clone()],
        files: plan.files.len() as u64,
        bytes,
        stored_bytes,
        ..DrillOutcome::default()
    }
}

/// Every statement of a drill, for the lint that parses them.
#[cfg(test)]
pub(super) fn drill_statements(statement: &BackupStatement, name: &str) -> Vec<String> {
    let file = |logical_name: &str, to: &str| MovedFile {
        logical_name: logical_name.into(),
        to: to.into(),
        bytes: 0,
    };
    let files = [file("it's data", r"F:\it's drill\1.mdf"), file("log]", r"F:\it's drill\2.ldf")];
    let part = |kind: &str, new_files: &[MovedFile]| Part {
        statement: statement.clone(),
        backup: BackupHeader {
            position: 2,
            kind: kind.into(),
            has_checksums: true,
            ..BackupHeader::default()
        },
        new_files: new_files.to_vec(),
        named: String::new(),
        may_be_beyond: false,
    };
    let stop_at = Some(jiff::civil::date(2026, 5, 28).at(3, 0, 0, 0));
    vec![
        plan::restore(&part("full", &files), name, stop_at),
        plan::restore(&part("differential", &[]), name, stop_at),
        plan::restore(&part("log", &files[..1]), name, None),
        plan::restore(&part("log", &[]), name, stop_at),
        plan::recover(name),
        plan::check_database(name),
        plan::in_database(name, "EXECUTE dbo.check_orders;"),
        plan::drop(name, None, &files),
        plan::drop(name, Some((9, "2026-11-23T04:00:00")), &files),
    ]
}
