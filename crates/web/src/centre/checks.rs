//! Reads requests of servers, and checks what is in them.

use std::collections::HashSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use iostall_measure::clock::utc_now;
use iostall_store::{Batch, StoreId};
use jiff::SignedDuration;
use serde::de::DeserializeOwned;

use super::refusals;
use crate::tls_server::{Connection, Refusal};

/// Requests but batches are short.
pub(super) const REQUEST_BYTES_MAX: usize = 64 << 10;
/// Texts in them, bytes.
const TEXT_BYTES_MAX: usize = 256;
/// A sample is at most so far ahead of the clock of the centre. Each day needs tables of its own: no server may fill the repository with
/// those of all centuries.
const AHEAD_MAX: SignedDuration = SignedDuration::from_hours(1);
/// Nor is a sample older than this.
const AGE_MAX: SignedDuration = SignedDuration::from_hours(10 * 366 * 24);

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A server sends one batch at a time.
pub(super) struct Turn<'a> {
    all: &'a Mutex<HashSet<StoreId>>,
    store: StoreId,
}

impl<'a> Turn<'a> {
    /// `None` while another batch of this server is on its way.
    pub(super) fn take(all: &'a Mutex<HashSet<StoreId>>, store: StoreId) -> Option<Self> {
        lock(all).insert(store).then_some(Self { all, store })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        lock(self.all).remove(&self.store);
    }
}

pub(super) fn json_of<T: DeserializeOwned>(connection: &mut Connection) -> io::Result<Result<T, Refusal>> {
    let Some(body) = connection.whole_body(REQUEST_BYTES_MAX)? else { return Ok(Err(refusals::too_long())) };
    Ok(serde_json::from_slice(&body).map_err(|_| Refusal::not_understood()))
}

pub(super) fn check_texts(texts: &[&str]) -> Result<(), Refusal> {
    if texts.iter().any(|text| text.len() > TEXT_BYTES_MAX) { Err(refusals::too_long()) } else { Ok(()) }
}

pub(super) fn check_clock(batch: &Batch) -> Result<(), Refusal> {
    let now = utc_now();
    for taken in &batch.samples.taken_utc {
        let ahead = taken.duration_since(now);
        if ahead > AHEAD_MAX {
            let text = format!(
                "a sample of {taken:.0} is from the future: by the clock of the centre it is {now:.0}"
            );
            return Err(refusals::wrong_clock(&text));
        }
        if -ahead > AGE_MAX {
            let text = format!("a sample of {taken:.0} is older than ten years");
            return Err(refusals::wrong_clock(&text));
        }
    }
    Ok(())
}
