//! An object by its address: read in ranges, listed, put and deleted.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use object_store::path::Path as Key;
use object_store::{ObjectStoreExt as _, PutMode, PutOptions, PutPayload};

use crate::bucket::{Bucket, wait};
use crate::error::{OF_ADDRESS, OF_OTHERS, refused};
use crate::upload::Upload;

const SCHEME: &str = "s3://";
/// Of stores that do not speak S3. They are no directories of this machine either.
const OTHERS: [&str; 4] = ["az://", "abfs://", "abfss://", "gs://"];

/// Whether a path is the address of an object.
pub fn is_object(path: &Path) -> bool {
    is_of_other_store(path) || path.to_str().is_some_and(|text| text.starts_with(SCHEME))
}

fn is_of_other_store(path: &Path) -> bool {
    path.to_str().is_some_and(|text| OTHERS.iter().any(|scheme| text.starts_with(scheme)))
}

/// An object that may be there, or the beginning of the names of others.
#[derive(Clone)]
pub struct Object {
    bucket: Bucket,
    key: Key,
    /// With its slash at the end.
    root: String,
}

/// An object in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub path: PathBuf,
    pub bytes: u64,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.root, self.key)
    }
}

impl Object {
    /// The object at an address such as `s3://bucket/directory/name`. Asks no server.
    pub fn at(path: &Path) -> io::Result<Self> {
        if is_of_other_store(path) {
            return Err(refused("iostall does not speak the language of this store", Some(OF_OTHERS)));
        }
        let wrong = || refused(format!("{} is no address of an object", path.display()), Some(OF_ADDRESS));
        let rest = path.to_str().and_then(|text| text.strip_prefix(SCHEME)).ok_or_else(wrong)?;
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong());
        }
        let key = Key::parse(key).map_err(|_| wrong())?;
        Ok(Self { bucket: Bucket::open(bucket)?, key, root: format!("{SCHEME}{bucket}/") })
    }

    /// Its length, or `NotFound`.
    pub fn bytes(&self) -> io::Result<u64> {
        wait(self.bucket.store.head(&self.key)).map(|facts| facts.size)
    }

    /// Whether it is there.
    pub fn exists(&self) -> io::Result<bool> {
        match self.bytes() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Begins to read it.
    pub fn reader(&self) -> io::Result<ObjectReader> {
        Ok(ObjectReader { object: self.clone(), bytes: self.bytes()?, failure: Mutex::default() })
    }

    /// The objects whose names begin with this one and a slash, and have no other slash after it.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        let prefix = (!self.key.as_ref().is_empty()).then_some(&self.key);
        let found = wait(self.bucket.store.list_with_delimiter(prefix))?;
        let listed = found.objects.into_iter().map(|facts| Listed {
            path: PathBuf::from(format!("{}{}", self.root, facts.location)),
            bytes: facts.size,
        });
        Ok(listed.collect())
    }

    /// Puts it as a whole unless it is there. `AlreadyExists` says that it is.
    pub fn put_new(&self, bytes: &[u8]) -> io::Result<()> {
        let payload = PutPayload::from(bytes.to_vec());
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        wait(self.bucket.store.put_opts(&self.key, payload, options)).map(drop)
    }

    /// Deletes it. One that is not there is no error.
    pub fn delete(&self) -> io::Result<()> {
        match wait(self.bucket.store.delete(&self.key)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Begins to write it. It is not there before all of it is.
    pub fn upload(&self) -> io::Result<Upload> {
        Upload::begin(&self.bucket, &self.key)
    }
}

/// An object that is there, and how long it is.
pub struct ObjectReader {
    object: Object,
    bytes: u64,
    /// Why the last request failed.
    failure: Mutex<Option<String>>,
}

impl fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

impl ObjectReader {
    /// Its length when it was opened.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Up to `length` bytes from `offset`; fewer at the end.
    pub fn read(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let end = offset.saturating_add(length).min(self.bytes);
        if offset >= end {
            return Ok(Vec::new());
        }
        let read = wait(self.object.bucket.store.get_range(&self.object.key, offset..end));
        if let Err(error) = &read {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
        }
        read.map(Vec::from)
    }

    /// Why the last request that failed did.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
