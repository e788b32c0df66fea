//! Why backups on a server do not lead where a drill is to go.

use thiserror::Error;

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
            Self::NoSuchBackup { .. } | Self::NoFull { .. } | Self::OtherKind { .. } => {
                "--file names another backup of the files; iostall backup verify --sqlserver URL --from PATH --headers lists them"
            }
        }
    }
}
