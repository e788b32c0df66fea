//! Checks files against a list of checksums, or a tree against another.

use std::path::{Path, PathBuf};

use iostall_model::transfer::HashKind;
use iostall_model::{Run, RunBody, VerifyOutcome, Warning, WarningCode};
use iostall_transfer::CopyError;
use iostall_transfer::manifest::{self, Manifest};
use iostall_transfer::rate::RateLimit;
use iostall_transfer::verify::{Verifier, unlisted_files};

use crate::error::SessionError;
use crate::event::Observer;
use crate::names::input_path;
use crate::transfer::{Transfer, target};

pub struct VerifyRequest {
    pub expected: Expected,
    /// Maximum read rate, bytes a second.
    pub limit: Option<u64>,
}

pub enum Expected {
    Listed(Listed),
    /// The second tree should be like the first.
    LikeTree {
        one: PathBuf,
        other: PathBuf,
        hash: HashKind,
    },
}

pub struct Listed {
    list: Manifest,
    shown: String,
    extra_below: Option<PathBuf>,
}

pub struct ManifestUse<'a> {
    /// `-` is standard input.
    pub path: &'a Path,
    pub hash: Option<HashKind>,
    /// Directory below which all its names are.
    pub root: Option<&'a Path>,
    /// Whether to report files below it that are not in the list.
    pub finds_extra: bool,
}

impl Expected {
    pub fn listed(wanted: &ManifestUse<'_>) -> Result<Self, SessionError> {
        let path = wanted.path;
        let is_stdin = path == Path::new("-");
        let shown = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
        let text = manifest::open(input_path(path)).map_err(SessionError::NoManifest)?;
        let mut list = manifest::read(text, path, wanted.hash)
            .map_err(|source| SessionError::Manifest { path: path.to_owned(), source })?;
        if let Some(root) = wanted.root {
            list.place_below(root);
        }
        let extra_below = wanted.root.filter(|_| wanted.finds_extra).map(Path::to_owned);
        Ok(Self::Listed(Listed { list, shown, extra_below }))
    }

    pub fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Listed(listed) => listed.list.files.iter().map(|file| file.path.as_path()).collect(),
            Self::LikeTree { one, other, .. } => vec![one, other],
        }
    }

    /// Whether everything is as it should be. If the list is incomplete, the copy is not complete even if all
    /// listed files are equal.
    pub fn is_met_by(&self, outcome: &VerifyOutcome) -> bool {
        let is_partial = matches!(self, Self::Listed(listed) if listed.list.is_partial);
        outcome.mismatches.is_empty() && outcome.extra.is_empty() && !is_partial
    }

    fn compare(&self, verifier: &Verifier<'_>) -> Result<VerifyOutcome, CopyError> {
        match self {
            Self::Listed(Listed { list, shown, extra_below }) => {
                let extra =
                    extra_below.as_deref().map(|root| unlisted_files(root, &list.files)).transpose()?;
                let extra = extra.iter().flatten().map(|path| path.display().to_string()).collect();
                let outcome = verifier.check_files(&list.files)?;
                Ok(VerifyOutcome { manifest: shown.clone(), extra, ..outcome })
            }
            Self::LikeTree { one, other, hash } => {
                let outcome = verifier.compare_trees(one, other, *hash)?;
                Ok(VerifyOutcome { manifest: one.display().to_string(), ..outcome })
            }
        }
    }
}

/// Reads every file past the page cache and compares.
pub fn verify(
    request: &VerifyRequest,
    transfer: Transfer,
    observer: &dyn Observer,
) -> Result<Run, SessionError> {
    let VerifyRequest { expected, limit } = request;
    let rate = limit.map(RateLimit::new);
    let outcome =
        transfer.work(observer, |progress| expected.compare(&Verifier { rate: rate.as_ref(), progress }))?;
    let partial = matches!(expected, Expected::Listed(listed) if listed.list.is_partial);
    let warnings = partial.then(|| partial_list(&outcome.manifest)).into_iter().collect();
    let targets = expected.paths().into_iter().take(1).filter_map(target).collect();
    let name = outcome.manifest.clone();
    Ok(transfer.finish(name, targets, warnings, RunBody::Verify(outcome)))
}

fn partial_list(shown: &str) -> Warning {
    let message =
        format!("{shown} is the list of an incomplete copy: files that are missing in it were not checked");
    Warning::new(WarningCode::PartialList, message)
        .hint("repeat the copy: it resumes, and writes the complete list")
}
