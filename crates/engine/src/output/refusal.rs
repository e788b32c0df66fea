//! Why nothing can be written to a path.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::guard::Refusal;

/// Nothing has been written when one of these is returned. The texts go on after the option and the path.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutputRefusal {
    /// A file is to be made in a directory that is not there.
    #[error("there is no directory {}", directory.display())]
    NoDirectory {
        /// The directory.
        directory: PathBuf,
    },
    /// What is there cannot take a document.
    #[error("that is a {kind}")]
    Kind {
        /// What it is.
        kind: &'static str,
    },
    /// A link in a directory where everybody may put one, and not ours: whoever made it chose where we would write.
    #[error("the link {} belongs to another user, in a directory that everybody may write to", link.display())]
    ForeignLink {
        /// The link.
        link: PathBuf,
    },
    /// A place where no new file should be.
    #[error("{0}")]
    Place(Refusal),
    /// This user may not write it.
    #[error("{} may not be written: {source}", path.display())]
    NotWritable {
        /// The file or its directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A descriptor that was not given to this process, or only for reading.
    #[error("the descriptor {number} {what}")]
    Descriptor {
        /// Its number.
        number: i32,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The system did not let us look.
    #[error("{source}")]
    System {
        /// What the system said.
        source: io::Error,
    },
}

impl OutputRefusal {
    /// What the user can do.
    pub fn hint(&self) -> String {
        match self {
            Self::NoDirectory { .. } => "make the directory first".into(),
            Self::Kind { .. } => "name a file".into(),
            Self::ForeignLink { .. } => "name a file in a directory of your own".into(),
            Self::Place(refusal) => refusal.hint(),
            Self::NotWritable { .. } => "name another file, or have its owner let you write this one".into(),
            Self::Descriptor { .. } => "see how the shell redirects it, or name a file".into(),
            Self::System { .. } => "name another file".into(),
        }
    }
}

impl From<io::Error> for OutputRefusal {
    fn from(source: io::Error) -> Self {
        Self::System { source }
    }
}
