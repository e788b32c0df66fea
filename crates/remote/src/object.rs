//! An object by its address: read in ranges, listed, put and deleted.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use iostall_measure::clock::utc_now;
use iostall_model::backup::{ObjectLock, Protection};
use jiff::Timestamp;
use object_store::path::Path as Key;
use object_store::{GetOptions, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};

use crate::azure;
use crate::bucket::Bucket;
use crate::error::{OF_ADDRESS, OF_OTHERS, refused};
use crate::gcs;
use crate::upload::Upload;
use crate::wait::wait_while_wanted;

const SCHEME: &str = "s3://";
/// Of stores whose language iostall does not speak. They are no directories of this machine either.
const OTHERS: [&str; 2] = ["abfs://", "abfss://"];
/// What the address of an object can begin with.
const SCHEMES: [&str; 3] = [SCHEME, azure::SCHEME, gcs::SCHEME];

pub fn is_object(path: &Path) -> bool {
    is_of_other_store(path)
        || path.to_str().is_some_and(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
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

struct Facts {
    bytes: u64,
    changed_utc: Timestamp,
    version: Option<String>,
    protection: Protection,
}

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
    /// The object at an address such as `s3://bucket/directory/name`, `az://container/directory/name` or
    /// `gs://bucket/directory/name`. Asks no server.
    pub fn at(path: &Path) -> io::Result<Self> {
        if is_of_other_store(path) {
            return Err(refused("iostall does not speak the language of this store", Some(OF_OTHERS)));
        }
        let wrong = || refused(format!("{} is no address of an object", path.display()), Some(OF_ADDRESS));
        let text = path.to_str().ok_or_else(wrong)?;
        let (scheme, rest) = SCHEMES
            .into_iter()
            .find_map(|scheme| text.strip_prefix(scheme).map(|rest| (scheme, rest)))
            .ok_or_else(wrong)?;
        let (place, key) = rest.split_once('/').unwrap_or((rest, ""));
        if place.is_empty() {
            return Err(wrong());
        }
        let key = Key::parse(key).map_err(|_| wrong())?;
        let bucket = match scheme {
            azure::SCHEME => Bucket::of_azure(place)?,
            gcs::SCHEME => Bucket::of_google(place)?,
            _ => Bucket::open(place)?,
        };
        Ok(Self { bucket, key, root: format!("{scheme}{place}/") })
    }

    pub fn bytes(&self) -> io::Result<u64> {
        self.facts().map(|facts| facts.bytes)
    }

    fn facts(&self) -> io::Result<Facts> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        let found = self.bucket.wait(self.bucket.store.get_opts(&self.key, options))?;
        let protection = found.extensions.get::<Protection>().copied().unwrap_or_default();
        // A store without clock says nothing about the age of an object, as if it were new.
        let changed_utc =
            Timestamp::from_second(found.meta.last_modified.timestamp()).unwrap_or(Timestamp::MAX);
        Ok(Facts { bytes: found.meta.size, changed_utc, version: found.meta.version, protection })
    }

    pub fn exists(&self) -> io::Result<bool> {
        match self.bytes() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub fn reader(&self) -> io::Result<ObjectReader> {
        let Facts { bytes, changed_utc, protection, .. } = self.facts()?;
        Ok(ObjectReader { object: self.clone(), bytes, changed_utc, protection, failure: Mutex::default() })
    }

    /// Up to `length` of its first bytes, and how many it has altogether, with one request.
    pub fn start(&self, length: u64) -> io::Result<(Vec<u8>, u64)> {
        let options = GetOptions::new().with_range(Some(0..length));
        let found = self.bucket.wait(async {
            let found = self.bucket.store.get_opts(&self.key, options).await?;
            let bytes = found.meta.size;
            Ok((found.bytes().await?.to_vec(), bytes))
        });
        match found {
            // An empty one has no such range.
            Err(error) if error.kind() != io::ErrorKind::NotFound && self.bytes()? == 0 => {
                Ok((Vec::new(), 0))
            }
            found => found,
        }
    }

    /// The objects whose names begin with this one and a slash, and have no other slash after it.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        let prefix = (!self.key.as_ref().is_empty()).then_some(&self.key);
        let found = self.bucket.wait(self.bucket.store.list_with_delimiter(prefix))?;
        let listed = found.objects.into_iter().map(|facts| Listed {
            path: PathBuf::from(format!("{}{}", self.root, facts.location)),
            bytes: facts.size,
        });
        Ok(listed.collect())
    }

    /// Puts it as a whole unless it is there, locked if there is a lock. `AlreadyExists` says that it is.
    pub fn put_new(&self, bytes: &[u8], lock: Option<&ObjectLock>) -> io::Result<()> {
        let putter = self.bucket.putter(bytes, lock)?;
        let payload = PutPayload::from(bytes.to_vec());
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        self.bucket.wait(putter.put_opts(&self.key, payload, options)).map(drop)
    }

    pub(crate) fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    /// Whether objects in its bucket can be locked; `None` if this account may not ask.
    pub fn can_be_locked(&self) -> io::Result<Option<bool>> {
        self.bucket.can_be_locked()
    }

    /// Sees to it that it is locked until then at least: not every store heeds the lock that an upload begins with. Fails if it
    /// still is not.
    pub fn lock(&self, lock: &ObjectLock) -> io::Result<()> {
        let is_locked = |facts: &Facts| facts.protection.lock.is_some_and(|found| found >= *lock);
        if is_locked(&self.facts()?) {
            return Ok(());
        }
        self.bucket.lock(&self.key, lock)?;
        if is_locked(&self.facts()?) {
            return Ok(());
        }
        Err(refused("the store took the object and does not lock it", Some(self.bucket.hints().lock)))
    }

    /// Deletes it. One that is not there is no error.
    pub fn delete(&self) -> io::Result<()> {
        let facts = match self.facts() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            facts => facts?,
        };
        // Where there are versions, deleting a name only hides it. What was locked was not to be kept any longer than that.
        if let (Some(version), Some(_)) = (&facts.version, facts.protection.lock)
            && !facts.protection.holds_at(utc_now())
        {
            return self.bucket.delete_version(&self.key, version);
        }
        match self.bucket.delete(&self.key) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Deletes it where it was put a moment ago: also where there are versions nothing of it stays, if this account may do that.
    pub fn erase(&self) -> io::Result<()> {
        match self.facts()?.version {
            Some(version) => self.bucket.delete_version(&self.key, &version).or_else(|_| self.delete()),
            None => self.delete(),
        }
    }

    /// Begins to write it, locked if there is a lock. It is not there before all of it is: where a store has no condition for the request that
    /// completes an upload, that one makes `until_complete`, which nobody else may use.
    pub fn upload(&self, until_complete: &Self, lock: Option<&ObjectLock>) -> io::Result<Upload> {
        Upload::begin(&self.bucket, &self.key, &until_complete.key, lock)
    }

    /// Begins to write what never becomes an object, to see how fast that is. It must have a name that nothing else has.
    pub fn upload_trial(&self) -> io::Result<Upload> {
        Upload::begin_trial(&self.bucket, &self.key)
    }
}

pub struct ObjectReader {
    object: Object,
    bytes: u64,
    changed_utc: Timestamp,
    protection: Protection,
    failure: Mutex<Option<String>>,
}

impl fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

impl ObjectReader {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn changed_utc(&self) -> Timestamp {
        self.changed_utc
    }

    pub fn protection(&self) -> Protection {
        self.protection
    }

    /// Up to `length` bytes from `offset`; fewer at the end.
    pub fn read(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let end = offset.saturating_add(length).min(self.bytes);
        if offset >= end {
            return Ok(Vec::new());
        }
        let bucket = &self.object.bucket;
        let range = bucket.store.get_range(&self.object.key, offset..end);
        let read = wait_while_wanted(range, bucket.hints());
        if let Err(error) = &read {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
        }
        read.map(Vec::from)
    }

    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
