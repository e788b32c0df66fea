//! Makes restored files ready for a server.
//!
//! mariadb-backup copies files while the server changes them. Its `--prepare` brings them to one point in time, that of the end of
//! the backup. A server that is started before that may refuse, or may not and lose data, so it is done before the files get
//! their name.

use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, NewMetadata, OpenDirectory, path_from_bytes};
use iostall_host::Account;
use iostall_measure::{Clock as _, MonotonicClock};
use iostall_model::backup::{Manifest, MariadbRecord, SourceKind, SourceRecord};
use iostall_transfer::Progress;
use iostall_transfer::backup::read::OpenSet;

use super::child;
use super::error::MariadbBackupError;
use super::tool::{Tool, backup_tool};
use crate::backup::entry::barred;
use crate::error::of_use_case;

/// What pages are held in meanwhile.
pub(in crate::backup) const MEMORY_BYTES: u64 = 256 << 20;
/// The mode of a directory that others may pass through, and not list.
const PASSABLE: u32 = 0o711;

pub(in crate::backup) struct Preparation {
    servers: Vec<Server>,
}

struct Server {
    prefix: PathBuf,
    tool: Tool,
    /// Whose they are, if we are root and they are not root's.
    owner: Option<Account>,
}

of_use_case!(MariadbBackupError);

impl Preparation {
    pub(in crate::backup) fn of(
        set: &OpenSet,
        to: &Path,
        engine_dir: Option<&Path>,
    ) -> Result<Option<Self>, MariadbBackupError> {
        let mut servers = Vec::new();
        for (number, source, record) in sources(&set.manifest) {
            let tool = backup_tool(engine_dir, &record.version)?;
            let owner = owner(&set.manifest, number);
            if let Some(account) = &owner {
                check_entry(account, to)?;
            }
            let prefix = path_from_bytes(source.prefix.as_bytes().to_vec());
            servers.push(Server { prefix, tool, owner });
        }
        Ok((!servers.is_empty()).then_some(Self { servers }))
    }

    /// Returns how long it took, nanoseconds. After an error the files are of no use.
    pub(in crate::backup) fn carry_out(
        &self,
        directory: &Path,
        progress: &Progress,
    ) -> Result<u64, MariadbBackupError> {
        let clock = MonotonicClock::new();
        for Server { prefix, tool, owner } in &self.servers {
            let files = directory.join(prefix);
            progress.begin_file(&files, 0, "preparing");
            if let Some(account) = owner {
                // The directory above is ours alone, if it is another.
                let is_alone = prefix.as_os_str().is_empty();
                let opened = if is_alone { Ok(()) } else { set_mode(directory, PASSABLE) };
                let tree = opened.and_then(|()| OpenDirectory::open(directory)?.below(prefix));
                let given = tree.and_then(|tree| tree.give(account.user, account.group));
                given.map_err(MariadbBackupError::system("change the owner of", &files))?;
            }
            child::prepare(tool, &files, MEMORY_BYTES, owner.as_ref(), &|| progress.is_cancelled())?;
        }
        Ok(clock.now_ns())
    }
}

/// The servers in a set, with their numbers among the sources.
fn sources(manifest: &Manifest) -> impl Iterator<Item = (u32, &SourceRecord, &MariadbRecord)> {
    (0..).zip(&manifest.sources).filter_map(|(number, source)| match &source.kind {
        SourceKind::Mariadb(record) => Some((number, source, record)),
        _ => None,
    })
}

/// As root: whose the files of a source are. What prepares them runs under that account, because it does what the files say.
fn owner(manifest: &Manifest, source: u32) -> Option<Account> {
    let file = manifest.files.iter().find(|file| file.source == source)?;
    let (user, group) = (file.metadata.uid, file.metadata.gid);
    (files::effective_user() == 0 && user != 0).then(|| Account { name: user.to_string(), user, group })
}

/// The directory above the place of a restore must let the account in.
fn check_entry(account: &Account, to: &Path) -> Result<(), MariadbBackupError> {
    let above = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let there = if to.is_dir() { to } else { above };
    let found = barred(account, there).map_err(MariadbBackupError::system("look at", there))?;
    let Some(path) = found else { return Ok(()) };
    Err(MariadbBackupError::Barred { account: account.name.clone(), path })
}

fn set_mode(directory: &Path, mode: u32) -> io::Result<()> {
    let open = OpenDirectory::open(directory)?;
    let stamp = open.stamp()?;
    let modified_ns = stamp.modified_ns;
    let losses = open.set_metadata(&NewMetadata { mode, uid: stamp.uid, gid: stamp.gid, modified_ns }, &[]);
    losses.into_iter().next().map_or(Ok(()), |loss| Err(io::Error::other(loss.cause)))
}
