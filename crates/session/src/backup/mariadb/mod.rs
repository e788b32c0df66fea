//! A running MariaDB server as the source of a backup.
//!
//! Its own mariadb-backup reads its files, since only that follows the changes of the server's catalogue while it does. What it
//! writes into its stream becomes an entry each. What is restored must be prepared before a server may be started on it.

mod child;
mod error;
mod pages;
mod restored;
mod tool;

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iostall_connect::mysql::{BackupFacts, backup_facts};
use iostall_connect::{Address, Secret};
use iostall_engine::files;
use iostall_measure::clock::utc_now;
use iostall_model::Identity;
use iostall_model::backup::{FileMetadata, MariadbRecord, SourceKind, SourceRecord, StoredName};
use iostall_transfer::backup::create::{Inspect, Item, Live, LiveEnd, PagesSeen, PreparedSource, What};
use iostall_transfer::backup::xbstream::XbstreamReader;
use iostall_transfer::pipeline::StageFailure;

use self::child::BackupStream;
use crate::identity::identity_of;

pub(super) use self::child::{SETTINGS, prepare as prepare_files};
pub use self::error::MariadbBackupError;
pub(super) use self::pages::PageReader;
pub(super) use self::restored::{MEMORY_BYTES, Preparation};
pub(super) use self::tool::{Tool, backup_tool, server_tool};

/// Beside other sources everything stands below this name.
const PREFIX: &str = "mariadb";
/// As the server makes its files and its directory.
const FILE_MODE: u32 = 0o660;
const DIRECTORY_MODE: u32 = 0o750;
/// The stream has small headers between its contents, which are read past this.
const READ_AHEAD_BYTES: usize = 64 << 10;
/// Its mark and its identity are at the beginning.
const CONTROL_BYTES: usize = 64;

#[derive(Clone, Debug)]
pub struct MariadbRequest {
    pub address: Address,
    pub password: Secret,
    /// Where MariaDB's programs are, if not where distributions have them.
    pub engine_dir: Option<PathBuf>,
    pub limit: Duration,
}

/// Starts mariadb-backup on the server. It ends when the result is dropped, or once `cancel` is set.
pub fn prepare(
    request: &MariadbRequest,
    cancel: &Arc<AtomicBool>,
) -> Result<PreparedSource, MariadbBackupError> {
    let MariadbRequest { address, password, engine_dir, limit } = request;
    let named = address.to_string();
    let facts = backup_facts(address, password, *limit)?;
    if !facts.is_mariadb() {
        let BackupFacts { version, comment, .. } = facts;
        return Err(MariadbBackupError::NotMariadb { server: named, version, comment });
    }
    let tool = backup_tool(engine_dir.as_deref(), &facts.version)?;
    let owner = files::stamp_of_path(&facts.data_directory);
    let elsewhere =
        |_| MariadbBackupError::Elsewhere { server: named.clone(), directory: facts.data_directory.clone() };
    let owner = owner.map_err(elsewhere)?;
    let modified_ns = i64::try_from(utc_now().as_nanosecond()).unwrap_or(0);
    let metadata = |mode| FileMetadata { mode, uid: owner.uid, gid: owner.gid, modified_ns };
    let identity = identity_in(&facts.data_directory);
    let stream = BackupStream::start(&tool, address, password, cancel)?;
    let reader = Arc::new(Reader::new(facts.page_bytes));
    let root = Item::new(StoredName::default(), What::Directory, metadata(DIRECTORY_MODE));
    let stream = BufReader::with_capacity(READ_AHEAD_BYTES, stream);
    let stream = What::Files(Box::new(XbstreamReader::new(stream)));
    let stream = Item::new(StoredName::default(), stream, metadata(FILE_MODE));
    let stream = stream.inspected_by(Arc::clone(&reader) as Arc<dyn Inspect>);
    let page_bytes = facts.page_bytes;
    let record = MariadbRecord {
        version: facts.version,
        tool_version: tool.version,
        page_bytes,
        lower_case_table_names: facts.lower_case_table_names,
        ..MariadbRecord::default()
    };
    Ok(PreparedSource {
        record: SourceRecord {
            named,
            identity: Some(identity),
            prefix: PREFIX.into(),
            kind: SourceKind::Mariadb(record.clone()),
            read_until_utc: utc_now(),
        },
        items: vec![root, stream],
        last: Vec::new(),
        live: Some(Box::new(MariadbLive { reader, record })),
        page_bytes: Some(page_bytes),
        skipped_specials: 0,
        content_warnings: Vec::new(),
    })
}

/// What the server is that `request` names.
pub fn identity(request: &MariadbRequest) -> Result<Identity, MariadbBackupError> {
    let facts = backup_facts(&request.address, &request.password, request.limit)?;
    Ok(identity_in(&facts.data_directory))
}

/// MariaDB has no server_uuid, but its Aria engine makes one with the data directory.
fn identity_in(data: &Path) -> Identity {
    // The directory is the account's of the server: no link of its is followed.
    let (control, mut head) = (data.join("aria_log_control"), [0; CONTROL_BYTES]);
    let read = files::open_in_shared_directory(&control).and_then(|file| files::read_at(&file, &mut head, 0));
    match aria_uuid(&head[..read.unwrap_or(0)]) {
        Some(uuid) => Identity::MysqlServer { uuid },
        None => identity_of(data).unwrap_or(Identity::Unnamed),
    }
}

/// It stands behind three bytes that mark the file, and its version.
fn aria_uuid(control: &[u8]) -> Option<String> {
    let [0xfe, 0xfe, 0x0c, _, rest @ ..] = control else { return None };
    let uuid = rest.first_chunk::<16>()?;
    Some(uuid.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat())
}

struct Reader(Mutex<Seen>);

struct Seen {
    pages: PageReader,
    info: BackupInfo,
}

impl Reader {
    fn new(page_bytes: u32) -> Self {
        Self(Mutex::new(Seen { pages: PageReader::new(page_bytes), info: BackupInfo::default() }))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inspect for Reader {
    fn inspect(&self, name: &StoredName, offset: u64, bytes: &[u8]) {
        let mut seen = self.seen();
        seen.pages.see(name, offset, bytes);
        seen.info.see(name.as_bytes(), bytes);
    }
}

struct MariadbLive {
    reader: Arc<Reader>,
    record: MariadbRecord,
}

impl Live for MariadbLive {
    fn end(&mut self) -> Result<LiveEnd, StageFailure> {
        let seen = self.reader.seen();
        let end_lsn = seen.info.end_lsn().ok_or(MariadbBackupError::NoEnd { name: CHECKPOINTS[0] })?;
        let record = MariadbRecord {
            end_lsn,
            binlog: seen.info.binlog(),
            other_pages: seen.pages.other_pages().to_vec(),
            ..self.record.clone()
        };
        let warnings = seen.pages.warnings();
        Ok(LiveEnd {
            items: Vec::new(),
            kind: SourceKind::Mariadb(record),
            warnings,
            content_warnings: Vec::new(),
        })
    }

    fn pages(&self) -> Option<PagesSeen> {
        Some(self.reader.seen().pages.seen())
    }
}

/// The file that says where the backup ends, under its names before 11.1 and since.
const CHECKPOINTS: [&str; 2] = ["xtrabackup_checkpoints", "mariadb_backup_checkpoints"];
/// The file that says where the binary log was.
const BINLOG: [&str; 2] = ["xtrabackup_binlog_info", "mariadb_backup_binlog_info"];
/// No such file is longer.
const BYTES_MAX: usize = 64 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct BackupInfo {
    checkpoints: Vec<u8>,
    binlog: Vec<u8>,
}

impl BackupInfo {
    /// `bytes` of the file `name`, which come in their order.
    fn see(&mut self, name: &[u8], bytes: &[u8]) {
        let is_one_of = |names: &[&str; 2]| names.iter().any(|one| one.as_bytes() == name);
        let into = if is_one_of(&CHECKPOINTS) {
            &mut self.checkpoints
        } else if is_one_of(&BINLOG) {
            &mut self.binlog
        } else {
            return;
        };
        let room = BYTES_MAX.saturating_sub(into.len()).min(bytes.len());
        into.extend_from_slice(&bytes[..room]);
    }

    /// Position in InnoDB's log up to which changes are in the backup.
    fn end_lsn(&self) -> Option<u64> {
        let text = String::from_utf8_lossy(&self.checkpoints);
        let number = |name: &str| {
            let line =
                text.lines().filter_map(|line| line.split_once('=')).find(|(key, _)| key.trim() == name);
            line.and_then(|(_, value)| value.trim().parse::<u64>().ok())
        };
        // The log was copied further than the last checkpoint.
        number("last_lsn").or_else(|| number("to_lsn"))
    }

    /// File, position and global transaction id, as they were written.
    fn binlog(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.binlog);
        let words: Vec<&str> = text.split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_what_aria_noted_when_it_was_made() {
        let head = [
            0xfe, 0xfe, 0x0c, 1, 0x72, 0x2b, 0x4e, 0x7f, 0xeb, 0x92, 0x11, 0xf1, 0x8e, 0xf9, 2, 0xfc, 0, 0,
            0, 1, 0x1e,
        ];
        assert_eq!(aria_uuid(&head).as_deref(), Some("722b4e7feb9211f18ef902fc00000001"));
        assert_eq!((aria_uuid(&head[..19]), aria_uuid(&[0; 40])), (None, None));
    }

    #[test]
    fn the_end_is_read_under_old_names_and_new() {
        for (checkpoints, binlog) in CHECKPOINTS.into_iter().zip(BINLOG) {
            let mut info = BackupInfo::default();
            info.see(checkpoints.as_bytes(), b"backup_type = full-backuped\nfrom_lsn = 0\nto_lsn = 5");
            info.see(checkpoints.as_bytes(), b"0\nlast_lsn = 61\n");
            info.see(binlog.as_bytes(), b"binlog.000003\t1234\t0-1-7\n");
            info.see(b"shop/xtrabackup_checkpoints", b"to_lsn = 9");
            assert_eq!(info.end_lsn(), Some(61));
            assert_eq!(info.binlog().as_deref(), Some("binlog.000003 1234 0-1-7"));
        }
        assert_eq!((BackupInfo::default().end_lsn(), BackupInfo::default().binlog()), (None, None));
    }
}
