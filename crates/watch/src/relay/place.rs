//! The directory or the bucket that a relay is.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use iostall_engine::files::{create_new, rename_new, sync_directory};
use iostall_engine::{Input, InputError, random_bytes};
use iostall_measure::ByteCount;
use iostall_remote::{Object, is_object};

use super::names::FileName;
use crate::relay_error::RelayError;

/// What the address of a directory begins with.
const DIRECTORY: &str = "dir:";
/// The longest file, bytes.
pub(super) const FILE_BYTES_MAX: u64 = 64 << 20;
const FILE: Input = Input { what: "file of a relay", limit: ByteCount(FILE_BYTES_MAX) };
/// Others may read it; those who may write to the directory are the system's to say.
const MODE: u32 = 0o644;
const DRAFT_SUFFIX: &str = ".partial";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayPlace {
    address: String,
    root: Root,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Root {
    Directory(PathBuf),
    /// The address that names of objects begin with, without the slash at its end.
    Bucket(String),
}

impl RelayPlace {
    /// Whether a text is meant as the address of a relay.
    pub fn is_meant(text: &str) -> bool {
        let path = Path::new(text);
        text.starts_with(DIRECTORY) || is_object(path)
    }

    /// The relay at `dir:/DIRECTORY`, `s3://BUCKET/PREFIX`, `az://…` or `gs://…`. Asks nobody.
    ///
    /// # Errors
    /// If the text is none of them.
    pub fn parse(text: &str) -> Result<Self, RelayError> {
        let trimmed = text.strip_suffix('/').unwrap_or(text);
        let wrong = || RelayError::Address { named: text.to_owned() };
        let root = match trimmed.strip_prefix(DIRECTORY) {
            Some(directory) if Path::new(directory).is_absolute() => Root::Directory(directory.into()),
            None if Self::is_meant(trimmed) => Root::Bucket(trimmed.to_owned()),
            _ => return Err(wrong()),
        };
        Ok(Self { address: trimmed.to_owned(), root })
    }

    /// In full.
    pub fn address(&self) -> &str {
        &self.address
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> RelayError {
        let address = self.address.clone();
        move |source| RelayError::Place { action, address, source }
    }

    /// All its files, in order.
    pub(super) fn list(&self) -> Result<Vec<(FileName, u64)>, RelayError> {
        let mut names = match &self.root {
            Root::Directory(directory) => listed(directory),
            Root::Bucket(prefix) => Object::at(Path::new(prefix)).and_then(|object| {
                let name = |path: &Path| FileName::parse(path.file_name()?.to_str()?);
                let all = object.list()?;
                Ok(all.iter().filter_map(|listed| Some((name(&listed.path)?, listed.bytes))).collect())
            }),
        }
        .map_err(self.failed("list"))?;
        names.sort_unstable();
        Ok(names)
    }

    /// A whole file; `None` if it is not there, or is longer than any that iostall makes.
    pub(super) fn read(&self, name: FileName) -> Result<Option<Vec<u8>>, RelayError> {
        let read = match &self.root {
            Root::Directory(directory) => match FILE.read(&directory.join(name.to_string())) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(InputError::System { source, .. }) => Err(source),
                Err(_) => Ok(None),
            },
            Root::Bucket(_) => self.object(name).and_then(|object| {
                let (bytes, length) = object.start(FILE_BYTES_MAX)?;
                Ok((length <= FILE_BYTES_MAX).then_some(bytes))
            }),
        };
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map_err(self.failed("read from")),
        }
    }

    /// Puts a file there; false if one has its name. When it returns, that is durable.
    pub(super) fn put_new(&self, name: FileName, bytes: &[u8]) -> Result<bool, RelayError> {
        let put = match &self.root {
            Root::Directory(directory) => put_file(directory, name, bytes),
            Root::Bucket(_) => self.object(name).and_then(|object| object.put_new(bytes, None)),
        };
        match put {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            put => put.map(|()| true).map_err(self.failed("write to")),
        }
    }

    /// Deletes a file. One that is not there is no error.
    pub(super) fn delete(&self, name: FileName) -> Result<(), RelayError> {
        let deleted = match &self.root {
            Root::Directory(directory) => fs::remove_file(directory.join(name.to_string())),
            Root::Bucket(_) => self.object(name).and_then(|object| object.delete()),
        };
        match deleted {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            deleted => deleted.map_err(self.failed("delete from")),
        }
    }

    fn object(&self, name: FileName) -> io::Result<Object> {
        Object::at(Path::new(&format!("{}/{name}", self.address)))
    }
}

fn listed(directory: &Path) -> io::Result<Vec<(FileName, u64)>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if let Some(name) = entry.file_name().to_str().and_then(FileName::parse) {
            // It may have been deleted since.
            let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
            names.push((name, bytes));
        }
    }
    Ok(names)
}

fn put_file(directory: &Path, name: FileName, bytes: &[u8]) -> io::Result<()> {
    let mark = random_bytes::<8>()?.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    let draft = directory.join(format!(".{name}.{mark}{DRAFT_SUFFIX}"));
    let write = || {
        let mut file = create_new(&draft, MODE)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        rename_new(&draft, &directory.join(name.to_string()))?;
        sync_directory(directory)
    };
    write().inspect_err(|_| {
        // What is left of it is nobody's.
        let _ = fs::remove_file(&draft);
    })
}

#[cfg(test)]
mod tests {
    use super::super::names::FileKind;
    use super::*;

    #[test]
    fn an_address_is_a_whole_directory_or_a_bucket() {
        for (text, full) in
            [("dir:/mnt/relay/", "dir:/mnt/relay"), ("s3://bucket/fleet/", "s3://bucket/fleet")]
        {
            assert_eq!(RelayPlace::parse(text).unwrap().address(), full);
            assert!(RelayPlace::is_meant(text));
        }
        for text in ["dir:relay", "dir:", "https://central", "/mnt/relay", "iostall://central/x"] {
            assert!(matches!(RelayPlace::parse(text), Err(RelayError::Address { .. })), "{text}");
        }
    }

    #[test]
    fn a_file_is_there_as_a_whole_and_once_and_others_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let place = RelayPlace::parse(&format!("dir:{}", directory.path().display())).unwrap();
        let store = "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11".parse().unwrap();
        let name = |number| FileName { store, kind: FileKind::Batch, number };
        fs::write(directory.path().join("notes.txt"), "x").unwrap();
        assert!(place.put_new(name(10), b"ten").unwrap() && place.put_new(name(9), b"nine").unwrap());
        assert!(!place.put_new(name(9), b"other").unwrap());
        assert_eq!(place.list().unwrap(), [(name(9), 4), (name(10), 3)]);
        assert_eq!(place.read(name(9)).unwrap().as_deref(), Some(&b"nine"[..]));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "no draft is left");
        place.delete(name(9)).unwrap();
        place.delete(name(9)).unwrap();
        assert_eq!(place.read(name(9)).unwrap(), None);
        fs::remove_dir_all(directory.path()).unwrap();
        assert!(matches!(place.list(), Err(RelayError::Place { .. })));
    }
}
