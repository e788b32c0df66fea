//! A bucket and its client, made once for all objects in it.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::multipart::MultipartStore;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig};

use crate::error::{OF_HTTP, of_store, refused};
use crate::http::Connector;

/// A request is tried so often again where the store is busy or the connection breaks, and no longer than this altogether.
const RETRIES_MAX: usize = 8;
const RETRY_LIMIT: Duration = Duration::from_secs(120);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// What iostall needs of a store.
pub(crate) trait Store: ObjectStore + MultipartStore {}

impl<S: ObjectStore + MultipartStore> Store for S {}

/// A bucket.
#[derive(Clone)]
pub(crate) struct Bucket {
    pub(crate) store: Arc<dyn Store>,
}

static OPEN: LazyLock<Mutex<HashMap<String, Bucket>>> = LazyLock::new(Mutex::default);

impl Bucket {
    /// The bucket of this name, with address and keys from the environment. Asks no server.
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = open.get(name) {
            return Ok(bucket.clone());
        }
        let bucket = Self { store: Arc::new(client(name)?) };
        open.insert(name.to_owned(), bucket.clone());
        Ok(bucket)
    }

    /// Makes `store` the bucket of this name.
    #[cfg(any(test, feature = "memory"))]
    pub(crate) fn install(name: &str, store: Arc<dyn Store>) {
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), Self { store });
    }
}

fn client(name: &str) -> io::Result<object_store::aws::AmazonS3> {
    let builder = AmazonS3Builder::from_env();
    let of = |key| builder.get_config_value(&key);
    let endpoint = of(AmazonS3ConfigKey::S3Endpoint).or_else(|| of(AmazonS3ConfigKey::Endpoint));
    let allows_http = of(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp))
        .is_some_and(|text| matches!(text.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on"));
    if let Some(endpoint) = endpoint
        && endpoint.to_ascii_lowercase().starts_with("http:")
        && !allows_http
    {
        return Err(refused(format!("{endpoint} is not encrypted"), Some(OF_HTTP)));
    }
    let backoff = BackoffConfig { max_backoff: PAUSE_MAX, ..BackoffConfig::default() };
    builder
        .with_bucket_name(name)
        .with_http_connector(Connector)
        .with_retry(RetryConfig { backoff, max_retries: RETRIES_MAX, retry_timeout: RETRY_LIMIT })
        .build()
        .map_err(|error| of_store(&error))
}

/// Waits for an answer.
pub(crate) fn wait<T>(request: impl Future<Output = object_store::Result<T>>) -> io::Result<T> {
    // A runtime of its own for each request costs microseconds: it has no thread, and only a timer for pauses.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(request).map_err(|error| of_store(&error))
}
