//! Carries out a plan: keeps what is there, stages what comes, records both, and then replaces one file after another.
//!
//! Until the record is durable, nothing has changed but files with names of iostall's own. From then on all of it is finished, by this
//! process or the next one; or, where that is impossible, put back from what was kept.

use std::path::{Path, PathBuf};

use iostall_engine::Input;
use iostall_measure::ByteCount;
use serde::Serialize;

use super::place::{
    Form, PRIVATE, Present, check_directory, present, remove, staged, sync_parent, take_place, write_new,
};
use super::state::{FORMAT, Journal, JournalStep, Kept, State, StateDirectory};
use crate::release_error::ReleaseError;

const KEPT: Input = Input { what: "file that was kept", limit: ByteCount(1 << 30) };

#[derive(Debug)]
pub(super) struct FileChange<'a> {
    pub(super) path: PathBuf,
    pub(super) before: Option<Present>,
    /// `None` removes it.
    pub(super) content: Option<(std::borrow::Cow<'a, [u8]>, String, Form)>,
}

pub(super) fn carry_out(
    directory: &StateDirectory,
    kept_in: &Path,
    files: &[FileChange<'_>],
    next: impl FnOnce(&[JournalStep]) -> State,
    observe: &mut dyn FnMut(ApplyStep<'_>),
) -> Result<State, ReleaseError> {
    let prepared = prepare(kept_in, files, observe);
    let steps = match prepared {
        Ok(steps) => steps,
        Err(error) => {
            unstage(files.iter().map(|change| &*change.path));
            return Err(error);
        }
    };
    let journal = Journal { format: FORMAT, next: next(&steps), steps };
    if let Err(error) = directory.put_journal(&journal) {
        unstage(files.iter().map(|change| &*change.path));
        return Err(error);
    }
    observe(ApplyStep::Recorded);
    finish(directory, journal, observe)
}

fn prepare(
    kept_in: &Path,
    changes: &[FileChange<'_>],
    observe: &mut dyn FnMut(ApplyStep<'_>),
) -> Result<Vec<JournalStep>, ReleaseError> {
    let mut steps = Vec::with_capacity(changes.len());
    // Copies of an earlier try, and of the same release before it was applied again, stay.
    let mut number = std::fs::read_dir(kept_in).map_or(0, Iterator::count);
    for FileChange { path, before, content } in changes {
        let earlier = match before {
            None => None,
            Some(before) => {
                let file = kept_in.join(number.to_string());
                number += 1;
                let kept = keep(path, before, file)?;
                observe(ApplyStep::Kept(path));
                Some(kept)
            }
        };
        if let Some((content, _, form)) = content {
            let staged = staged(path);
            remove(&staged)?;
            write_new(&staged, content, *form)?;
            sync_parent(path)?;
            observe(ApplyStep::Staged(path));
        }
        let sha256 = content.as_ref().map(|(_, sha256, _)| sha256.clone());
        steps.push(JournalStep { path: path.clone(), earlier, sha256 });
    }
    sync_parent(&kept_in.join("0"))?;
    Ok(steps)
}

fn keep(path: &Path, before: &Present, file: PathBuf) -> Result<Kept, ReleaseError> {
    let content = KEPT.read(path)?;
    if crate::release::sha256(&content) != before.sha256 {
        return Err(ReleaseError::Interfered { path: path.to_owned() });
    }
    write_new(&file, &content, PRIVATE)?;
    let stamp = before.stamp;
    Ok(Kept {
        file,
        sha256: before.sha256.clone(),
        mode: stamp.mode & 0o777,
        user: stamp.uid,
        group: stamp.gid,
    })
}

/// Does what was recorded, as far as it is not done, and puts everything back if that is impossible.
pub(super) fn finish(
    directory: &StateDirectory,
    journal: Journal,
    observe: &mut dyn FnMut(ApplyStep<'_>),
) -> Result<State, ReleaseError> {
    if let Err(error) = replace_all(&journal, observe) {
        put_back(&journal).map_err(|back| ReleaseError::Pending { reason: format!("{error}; {back}") })?;
        directory.remove_journal()?;
        return Err(match error {
            ReleaseError::Interfered { path } => ReleaseError::Interfered { path },
            error => ReleaseError::PutBack { reason: error.to_string() },
        });
    }
    observe(ApplyStep::Verified);
    directory.put_state(&journal.next)?;
    observe(ApplyStep::Completed);
    directory.remove_journal()?;
    let last = journal.next.undo.as_ref().map(|undo| undo.release.as_str());
    directory.forget_earlier(last);
    Ok(journal.next)
}

fn replace_all(journal: &Journal, observe: &mut dyn FnMut(ApplyStep<'_>)) -> Result<(), ReleaseError> {
    for step in &journal.steps {
        check_directory(&step.path)?;
        let (there, staged) = (hash_at(&step.path)?, staged(&step.path));
        if there == step.sha256 {
            remove(&staged)?;
            continue;
        }
        if there.as_ref() != step.earlier.as_ref().map(|kept| &kept.sha256) {
            return Err(ReleaseError::Interfered { path: step.path.clone() });
        }
        match &step.sha256 {
            Some(wanted) if hash_at(&staged)?.as_ref() == Some(wanted) => take_place(&staged, &step.path)?,
            Some(_) => return Err(ReleaseError::Interfered { path: staged }),
            None => {
                remove(&step.path)?;
                sync_parent(&step.path)?;
            }
        }
        observe(ApplyStep::Replaced(&step.path));
    }
    for step in &journal.steps {
        if hash_at(&step.path)? != step.sha256 {
            return Err(ReleaseError::Interfered { path: step.path.clone() });
        }
    }
    Ok(())
}

/// Puts back what was there, where the new one is. What somebody else has put there since stays.
fn put_back(journal: &Journal) -> Result<(), ReleaseError> {
    for step in &journal.steps {
        check_directory(&step.path)?;
        let staged = staged(&step.path);
        remove(&staged)?;
        if hash_at(&step.path)? != step.sha256 {
            continue;
        }
        match &step.earlier {
            None => {
                remove(&step.path)?;
                sync_parent(&step.path)?;
            }
            Some(kept) => {
                write_new(&staged, &kept_content(kept)?, kept.form())?;
                take_place(&staged, &step.path)?;
            }
        }
    }
    Ok(())
}

pub(super) fn kept_content(kept: &Kept) -> Result<Vec<u8>, ReleaseError> {
    let content = KEPT.read(&kept.file)?;
    if crate::release::sha256(&content) == kept.sha256 {
        return Ok(content);
    }
    Err(ReleaseError::Interfered { path: kept.file.clone() })
}

impl Kept {
    pub(super) fn form(&self) -> Form {
        Form { mode: self.mode, owner: Some((self.user, self.group)) }
    }
}

fn hash_at(path: &Path) -> Result<Option<String>, ReleaseError> {
    Ok(present(path)?.map(|present| present.sha256))
}

/// Removes what was staged for nothing; the next try would, too.
fn unstage<'a>(paths: impl Iterator<Item = &'a Path>) {
    for path in paths {
        let _ = remove(&staged(path));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    Add,
    Replace,
    Remove,
    Same,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    pub object: String,
    pub path: PathBuf,
    pub change: ChangeKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Applied {
    pub version: u64,
    pub is_undo: bool,
    pub changes: Vec<Change>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyStep<'a> {
    Kept(&'a Path),
    /// What comes lies beside its place.
    Staged(&'a Path),
    Recorded,
    Replaced(&'a Path),
    /// All files were read again, and are as they should be.
    Verified,
    Completed,
}
