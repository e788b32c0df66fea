//! Rules that depend on the server and on the state of the database.

use super::refusal::{BACKUP, COMPRESSION, ENCRYPTION, MANAGED, MIRRORS, Refusal, SECONDARIES};
use super::rules::refusals;
use super::statement::{BackupKind, BackupStatement, StatementCompression};
use super::version::ServerVersion;

/// `SERVERPROPERTY('EngineEdition')`.
const EDITION_ENTERPRISE: u32 = 3;
const EDITION_EXPRESS: u32 = 4;
const EDITION_MANAGED_INSTANCE: u32 = 8;
/// Services that make their own backups: Azure SQL Database, Synapse (dedicated and serverless pools), and SQL database in Fabric.
const EDITIONS_WITHOUT_BACKUP: [u32; 4] = [5, 6, 11, 12];

/// The build of 2019 CU5, from which on compression of encrypted databases needs no larger transfer.
const BUILD_2019_CU5: u32 = 4053;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    pub version: ServerVersion,
    /// The third number of `ProductVersion`.
    pub build: u32,
    /// `SERVERPROPERTY('EngineEdition')`.
    pub engine_edition: u32,
    /// `SERVERPROPERTY('Edition')`, such as `Standard Edition (64-bit)`.
    pub edition: String,
    /// `None` if the database does not exist, or the login may not see it.
    pub recovery_model: Option<RecoveryModel>,
    /// `ONLINE`, `RESTORING` and so on.
    pub state: String,
    /// Encrypted by TDE.
    pub is_encrypted: bool,
    pub is_secondary: bool,
    pub is_snapshot: bool,
}

/// The version whose rules a server keeps, by `EngineEdition` and the first number of `ProductVersion`; `None` before 2008. Services in
/// the cloud say 12 for ever, whatever they can do: they have what is newest.
pub fn version_of(engine_edition: u32, major: u32) -> Option<ServerVersion> {
    if engine_edition == EDITION_MANAGED_INSTANCE || EDITIONS_WITHOUT_BACKUP.contains(&engine_edition) {
        return Some(ServerVersion::default());
    }
    ServerVersion::of_major(major)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryModel {
    Full,
    BulkLogged,
    Simple,
}

/// Everything in `statement` that this server would refuse, or that [`refusals`] finds. The edition is asked first: where there is no BACKUP
/// at all, no rule about its options is of use.
pub fn refusals_of_server(statement: &BackupStatement, facts: &ServerFacts) -> Vec<Refusal> {
    if EDITIONS_WITHOUT_BACKUP.contains(&facts.engine_edition) {
        let message = format!("{} has no BACKUP statement", facts.edition);
        let hint = "its own backups are made by the service; export a .bacpac to keep a copy";
        return vec![Refusal::new(BACKUP, message, hint)];
    }
    let mut found = refusals(statement, facts.version);
    if facts.engine_edition == EDITION_MANAGED_INSTANCE {
        managed(statement, &mut found);
    }
    edition(statement, facts, &mut found);
    database(statement, facts, &mut found);
    secondary(statement, facts, &mut found);
    encrypted(statement, facts, &mut found);
    found
}

fn managed(statement: &BackupStatement, found: &mut Vec<Refusal>) {
    let is_whole = statement.kind == BackupKind::Full && statement.parts.is_all();
    if !(statement.is_to_url() && is_whole && statement.copy_only) {
        let message = "a Managed Instance takes only full backups with COPY_ONLY to URL";
        let hint = "add --copy-only, leave --type out, and name a blob with --to";
        found.push(Refusal::new(MANAGED, message, hint));
    }
    if statement.media.format || statement.media.overwrite.is_some() {
        let message = "a Managed Instance knows neither FORMAT nor INIT: a blob that is there stays as it is";
        found.push(Refusal::new(MANAGED, message, "leave it out, and name a new blob with --to"));
    }
}

fn edition(statement: &BackupStatement, facts: &ServerFacts, found: &mut Vec<Refusal>) {
    let is_small = facts.engine_edition == EDITION_EXPRESS || facts.edition.starts_with("Web");
    let edition = facts.edition.split(" Edition").next().unwrap_or_default();
    if is_small && statement.compression.is_some_and(StatementCompression::is_on) {
        let message = format!("the {edition} edition makes no compressed backups");
        found.push(Refusal::new(COMPRESSION, message, "leave --compression out"));
    }
    // Developer and Evaluation count as Enterprise.
    if !statement.mirrors.is_empty() && facts.engine_edition != EDITION_ENTERPRISE {
        let message = format!("the {edition} edition makes no mirrored backups: only Enterprise does");
        found.push(Refusal::new(MIRRORS, message, "leave --mirror-to out, and copy the files afterwards"));
    }
    if is_small && statement.encryption.is_some() {
        let message = format!("the {edition} edition makes no encrypted backups");
        found.push(Refusal::new(ENCRYPTION, message, "leave --encrypt-with out"));
    }
}

fn database(statement: &BackupStatement, facts: &ServerFacts, found: &mut Vec<Refusal>) {
    let name = &statement.database;
    let Some(recovery_model) = facts.recovery_model else {
        let message = format!("there is no database {name:?} that this login can see");
        found.push(Refusal::new(
            BACKUP,
            message,
            "check the name; the login needs access to it, or VIEW ANY DATABASE",
        ));
        return;
    };
    if facts.is_snapshot {
        let message = format!("{name:?} is a database snapshot, which cannot be backed up");
        found.push(Refusal::new(BACKUP, message, "back up the database that it was taken of"));
    }
    if facts.state != "ONLINE" && !statement.log.no_truncate {
        let message = format!("the database {name:?} is {}, not ONLINE", facts.state);
        let hint = "bring it online first; of a damaged one, --type log --no-truncate may still save the log";
        found.push(Refusal::new(BACKUP, message, hint));
    }
    if statement.kind == BackupKind::Log && recovery_model == RecoveryModel::Simple {
        let message =
            format!("the database {name:?} has the recovery model SIMPLE: its log cannot be backed up");
        let hint =
            "make a full or differential backup, or set the recovery model FULL and make a full backup first";
        found.push(Refusal::new(BACKUP, message, hint));
    }
}

/// Since 2025 a secondary takes every kind of backup.
fn secondary(statement: &BackupStatement, facts: &ServerFacts, found: &mut Vec<Refusal>) {
    if !facts.is_secondary || facts.version >= ServerVersion::V2025 {
        return;
    }
    let (message, hint) = match statement.kind {
        BackupKind::Full if !statement.copy_only => (
            "a secondary replica takes full backups only with COPY_ONLY",
            "add --copy-only, or name the primary with --sqlserver",
        ),
        BackupKind::Differential => {
            ("a secondary replica takes no differential backups", "name the primary with --sqlserver")
        }
        BackupKind::Log if statement.copy_only => {
            ("a secondary replica takes no log backups with COPY_ONLY", "leave --copy-only out")
        }
        BackupKind::Full | BackupKind::Log => return,
    };
    found.push(Refusal::new(SECONDARIES, message, hint));
}

/// Before 2016 pages that TDE encrypted were compressed as they were, which saves nothing; from 2016 on they are decrypted first, but
/// up to 2019 CU5 only where the transfer is larger than its default.
fn encrypted(statement: &BackupStatement, facts: &ServerFacts, found: &mut Vec<Refusal>) {
    if !facts.is_encrypted || !statement.compression.is_some_and(StatementCompression::is_on) {
        return;
    }
    if facts.version < ServerVersion::V2016 {
        let message = format!(
            "before 2016, compression of a database encrypted by TDE costs CPU time and saves nothing, and this server is {}",
            facts.version
        );
        found.push(Refusal::new(BACKUP, message, "add --compression off"));
        return;
    }
    let is_automatic = facts.version > ServerVersion::V2019
        || (facts.version == ServerVersion::V2019 && facts.build >= BUILD_2019_CU5);
    if !is_automatic && statement.transfer.transfer_bytes.is_none_or(|bytes| bytes <= 65_536) {
        let message = "before 2019 CU5, a database encrypted by TDE is compressed only with a MAXTRANSFERSIZE above 64K";
        found.push(Refusal::new(BACKUP, message, "add --max-transfer-size 1M, or --compression off"));
    }
}
