//! A server whose data directory is not here, or not readable: its files come through the replication protocol.
//!
//! One session does everything. Its temporary slot keeps the log from before the backup begins until the server has sent it, and
//! both end with the session. So the log needs no session of its own, and the backup one of `max_wal_senders`.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use iostall_connect::postgres::{BaseBackup, BaseBackupOptions, Lsn, ReplicationLogin, ReplicationSession};
use iostall_measure::ByteCount;
use iostall_measure::clock::utc_now;
use iostall_model::backup::{FileMetadata, PostgresRecord, SourceKind, SourceRecord, StoredName, Through};
use iostall_transfer::backup::create::{Item, Live, LiveEnd, PagesSeen, PreparedSource, What};
use iostall_transfer::backup::read::OpenSet;
use iostall_transfer::pipeline::StageFailure;

use super::base_files::{BaseFiles, LABEL_NAME, Label, Received, tablespaces_of};
use super::control::{self, ControlFile};
use super::error::PostgresBackupError;
use super::increment;
use super::inspect::{Layout, PageInspector};
use super::request::{LABEL, PostgresRequest, no_checksums, settings_are_in};

/// What entries begin with beside other sources: where the files are on the server, nobody may know.
const PREFIX: &str = "postgresql";
const SLOT_PREFIX: &str = "iostall_backup";
/// The server does not say the mode of files of its own: the permissions of the others are in their archive.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;
/// Bits that let the group read a file, and enter a directory.
const GROUP_READS: u32 = 0o040;
const GROUP_ENTERS: u32 = 0o050;

/// Begins a base backup. It ends when the result is dropped, or once `cancel` is set.
pub(super) fn prepare(
    request: &PostgresRequest,
    cancel: &Arc<AtomicBool>,
) -> Result<PreparedSource, PostgresBackupError> {
    let named = request.address.to_string();
    let mut session = session(request, cancel)?;
    let facts = Facts::of(&mut session)?;
    let warnings = settings_elsewhere(&mut session).into_iter().collect();
    let slot = format!("{SLOT_PREFIX}_{}_{}", std::process::id(), utc_now().as_nanosecond());
    session.create_slot(&slot, true, true)?;
    let (cluster, page_bytes) = (facts.system_identifier, facts.page_bytes);
    let upload = |base: &Arc<OpenSet>| increment::upload(&mut session, cluster, page_bytes, base);
    let increment_from = request.base.as_ref().map(upload).transpose()?;
    let backup = session.base_backup(&BaseBackupOptions {
        label: LABEL.to_owned(),
        fast_checkpoint: request.fast_checkpoint,
        with_log: true,
        has_manifest: facts.version >= increment::INCREMENTS,
        is_increment: increment_from.is_some(),
    })?;
    let record = PostgresRecord { increment_from, ..record(&backup, &facts) };
    Ok(source(named, backup, &facts, record, warnings))
}

fn session(
    request: &PostgresRequest,
    cancel: &Arc<AtomicBool>,
) -> Result<ReplicationSession, PostgresBackupError> {
    Ok(ReplicationSession::open(ReplicationLogin {
        address: &request.address,
        name: "iostall",
        password: &request.password,
        limit: request.limit,
        cancel: Arc::clone(cancel),
    })?)
}

pub(super) fn system_identifier(request: &PostgresRequest) -> Result<u64, PostgresBackupError> {
    Ok(session(request, &Arc::default())?.identify_system()?.system_identifier)
}

/// What is known at the start; the end adds the rest.
fn record(backup: &BaseBackup, facts: &Facts) -> PostgresRecord {
    let (start, timeline) = backup.start();
    PostgresRecord {
        version: facts.version_text.clone(),
        system_identifier: facts.system_identifier,
        archives: Some(facts.archives),
        timeline,
        start_lsn: start.to_string(),
        tablespaces: tablespaces_of(backup).into_iter().flatten().collect(),
        through: Through::Replication,
        ..PostgresRecord::default()
    }
}

fn source(
    named: String,
    backup: BaseBackup,
    facts: &Facts,
    record: PostgresRecord,
    warnings: Vec<String>,
) -> PreparedSource {
    let (start, _) = backup.start();
    let layout =
        Layout { page_bytes: facts.page_bytes as usize, pages_per_segment: facts.pages_per_segment, start };
    let pages =
        facts.has_checksums.then(|| Arc::new(PageInspector::new(None, &StoredName::default(), layout)));
    let received = Arc::new(Mutex::new(Received::default()));
    let files = BaseFiles::new(backup, layout.page_bytes, pages.clone(), Arc::clone(&received));
    let metadata = FileMetadata { mode: FILE_MODE, ..FileMetadata::default() };
    let files = Item::new(StoredName::default(), What::Files(Box::new(files)), metadata);
    PreparedSource {
        record: SourceRecord {
            named,
            identity: None,
            prefix: PREFIX.into(),
            kind: SourceKind::Postgresql(record.clone()),
            read_until_utc: utc_now(),
        },
        items: vec![files],
        last: Vec::new(),
        live: Some(Box::new(ProtocolLive { received, record, pages, stop: None, warnings })),
        page_bytes: Some(facts.page_bytes),
        skipped_specials: 0,
        content_warnings: Vec::new(),
    }
}

struct Facts {
    version: u32,
    version_text: String,
    system_identifier: u64,
    page_bytes: u32,
    pages_per_segment: u32,
    has_checksums: bool,
    archives: bool,
}

impl Facts {
    fn of(session: &mut ReplicationSession) -> Result<Self, PostgresBackupError> {
        let system_identifier = session.identify_system()?.system_identifier;
        let page_bytes = setting(session, "block_size", |text| text.parse().ok().filter(|bytes| *bytes > 0))?;
        let segment_bytes = setting(session, "segment_size", bytes_in)?;
        let has_checksums = session.show("data_checksums")? == "on";
        let archives = session.show("archive_mode")? != "off";
        Ok(Self {
            version: session.version(),
            version_text: session.version_text().to_owned(),
            system_identifier,
            page_bytes,
            pages_per_segment: u32::try_from(segment_bytes / u64::from(page_bytes)).unwrap_or(u32::MAX),
            has_checksums,
            archives,
        })
    }
}

fn setting<T>(
    session: &mut ReplicationSession,
    name: &'static str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, PostgresBackupError> {
    let text = session.show(name)?;
    read(&text).ok_or(PostgresBackupError::Setting { name, text })
}

/// A size as the server shows it, `1GB`: in powers of 1024.
fn bytes_in(text: &str) -> Option<u64> {
    let binary = text.strip_suffix('B').unwrap_or(text);
    binary.parse().ok().map(ByteCount::bytes)
}

/// A server whose settings are not in its data directory cannot be started from the backup alone. Not every login may know.
fn settings_elsewhere(session: &mut ReplicationSession) -> Option<String> {
    let (file, data) = (session.show("config_file").ok()?, session.show("data_directory").ok()?);
    let is_inside = std::path::Path::new(&file).parent() == Some(std::path::Path::new(&data));
    (!is_inside).then(|| settings_are_in(&file))
}

struct ProtocolLive {
    received: Arc<Mutex<Received>>,
    record: PostgresRecord,
    pages: Option<Arc<PageInspector>>,
    stop: Option<Lsn>,
    warnings: Vec<String>,
}

impl ProtocolLive {
    /// The parts that recovery begins from, after everything else.
    fn stop(&mut self) -> Result<LiveEnd, PostgresBackupError> {
        let Received { label, control, owner, stop, has_wrong_pages } =
            self.received.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let missing = |what| PostgresBackupError::NotWhole { what };
        let stop = stop.ok_or_else(|| missing("its end"))?;
        let text = label.ok_or_else(|| missing(LABEL_NAME))?;
        let words = String::from_utf8_lossy(&text).into_owned();
        let label = Label::parse(&words)?;
        if label.increment_from.map(|lsn| lsn.to_string()) != self.record.increment_from {
            return Err(PostgresBackupError::Label {
                what: "INCREMENTAL FROM LSN of the base",
                label: words,
            });
        }
        let control = control.and_then(ControlFile::parse).ok_or_else(|| missing(control::NAME))?;
        self.stop = Some(stop);
        let enters = if owner.mode & GROUP_READS == 0 { 0 } else { GROUP_ENTERS };
        let of_directory = FileMetadata { mode: DIRECTORY_MODE | enters, ..owner };
        let generated = |name: &str, bytes| Item::new(name.into(), What::Generated(bytes), owner);
        let items = vec![
            Item::new(StoredName::default(), What::Directory, of_directory),
            generated(LABEL_NAME, text),
            // Last, so that a restore that breaks off has none.
            generated(control::NAME, control.without_checkpoint()),
        ];
        let (mut warnings, mut content_warnings) = (std::mem::take(&mut self.warnings), Vec::new());
        warnings.extend(self.pages.is_none().then(no_checksums));
        if has_wrong_pages && self.pages.as_ref().is_some_and(|pages| pages.seen(stop).wrong.is_empty()) {
            content_warnings
                .push("the server has found pages with a wrong checksum: its log names them".to_owned());
        }
        let record = PostgresRecord {
            stop_lsn: stop.to_string(),
            from_standby: label.is_of_standby,
            ..self.record.clone()
        };
        Ok(LiveEnd { items, kind: SourceKind::Postgresql(record), warnings, content_warnings })
    }
}

impl Live for ProtocolLive {
    fn end(&mut self) -> Result<LiveEnd, StageFailure> {
        Ok(self.stop()?)
    }

    fn pages(&self) -> Option<PagesSeen> {
        Some(self.pages.as_ref()?.seen(self.stop?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_the_server_shows_them() {
        assert_eq!(
            (bytes_in("1GB"), bytes_in("16MB"), bytes_in("64kB")),
            (Some(1 << 30), Some(16 << 20), Some(64 << 10))
        );
        assert_eq!((bytes_in("8192B"), bytes_in("much")), (Some(8192), None));
    }
}
