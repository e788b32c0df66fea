//! Where the lake lies: a directory or a bucket. Files are made under a temporary name, and none is ever replaced.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use iostall_remote::{Object, is_object};
use tempfile::{Builder, NamedTempFile};

use crate::error::MoveError;

/// Characters at which Iceberg's readers split an address.
const NOT_IN_NAMES: [char; 4] = ['?', '#', '%', '\\'];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Without a slash at its end: `file:///lake` or `s3://bucket/lake`.
    root: String,
    directory: Option<PathBuf>,
}

impl Place {
    /// The place that a user calls `text`. A directory is made if it is not there.
    pub(crate) fn at(text: &str) -> Result<Self, MoveError> {
        let odd = |c: char| c.is_control() || NOT_IN_NAMES.contains(&c);
        if text.contains(odd) {
            return Err(MoveError::BadPlace { place: text.to_owned() });
        }
        if is_object(Path::new(text)) {
            if !text.starts_with("s3://") {
                return Err(MoveError::BadPlace { place: text.to_owned() });
            }
            return Ok(Self { root: text.trim_end_matches('/').to_owned(), directory: None });
        }
        let failed = |source| MoveError::Place { place: text.to_owned(), source };
        fs::create_dir_all(text).map_err(failed)?;
        let directory = fs::canonicalize(text).map_err(failed)?;
        let Some(path) = directory.to_str().filter(|path| !path.contains(odd)) else {
            return Err(MoveError::BadPlace { place: text.to_owned() });
        };
        Ok(Self { root: format!("file://{path}"), directory: Some(directory) })
    }

    /// What it is called in the catalogue.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    pub(crate) fn address(&self, name: &str) -> String {
        format!("{}/{name}", self.root)
    }

    /// A file to fill, which [`Place::keep`] puts where it belongs: on the file system of the lake, if that is a directory.
    pub(crate) fn spool(&self) -> Result<NamedTempFile, MoveError> {
        let mut builder = Builder::new();
        builder.prefix(".iostall-lake-");
        let made = self.directory.as_ref().map_or_else(|| builder.tempfile(), |at| builder.tempfile_in(at));
        made.map_err(|source| MoveError::Place { place: self.root.clone(), source })
    }

    /// Puts a complete file at an address of this place, where nothing may be yet. It is durable afterwards.
    pub(crate) fn keep(&self, spool: NamedTempFile, address: &str) -> Result<(), MoveError> {
        let failed = |source| MoveError::Place { place: address.to_owned(), source };
        if self.directory.is_none() {
            let mut bytes = Vec::new();
            spool.reopen().and_then(|mut file| file.read_to_end(&mut bytes)).map_err(failed)?;
            return object(address).and_then(|object| object.put_new(&bytes, None)).map_err(failed);
        }
        let path = local(address);
        let above = path.parent().unwrap_or(Path::new("/"));
        let keep = || {
            make_durable(above)?;
            spool.as_file().sync_all()?;
            spool.persist_noclobber(path).map_err(|failed| failed.error)?;
            File::open(above)?.sync_all()
        };
        keep().map_err(failed)
    }

    /// As [`Place::keep`], for a file whose content is in memory.
    pub(crate) fn put(&self, bytes: &[u8], address: &str) -> Result<(), MoveError> {
        let mut spool = self.spool()?;
        spool.write_all(bytes).map_err(|source| MoveError::Place { place: address.to_owned(), source })?;
        self.keep(spool, address)
    }
}

pub(crate) fn read(address: &str) -> Result<Vec<u8>, MoveError> {
    let read = || {
        if !is_object(Path::new(address)) {
            return fs::read(local(address));
        }
        let reader = object(address)?.reader()?;
        reader.read(0, reader.bytes())
    };
    read().map_err(|source| MoveError::Place { place: address.to_owned(), source })
}

/// Deletes a file that a move left. One that is not there is no error.
pub(crate) fn delete(address: &str) -> Result<(), MoveError> {
    let delete = || {
        if is_object(Path::new(address)) {
            return object(address)?.delete();
        }
        match fs::remove_file(local(address)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    };
    delete().map_err(|source| MoveError::Place { place: address.to_owned(), source })
}

fn local(address: &str) -> &Path {
    Path::new(address.strip_prefix("file://").unwrap_or(address))
}

fn object(address: &str) -> io::Result<Object> {
    Object::at(Path::new(address))
}

/// Makes a directory, and those above it, in a way that survives a loss of power.
fn make_durable(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let above = directory.parent().unwrap_or(Path::new("/"));
    make_durable(above)?;
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    File::open(above)?.sync_all()
}
