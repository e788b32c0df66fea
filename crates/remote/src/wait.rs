//! From the library, which is asynchronous, to the rest, which is not.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::OnceLock;
use std::time::Duration;

use object_store::{BackoffConfig, RetryConfig};

use crate::error::{Hints, of_store};

/// A request is tried so often again where the store is busy or the connection breaks.
const RETRIES_MAX: usize = 8;
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// No longer than this altogether, which is more than one request can take until it is given up.
const RETRY_LIMIT: Duration = Duration::from_secs(900);
/// How often a request that is on its way looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(200);
/// After so many looks somebody is told, and then again: 30 seconds.
const LOOKS_NOTIFIED: u64 = 150;

/// Whoever waits for requests that are tried again for minutes.
pub trait Waiting: Send + Sync {
    /// Whether the work was told to stop, so that no answer is wanted any more.
    fn is_over(&self) -> bool;

    /// Told while a store has not answered for so long.
    fn notify(&self, message: &str);
}

static WAITING: OnceLock<Box<dyn Waiting>> = OnceLock::new();

/// Has `waiting` hear of slow requests from now on. Once a process.
pub fn notify_of_slow_requests(waiting: impl Waiting + 'static) {
    // Who came first goes on hearing of them.
    let _ = WAITING.set(Box::new(waiting));
}

pub(crate) fn retry() -> RetryConfig {
    let backoff = BackoffConfig { max_backoff: PAUSE_MAX, ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: RETRIES_MAX, retry_timeout: RETRY_LIMIT }
}

/// Waits for the answer, also after the work was told to stop: what cleans up, and what gives a name, must come to its end.
pub(crate) fn wait<T>(
    request: impl Future<Output = object_store::Result<T>>,
    hints: &Hints,
) -> io::Result<T> {
    watched(request, hints, WAITING.get().map(AsRef::as_ref), false)
}

/// The same, until the work is told to stop.
pub(crate) fn wait_while_wanted<T>(
    request: impl Future<Output = object_store::Result<T>>,
    hints: &Hints,
) -> io::Result<T> {
    watched(request, hints, WAITING.get().map(AsRef::as_ref), true)
}

fn watched<T>(
    request: impl Future<Output = object_store::Result<T>>,
    hints: &Hints,
    waiting: Option<&dyn Waiting>,
    ends: bool,
) -> io::Result<T> {
    // A runtime of its own for each request costs microseconds: it has no thread, and only a timer for pauses.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async {
        let mut request = pin!(request);
        for looks in 1_u64.. {
            if let Ok(answer) = tokio::time::timeout(LOOK, request.as_mut()).await {
                return answer.map_err(|error| of_store(&error, hints));
            }
            let Some(waiting) = waiting else { continue };
            if ends && waiting.is_over() {
                break;
            }
            if looks.is_multiple_of(LOOKS_NOTIFIED) {
                let seconds = looks * 200 / 1_000;
                waiting.notify(&format!(
                    "the store has not answered a request as it should for {seconds} s: it is tried again, for up to {} minutes",
                    RETRY_LIMIT.as_secs() / 60
                ));
            }
        }
        Err(io::Error::other("the request was given up, because the work was told to stop"))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::error::S3;

    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Waiting for Heard {
        fn is_over(&self) -> bool {
            true
        }

        fn notify(&self, message: &str) {
            self.0.lock().unwrap().push(message.to_owned());
        }
    }

    /// The story: a store sent half of each answer, and a restore that was told to stop went on for eight minutes.
    #[test]
    fn a_request_that_is_never_answered_ends_when_the_work_is_to_stop() {
        let never = std::future::pending::<object_store::Result<()>>();
        assert!(watched(never, &S3, Some(&Heard::default()), true).is_err());
        let late = async {
            tokio::time::sleep(LOOK * 2).await;
            Ok(7)
        };
        assert_eq!(watched(late, &S3, Some(&Heard::default()), false).unwrap(), 7, "what cleans up goes on");
    }
}
