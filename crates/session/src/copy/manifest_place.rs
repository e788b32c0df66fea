//! Where the manifest of a copy goes: the list of an unfinished copy does not take the place of a whole one.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use iostall_model::transfer::HashKind;
use iostall_model::{Warning, WarningCode};
use iostall_transfer::manifest::{
    Manifest, hash_for, is_json, open, partial_path, read, write_json, write_sums,
};

use crate::error::SessionError;
use crate::output::{Form, OutputError, Outputs, Taken};

#[derive(Clone, Debug)]
pub struct ManifestPlace {
    pub path: PathBuf,
    /// Whether it may replace any file except a database or disk image.
    pub may_replace: bool,
}

/// The checksum algorithm of a copy: the requested one, or the one implied by the manifest's name.
pub fn hash_of_copy(manifest: Option<&Path>, asked: Option<HashKind>) -> Result<HashKind, SessionError> {
    let Some(path) = manifest else { return Ok(asked.unwrap_or_default()) };
    hash_for(path, asked).map_err(|source| SessionError::ManifestHash { path: path.to_owned(), source })
}

impl ManifestPlace {
    pub fn form(&self) -> Form {
        Form::Manifest { may_replace: self.may_replace }
    }

    /// Adds the name that the list of an unfinished copy gets to `outputs`, so that it is refused at the start like the other.
    pub fn check_partial(&self, outputs: &mut Outputs, taken: &Taken) -> Result<(), OutputError> {
        if outputs.is_stream(&self.path) {
            return Ok(());
        }
        outputs.also("--manifest", self.form(), &partial_path(&self.path), taken)
    }

    /// Keeps one place for the list in `outputs`. The list of an incomplete copy goes next to the name,
    /// because the name may belong to the last complete list; an empty list is not written.
    pub fn choose(&self, outputs: &mut Outputs, is_whole: bool, has_nothing: bool) -> Option<Warning> {
        let beside = partial_path(&self.path);
        if is_whole || has_nothing {
            outputs.leave_out(&beside);
        }
        if has_nothing {
            outputs.leave_out(&self.path);
        }
        if is_whole || has_nothing || outputs.is_stream(&self.path) {
            return None;
        }
        outputs.leave_out(&self.path);
        let message = format!(
            "the list of copied files is incomplete and was written to {}; {} is unchanged",
            beside.display(),
            self.path.display()
        );
        let hint = "the same command writes the complete list when it succeeds";
        Some(Warning::new(WarningCode::PartialList, message).hint(hint))
    }

    pub fn write(&self, list: &Manifest, out: &mut dyn Write) -> io::Result<()> {
        if is_json(&self.path) { write_json(list, out) } else { write_sums(list, out) }
    }

    /// Removes the partial list of an earlier attempt, which the complete list supersedes.
    pub fn remove_partial(&self) {
        let beside = partial_path(&self.path);
        let is_ours =
            open(&beside).is_ok_and(|text| read(text, &beside, None).is_ok_and(|list| list.is_partial));
        if is_ours {
            // If this fails, the file's name still says that it is partial.
            let _ = std::fs::remove_file(beside);
        }
    }
}
