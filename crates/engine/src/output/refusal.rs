//! Why nothing can be written to a path.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::guard::Refusal;

/// A reason not to write. Nothing has been written when one is returned. The messages continue after the
/// option and the path.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutputRefusal {
    #[error("there is no directory {}", directory.display())]
    NoDirectory { directory: PathBuf },
    #[error("that is a {kind}")]
    Kind { kind: &'static str },
    /// Someone else's link in a directory that is writable by everybody: its owner would choose where we write.
    #[error("the link {} belongs to another user, in a directory that is writable by everybody", link.display())]
    ForeignLink { link: PathBuf },
    #[error("{0}")]
    Place(Refusal),
    #[error("{} may not be written: {source}", path.display())]
    NotWritable { path: PathBuf, source: io::Error },
    #[error("the descriptor {number} {what}")]
    Descriptor { number: i32, what: &'static str },
    #[error("{source}")]
    System { source: io::Error },
}

impl OutputRefusal {
    pub fn hint(&self) -> String {
        match self {
            Self::NoDirectory { .. } => "make the directory first".into(),
            Self::Kind { .. } => "name a file".into(),
            Self::ForeignLink { .. } => "name a file in a directory of your own".into(),
            Self::Place(refusal) => refusal.hint(),
            Self::NotWritable { .. } => "name another file, or ask its owner for write permission".into(),
            Self::Descriptor { .. } => "check the shell's redirection, or name a file".into(),
            Self::System { .. } => "name another file".into(),
        }
    }
}

impl From<io::Error> for OutputRefusal {
    fn from(source: io::Error) -> Self {
        Self::System { source }
    }
}
