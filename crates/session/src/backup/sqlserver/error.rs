//! What goes wrong with a backup that a server makes itself.

use iostall_connect::SourceError;
use iostall_measure::{ByteCount, Nanos};
use iostall_model::sqlserver_backup::Refusal;
use thiserror::Error;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SqlServerBackupError {
    #[error(transparent)]
    Server(#[from] SourceError),
    /// Found before anything was begun.
    #[error("{}", sentences(refusals))]
    Refused { refusals: Vec<Refusal> },
    #[error("{source_name} is SQL Server {version}, and iostall drives backups of 2008 R2 and later")]
    TooOld { source_name: String, version: String },
    /// What the server said first, which is the cause; what it says last is only that the backup has ended.
    #[error("{source_name} answered: {reason}")]
    Failed { source_name: String, reason: String },
    #[error("stopped: {how}")]
    Stopped { how: String },
    #[error("stopped: {how}")]
    ReadingStopped { how: String },
    #[error("the connection to {source_name} broke, and the server may still be writing: {reason}")]
    Lost { source_name: String, reason: String },
    /// Found before the first trial, or after it.
    #[error(
        "a whole backup of {database} takes about {one} ({}), and a search needs {trials} of them: {wanted} and not {budget}",
        why
    )]
    TuneBudget { database: String, one: Nanos, why: &'static str, trials: u32, wanted: Nanos, budget: Nanos },
    #[error(
        "buffers of {} are too little for a backup with the options that were given: it takes {}",
        ByteCount(*memory_bytes),
        ByteCount(*wanted_bytes)
    )]
    TuneMemory { memory_bytes: u64, wanted_bytes: u64 },
    /// A trial would overwrite something that is not its own.
    #[error("{device} is there already, and trials overwrite their files: {reason}")]
    TuneFile { device: String, reason: String },
    #[error("nothing can be read back from {device}")]
    NothingThere { device: String },
    #[error("the files hold {backups} backups, and none of them is number {position}")]
    NoSuchBackup { position: u64, backups: usize },
    /// Found before anything was restored.
    #[error("{name:?} cannot be the name of a drill's database: {reason}")]
    DrillName { name: String, reason: String },
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(
        "the files of the database take {}, and {directory} has {} left",
        ByteCount(*wanted_bytes),
        ByteCount(*free_bytes)
    )]
    DrillRoom { directory: String, wanted_bytes: u64, free_bytes: u64 },
    /// After the restore began.
    #[error("{error}; {left}")]
    Drill { error: Box<Self>, left: String },
    #[error("trials go to files of the server or to NUL, and not to {device}")]
    TuneDevice { device: String },
}

fn sentences(refusals: &[Refusal]) -> String {
    refusals.iter().map(|refusal| refusal.message.as_str()).collect::<Vec<_>>().join("; ")
}

/// Numbers of errors, and what helps.
const HINTS: [(&str, &str); 13] = [
    (
        "(error 3201)",
        "the path is seen from the server: its service account must be able to read and write there",
    ),
    ("(error 3202)", "look at free space and at the event log of the server's host"),
    (
        "(error 3132)",
        "the file belongs to a media set with another number of stripes: name all of them, or a new file",
    ),
    (
        "(error 3231)",
        "the file belongs to a media set with another number of stripes: name all of them, or a new file",
    ),
    (
        "(error 3098)",
        "the file holds backups that are compressed differently: name a new file, or add --format",
    ),
    ("(error 4214)", "make a full backup first: a log backup needs one to begin its chain"),
    ("(error 3035)", "make a full backup first: a differential backup needs its base"),
    (
        "(error 262)",
        "an administrator runs, in that database: ALTER ROLE db_backupoperator ADD MEMBER the login's user",
    ),
    ("(error 5133)", "--move-to names a directory that exists, as the server sees it"),
    (
        "(error 33111)",
        "the certificate or key that the backup or the database is encrypted with has to be in master of this server",
    ),
    ("(error 3169)", "a newer version made the backup: restore it on that version or a later one"),
    (
        "(error 3004)",
        "with the recovery model SIMPLE only read-only files can be backed up by themselves: take --read-write-filegroups",
    ),
    ("(error 3041)", "the server's error log says more"),
];

impl SqlServerBackupError {
    pub fn hint(&self) -> String {
        match self {
            Self::Server(error) => error.hint(),
            Self::Refused { refusals } => {
                let one = |refusal: &Refusal| format!("{} ({})", refusal.hint, refusal.page);
                refusals.iter().map(one).collect::<Vec<_>>().join("; ")
            }
            Self::TooOld { .. } => "back it up with its own tools".to_owned(),
            Self::Failed { reason, .. } => {
                let known = HINTS.iter().find(|(number, _)| reason.contains(number));
                known.map_or("the server's error log says more", |(_, hint)| hint).to_owned()
            }
            Self::Stopped { .. } => {
                "what was written is no backup; other backups in the same files are still good, unless --format or --init replaced \
                 them"
                    .to_owned()
            }
            Self::TuneBudget { .. } => {
                "--budget gives it more time; a smaller database on the same disks, with the same kind of data, takes less".to_owned()
            }
            Self::TuneMemory { .. } => {
                "--memory allows more; --buffer-count and --max-transfer-size take less".to_owned()
            }
            Self::TuneFile { .. } => {
                "name a file that is not there, in the directory of the real backup: a trial never overwrites what it did not make"
                    .to_owned()
            }
            Self::DrillName { .. } => "name one that does not exist on the server with --as: it is made, checked and dropped".to_owned(),
            Self::Chain(error) => error.hint().to_owned(),
            Self::DrillRoom { .. } => "name a directory on another volume with --move-to".to_owned(),
            Self::Drill { error, .. } => error.hint(),
            Self::ReadingStopped { .. } => "nothing was changed, and nothing is known of the backup".to_owned(),
            Self::NothingThere { .. } => "name the files of a backup".to_owned(),
            Self::NoSuchBackup { .. } => "without --file it is the last one; --headers lists all".to_owned(),
            Self::TuneDevice { .. } => {
                "measure with --to NUL, and try the answer with backup run --to URL".to_owned()
            }
            Self::Lost { .. } => {
                "look at sys.dm_exec_requests and msdb.dbo.backupset on the server before you start it again"
                    .to_owned()
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainError {
    #[error("the files hold {backups} backups, and none of them is number {position}")]
    NoSuchBackup { position: u64, backups: usize },
    #[error("the files hold {backups} backups, and none of them is a full one{before}")]
    NoFull { backups: usize, before: String },
    #[error(
        "the backup in place {position} is a {kind} one, and a drill restores full ones, and differential ones and log backups on them"
    )]
    OtherKind { position: u64, kind: String },
    #[error("the files hold full backups of several databases: {names}")]
    SeveralDatabases { names: String },
    #[error("the files hold no backup of a database {database:?}")]
    NoSuchDatabase { database: String },
    #[error("{named} is based on a full backup that is in none of the files")]
    NoBase { named: String },
    #[error("no log backup goes on from LSN {at}, where {named} ends: the next one begins at LSN {next}")]
    Gap { at: u128, named: String, next: u128 },
    #[error("the backups end with {named}, which ended at {ended}, and not at {wanted}")]
    TooShort { named: String, ended: String, wanted: String },
}

impl ChainError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Gap { .. } | Self::NoBase { .. } => "name the files of all backups in between with --then",
            Self::TooShort { .. } => {
                "name later log backups with --then, or an earlier time; it is that of the server that made them"
            }
            Self::SeveralDatabases { .. } => {
                "name one of them with --database, or a backup of it with --file"
            }
            Self::NoSuchBackup { .. }
            | Self::NoFull { .. }
            | Self::OtherKind { .. }
            | Self::NoSuchDatabase { .. } => {
                "--file names another backup of the files; iostall backup verify --sqlserver URL --from PATH --headers lists them"
            }
        }
    }
}
