//! From the library, which is asynchronous, to the rest, which is not.

use std::future::Future;
use std::io;
use std::time::Duration;

use object_store::{BackoffConfig, RetryConfig};

use crate::error::{Hints, of_store};

/// A request is tried so often again where the store is busy or the connection breaks.
const RETRIES_MAX: usize = 8;
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// No longer than this altogether, which is more than one request can take until it is given up.
const RETRY_LIMIT: Duration = Duration::from_secs(900);

pub(crate) fn retry() -> RetryConfig {
    let backoff = BackoffConfig { max_backoff: PAUSE_MAX, ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: RETRIES_MAX, retry_timeout: RETRY_LIMIT }
}

pub(crate) fn wait<T>(
    request: impl Future<Output = object_store::Result<T>>,
    hints: &Hints,
) -> io::Result<T> {
    // A runtime of its own for each request costs microseconds: it has no thread, and only a timer for pauses.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(request).map_err(|error| of_store(&error, hints))
}
