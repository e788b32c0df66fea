//! What goes wrong with a backup that a server makes itself.

use iostall_connect::SourceError;
use iostall_model::sqlserver_backup::Refusal;
use thiserror::Error;

/// Why there is no backup.
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
    #[error("{source_name} could not make the backup: {reason}")]
    Failed { source_name: String, reason: String },
    #[error("stopped: {how}")]
    Stopped { how: String },
    #[error("the connection to {source_name} broke, and the server may still be writing: {reason}")]
    Lost { source_name: String, reason: String },
}

fn sentences(refusals: &[Refusal]) -> String {
    refusals.iter().map(|refusal| refusal.message.as_str()).collect::<Vec<_>>().join("; ")
}

/// Numbers of errors, and what helps.
const HINTS: [(&str, &str); 9] = [
    ("(error 3201)", "the path is seen from the server: its service account must be able to write there"),
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
    ("(error 3041)", "the server's error log says more"),
];

impl SqlServerBackupError {
    /// What to do about it.
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
            Self::Lost { .. } => {
                "look at sys.dm_exec_requests and msdb.dbo.backupset on the server before you start it again"
                    .to_owned()
            }
        }
    }
}
