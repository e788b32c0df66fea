//! Files of an agent on the disk: what is there, durable writes, and names for what is not complete.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use iostall_engine::files::{
    FileKind, FileStamp, create_new, effective_group, effective_user, give, make_private,
    open_in_shared_directory, open_to_others, rename_over, stamp, stamp_of_link, sync_directory,
};
use sha2::{Digest as _, Sha256};

use crate::release_error::ReleaseError;

const STAGED_SUFFIX: &str = ".iostall-new";
const PIECE_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Present {
    pub(super) sha256: String,
    pub(super) stamp: FileStamp,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) mode: u32,
    pub(super) owner: Option<(u32, u32)>,
}

pub(super) const PRIVATE: Form = Form { mode: 0o600, owner: None };

/// The file at `path`; `None` if nothing is there.
pub(super) fn present(path: &Path) -> Result<Option<Present>, ReleaseError> {
    let failed = |source| ReleaseError::System { path: path.to_owned(), source };
    match stamp_of_link(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
        Ok(stamp) if stamp.kind != FileKind::Regular => {
            let reason = "it is a directory, a link or a device, and no file".to_owned();
            return Err(ReleaseError::Place { path: path.to_owned(), reason });
        }
        Ok(_) => {}
    }
    let file = open_in_shared_directory(path).map_err(failed)?;
    let stamp = stamp(&file).map_err(failed)?;
    let sha256 = hash(file).map_err(failed)?;
    Ok(Some(Present { sha256, stamp }))
}

fn hash(mut file: File) -> io::Result<String> {
    let (mut digest, mut piece) = (Sha256::new(), vec![0; PIECE_BYTES]);
    loop {
        match file.read(&mut piece)? {
            0 => {
                return Ok(digest
                    .finalize()
                    .iter()
                    .fold(String::new(), |text, byte| text + &format!("{byte:02x}")));
            }
            read => digest.update(&piece[..read]),
        }
    }
}

/// Refuses a place in a directory that somebody else than root and this account can change, or whose names he can: he could put a link
/// or a file of his own under any name there, at any moment.
pub(super) fn check_directory(path: &Path) -> Result<(), ReleaseError> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let open =
        open_to_others(parent).map_err(|source| ReleaseError::System { path: parent.to_owned(), source })?;
    open.map_or(Ok(()), |directory| Err(ReleaseError::OpenPlace { path: path.to_owned(), directory }))
}

/// The name under which a file waits until it takes its place.
pub(super) fn staged(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}{STAGED_SUFFIX}"))
}

/// Writes a file that is not there yet. When it returns, its content is durable.
pub(super) fn write_new(path: &Path, content: &[u8], form: Form) -> Result<(), ReleaseError> {
    let write = || -> io::Result<()> {
        let mut file = create_new(path, form.mode)?;
        // Private until it has its owner and content.
        make_private(&file)?;
        file.write_all(content)?;
        if let Some((user, group)) =
            form.owner.filter(|owner| *owner != (effective_user(), effective_group()))
        {
            give(&file, user, group)?;
        }
        iostall_engine::files::set_mode(&file, form.mode)?;
        file.sync_all()
    };
    write().map_err(|source| ReleaseError::Write { path: path.to_owned(), source })
}

pub(super) fn remove(path: &Path) -> Result<(), ReleaseError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(ReleaseError::Write { path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Gives a complete file its name, or puts it in the place of an earlier one.
pub(super) fn take_place(staged: &Path, path: &Path) -> Result<(), ReleaseError> {
    rename_over(staged, path).map_err(|source| ReleaseError::Write { path: path.to_owned(), source })?;
    sync_parent(path)
}

/// Makes the name of `path` durable, or that nothing has it.
pub(super) fn sync_parent(path: &Path) -> Result<(), ReleaseError> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    sync_directory(parent).map_err(|source| ReleaseError::Write { path: parent.to_owned(), source })
}

pub(super) fn replace(path: &Path, content: &[u8]) -> Result<(), ReleaseError> {
    let draft = staged(path);
    remove(&draft)?;
    write_new(&draft, content, PRIVATE)?;
    take_place(&draft, path)
}
