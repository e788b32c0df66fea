//! Why a set could not be read.

use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::{EngineError, OpenError};
use iostall_measure::foreign::shell_path;
use iostall_remote::is_object;
use thiserror::Error;

use super::damage::Damage;
use crate::backup::catalog::ScanError;
use crate::backup::codec::KeyError;
use crate::pipeline::PipelineError;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    #[error("cannot {verb} {}: {source}", path.display())]
    System { verb: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{} is neither a manifest nor a stripe of a backup", path.display())]
    Neither { path: PathBuf },
    #[error("{} and {} are of different sets", one.display(), other.display())]
    TwoSets { one: PathBuf, other: PathBuf },
    #[error("{} exists", path.display())]
    ManifestExists { path: PathBuf },
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The set is not as it was written; the first of what was found is shown.
    #[error("{}", first(.0))]
    Damaged(Vec<Damage>),
    #[error("reading the stripes: {0}")]
    Pipeline(PipelineError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

fn first(damage: &[Damage]) -> String {
    let Some(first) = damage.first() else { return "the set is damaged".to_owned() };
    let others = match damage.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    format!("{}: {}{others}", first.path.display(), first.message)
}

impl ReadError {
    pub(super) fn scan(error: ScanError) -> Self {
        let (verb, path, source) = match error {
            ScanError::Directory { directory, source } => ("look through", directory, source),
            ScanError::File { path, source } => ("read", path, source),
        };
        Self::System { verb, path, source }
    }

    pub fn system<'p>(verb: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Self + use<'p> {
        move |source| Self::System { verb, path: path.to_owned(), source }
    }

    pub fn damage(&self) -> &[Damage] {
        match self {
            Self::Damaged(damage) => damage,
            _ => &[],
        }
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Pipeline(PipelineError::Cancelled))
    }

    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Keys(error) => error.hint(),
            Self::Neither { .. } => Some("name the manifest (STRIPE1.manifest) or a stripe".to_owned()),
            Self::TwoSets { .. } => Some("name the stripes of one set".to_owned()),
            Self::ManifestExists { path } => {
                let path = shell_path(path);
                Some(format!("check it with `iostall backup verify {path}`; rename it if it is damaged"))
            }
            Self::System { path, source, .. }
                if is_object(path) && source.kind() == io::ErrorKind::NotFound =>
            {
                let directory = path.parent().unwrap_or(path);
                Some(format!("`iostall backup list {}` shows what is there", shell_path(directory)))
            }
            Self::Engine(error) => error.hint().map(str::to_owned),
            _ => None,
        }
    }
}
