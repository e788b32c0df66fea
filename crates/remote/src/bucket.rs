//! A bucket and its client, made once for all objects in it.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use iostall_model::backup::ObjectLock;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::multipart::MultipartStore;
use object_store::path::Path as Key;
use object_store::{
    ClientConfigKey, ClientOptions, HeaderMap, ObjectStore, ObjectStoreExt as _, PutMultipartOptions,
};
use ureq::http::{Method, StatusCode};

use crate::ask::{Answer, Ask, Signed, answer};
use crate::azure::{self, Container};
use crate::endpoint::is_yes;
use crate::error::{self, Hints, element, of_answer, of_store, refused};
use crate::gcs::{self, GoogleBucket};
use crate::http::{Connector, SERVICE};
use crate::lock::{CONTENT_MD5, azure_headers_of, azure_locks, headers_of, md5_of, until_of};
use crate::mark;
use crate::wait::{retry, wait};

/// Unless the environment names another.
const REGION: &str = "us-east-1";

pub(crate) trait Store: ObjectStore + MultipartStore {}

impl<S: ObjectStore + MultipartStore> Store for S {}

#[derive(Clone)]
pub(crate) struct Bucket {
    pub(crate) store: Arc<dyn Store>,
    service: Service,
}

#[derive(Clone)]
enum Service {
    S3(Arc<S3>),
    Azure(Arc<Container>),
    Google(Arc<GoogleBucket>),
    /// The memory of a test: without locks and versions.
    #[cfg_attr(
        not(any(test, feature = "memory")),
        expect(dead_code, reason = "only tests have such a store")
    )]
    Plain,
}

struct S3 {
    name: String,
    signed: Signed,
    /// Whether what is written needs checksums, once that was asked.
    wants_checksums: OnceLock<bool>,
}

pub(crate) struct Writers {
    /// Its requests give the object its lock.
    pub(crate) begins: Arc<dyn Store>,
    /// All requests after the one that begins the object.
    pub(crate) continues: Arc<dyn Store>,
}

static OPEN: LazyLock<Mutex<HashMap<String, Bucket>>> = LazyLock::new(Mutex::default);

impl Bucket {
    /// The bucket of this name, with address and keys from the environment. Asks no server.
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = open.get(name) {
            return Ok(bucket.clone());
        }
        let store = builder(name)?.build().map_err(|error| of_store(&error, &error::S3))?;
        let region = builder(name)?.get_config_value(&AmazonS3ConfigKey::Region);
        let region = region.unwrap_or_else(|| REGION.to_owned());
        let signed = Signed { store: store.clone(), region };
        let s3 = S3 { name: name.to_owned(), signed, wants_checksums: OnceLock::new() };
        let bucket = Self { store: Arc::new(store), service: Service::S3(Arc::new(s3)) };
        open.insert(name.to_owned(), bucket.clone());
        Ok(bucket)
    }

    /// The container of this name in Azure, with account, address and keys from the environment. Asks no server.
    pub(crate) fn of_azure(container: &str) -> io::Result<Self> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("{}{container}", azure::SCHEME);
        if let Some(bucket) = open.get(&name) {
            return Ok(bucket.clone());
        }
        let (store, container) = azure::open(container)?;
        let service = Service::Azure(Arc::new(container));
        let bucket = Self { store: Arc::new(store), service };
        open.insert(name, bucket.clone());
        Ok(bucket)
    }

    /// The bucket of this name in Google's store, with address and keys from the environment. Asks no server.
    pub(crate) fn of_google(bucket: &str) -> io::Result<Self> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("{}{bucket}", gcs::SCHEME);
        if let Some(bucket) = open.get(&name) {
            return Ok(bucket.clone());
        }
        let (store, bucket) = gcs::open(bucket)?;
        let service = Service::Google(Arc::new(bucket));
        let bucket = Self { store: Arc::new(store), service };
        open.insert(name, bucket.clone());
        Ok(bucket)
    }

    #[cfg(any(test, feature = "memory"))]
    pub(crate) fn install(name: &str, store: Arc<dyn Store>) {
        OPEN.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), Self { store, service: Service::Plain });
    }
}

impl Bucket {
    pub(crate) fn hints(&self) -> &'static Hints {
        match self.service {
            Service::Azure(_) => &error::AZURE,
            Service::Google(_) => &error::GCS,
            Service::S3(_) | Service::Plain => &error::S3,
        }
    }

    pub(crate) fn wait<T>(&self, request: impl Future<Output = object_store::Result<T>>) -> io::Result<T> {
        wait(request, self.hints())
    }

    /// Whether it removes what was uploaded and not completed by itself, and cannot be told to do so. Azure does, after a week.
    pub(crate) fn forgets_uploads(&self) -> bool {
        matches!(self.service, Service::Azure(_))
    }

    pub(crate) fn delete(&self, key: &Key) -> io::Result<()> {
        match &self.service {
            // The library has a request for many at once, whose answer does not say why one of them was refused.
            Service::Azure(_) => self.ask(&Ask::new(Method::DELETE, key)).map(drop),
            Service::S3(_) | Service::Google(_) | Service::Plain => self.wait(self.store.delete(key)),
        }
    }

    /// Begins an upload into `key`, of which this is the mark if it takes any: its id.
    pub(crate) fn begin_upload(&self, store: &dyn Store, key: &Key, mark: &Key) -> io::Result<String> {
        let options = if self.marks() { mark::options(mark) } else { PutMultipartOptions::default() };
        self.wait(store.create_multipart_opts(key, options))
    }

    /// Whether what was uploaded to `key` is there and has this mark.
    pub(crate) fn has_completed(&self, key: &Key, mark: &Key) -> bool {
        self.marks() && self.wait(mark::is_of(&*self.store, key, mark)).unwrap_or(false)
    }

    /// Whether an upload can begin with what its object is to be recognised by.
    fn marks(&self) -> bool {
        matches!(self.service, Service::S3(_) | Service::Google(_))
    }

    /// Whether it has no condition for the request that completes an upload, but one for renaming what was uploaded.
    pub(crate) fn renames(&self) -> bool {
        matches!(self.service, Service::Google(_))
    }

    /// Gives what was uploaded as `from` the name `to` where it [renames](Self::renames). `AlreadyExists` if anything has it.
    pub(crate) fn rename_new(&self, from: &Key, to: &Key) -> io::Result<()> {
        match &self.service {
            Service::Google(bucket) => bucket.rename_new(from, to),
            Service::S3(_) | Service::Azure(_) | Service::Plain => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub(crate) fn writers(&self, lock: Option<&ObjectLock>) -> io::Result<Writers> {
        let plain = || Writers { begins: Arc::clone(&self.store), continues: Arc::clone(&self.store) };
        let s3 = match (&self.service, lock) {
            (Service::S3(s3), _) => s3,
            // What is locked cannot be renamed, so there it is locked when it has its name.
            (_, None) | (Service::Google(_), Some(_)) => return Ok(plain()),
            (Service::Azure(container), Some(lock)) => {
                // The last request makes the blob, and gives it its lock.
                let locking: Arc<dyn Store> = Arc::new(container.locking(lock)?);
                return Ok(Writers { begins: Arc::clone(&locking), continues: locking });
            }
            (Service::Plain, Some(_)) => {
                return Err(refused("what is there cannot be locked", Some(self.hints().lock)));
            }
        };
        if lock.is_none() && !self.wants_checksums(s3)? {
            return Ok(plain());
        }
        let continues = Arc::new(s3.writer(HeaderMap::new())?);
        let begins = match lock {
            Some(lock) => Arc::new(s3.writer(headers_of(lock))?),
            None => Arc::clone(&continues),
        };
        Ok(Writers { begins, continues })
    }

    pub(crate) fn putter(&self, bytes: &[u8], lock: Option<&ObjectLock>) -> io::Result<Arc<dyn Store>> {
        match (&self.service, lock) {
            (Service::S3(s3), Some(lock)) => {
                let mut headers = headers_of(lock);
                // With a lock, not all stores are content with newer checksums.
                headers.insert(CONTENT_MD5, md5_of(bytes));
                Ok(Arc::new(s3.writer(headers)?))
            }
            (Service::Google(bucket), Some(lock)) => Ok(Arc::new(bucket.locking(lock)?)),
            _ => Ok(self.writers(lock)?.begins),
        }
    }

    /// A bucket whose objects can be locked may lock all of them by itself, and then refuses requests without checksums.
    fn wants_checksums(&self, s3: &S3) -> io::Result<bool> {
        if let Some(known) = s3.wants_checksums.get() {
            return Ok(*known);
        }
        let wants = self.can_be_locked()?.unwrap_or(false);
        Ok(*s3.wants_checksums.get_or_init(|| wants))
    }

    /// Removes the parts that were uploaded for this name, where no request does that: they are left out of what gets the name, which is
    /// deleted.
    pub(crate) fn discard(&self, key: &Key) -> io::Result<()> {
        self.wait(self.store.complete_multipart(key, &String::new(), Vec::new()))?;
        self.delete(key)
    }

    pub(crate) fn delete_version(&self, key: &Key, version: &str) -> io::Result<()> {
        let delete = Ask::new(Method::DELETE, key);
        match self.service {
            Service::Azure(_) => {
                // The version that has the name loses it first.
                self.delete(key)?;
                self.ask(&delete.query("versionid", version)).map(drop)
            }
            Service::Google(_) => self.ask(&delete.query("generation", version)).map(drop),
            Service::S3(_) | Service::Plain => self.ask(&delete.query("versionId", version)).map(drop),
        }
    }

    /// Whether objects in it can be locked; `None` if this account may not ask.
    pub(crate) fn can_be_locked(&self) -> io::Result<Option<bool>> {
        match &self.service {
            Service::S3(_) => {}
            Service::Azure(_) => return self.azure_can_be_locked(),
            Service::Google(bucket) => return bucket.can_be_locked(),
            Service::Plain => return Ok(Some(false)),
        }
        let ask = Ask::new(Method::GET, &Key::default()).query("object-lock", "");
        let Answer { status, body, .. } = self.answer(&ask)?;
        let text = String::from_utf8_lossy(&body);
        let failed = || of_answer(status, &body, self.hints());
        Ok(match status {
            StatusCode::OK => Some(element(&text, "ObjectLockEnabled") == Some("Enabled")),
            StatusCode::FORBIDDEN => None,
            StatusCode::NOT_FOUND if text.contains("NoSuchBucket") => return Err(failed()),
            // Of a store that knows no locks.
            StatusCode::NOT_FOUND
            | StatusCode::BAD_REQUEST
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::NOT_IMPLEMENTED => Some(false),
            _ => return Err(failed()),
        })
    }

    fn azure_can_be_locked(&self) -> io::Result<Option<bool>> {
        let ask = Ask::new(Method::GET, &Key::default()).query("restype", "container");
        let Answer { status, headers, body } = self.answer(&ask)?;
        match status {
            StatusCode::OK => Ok(Some(azure_locks(&headers))),
            StatusCode::FORBIDDEN => Ok(None),
            _ => Err(of_answer(status, &body, self.hints())),
        }
    }

    pub(crate) fn lock(&self, key: &Key, lock: &ObjectLock) -> io::Result<()> {
        let ask = match &self.service {
            Service::Azure(_) => Ask::new(Method::PUT, key)
                .query("comp", "immutabilityPolicies")
                .headers(azure_headers_of(lock)),
            Service::S3(_) | Service::Google(_) | Service::Plain => retention(key, lock),
        };
        self.ask(&ask).map(drop)
    }

    /// The answer to a request that the library does not know.
    fn answer(&self, ask: &Ask) -> io::Result<Answer> {
        match &self.service {
            Service::S3(s3) => self.wait(answer(&s3.signed, ask)),
            Service::Azure(container) => self.wait(answer(&**container, ask)),
            Service::Google(bucket) => self.wait(answer(&**bucket, ask)),
            Service::Plain => {
                let (headers, body) = (HeaderMap::new(), Vec::new());
                Ok(Answer { status: StatusCode::NOT_IMPLEMENTED, headers, body })
            }
        }
    }

    /// The same where only success will do: its body.
    pub(crate) fn ask(&self, ask: &Ask) -> io::Result<Vec<u8>> {
        let Answer { status, body, .. } = self.answer(ask)?;
        if status.is_success() { Ok(body) } else { Err(of_answer(status, &body, self.hints())) }
    }
}

/// The request that locks an object of S3 or of Google that is there.
fn retention(key: &Key, lock: &ObjectLock) -> Ask {
    let body = format!(
        "<Retention xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Mode>{}</Mode>\
         <RetainUntilDate>{}</RetainUntilDate></Retention>",
        lock.mode.of_store(),
        until_of(lock)
    );
    let digest = md5_of(body.as_bytes());
    Ask::new(Method::PUT, key).query("retention", "").header(CONTENT_MD5, digest).body(body)
}

impl S3 {
    /// A client that adds checksums, and these headers to every request.
    fn writer(&self, headers: HeaderMap) -> io::Result<AmazonS3> {
        // Whether to go unencrypted was decided before.
        let options = ClientOptions::new().with_allow_http(true).with_default_headers(headers);
        let builder = builder(&self.name)?.with_client_options(options);
        builder
            .with_checksum_algorithm(Checksum::SHA256)
            .build()
            .map_err(|error| of_store(&error, &error::S3))
    }
}

fn builder(name: &str) -> io::Result<AmazonS3Builder> {
    let builder = AmazonS3Builder::from_env();
    let of = |key| builder.get_config_value(&key);
    let endpoint = of(AmazonS3ConfigKey::S3Endpoint).or_else(|| of(AmazonS3ConfigKey::Endpoint));
    let allows_http =
        of(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp)).is_some_and(|text| is_yes(&text));
    if let Some(endpoint) = endpoint
        && endpoint.to_ascii_lowercase().starts_with("http:")
        && !allows_http
    {
        return Err(refused(format!("{endpoint} is not encrypted"), Some(error::S3.http)));
    }
    Ok(builder.with_bucket_name(name).with_http_connector(Connector(SERVICE.clone())).with_retry(retry()))
}
