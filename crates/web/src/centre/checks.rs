//! Reads requests of servers, and checks what is in them.

use std::collections::HashSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use iostall_store::StoreId;
use serde::de::DeserializeOwned;

use super::refusals;
use crate::server::{Connection, Refusal};

/// Requests but batches are short.
pub(super) const REQUEST_BYTES_MAX: usize = 64 << 10;
/// What lies on what, of thousands of volumes.
pub(super) const PLACEMENT_BYTES_MAX: usize = 1 << 20;
/// Bytes of a text in them.
const TEXT_BYTES_MAX: usize = 256;

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
        let is_first = lock(all).insert(store);
        // Not before the lock is released: one that is made and dropped at once, as by `then_some`, waits for it for ever.
        if is_first { Some(Self { all, store }) } else { None }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        lock(self.all).remove(&self.store);
    }
}

pub(super) fn json_of<T: DeserializeOwned>(connection: &mut Connection) -> io::Result<Result<T, Refusal>> {
    json_of_at_most(connection, REQUEST_BYTES_MAX)
}

pub(super) fn json_of_at_most<T: DeserializeOwned>(
    connection: &mut Connection,
    bytes_max: usize,
) -> io::Result<Result<T, Refusal>> {
    let Some(body) = connection.whole_body(bytes_max)? else { return Ok(Err(refusals::too_long())) };
    Ok(serde_json::from_slice(&body).map_err(|_| Refusal::not_understood()))
}

pub(super) fn check_texts(texts: &[&str]) -> Result<(), Refusal> {
    if texts.iter().any(|text| text.len() > TEXT_BYTES_MAX) { Err(refusals::too_long()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second batch of one server while the first was on its way stopped the centre for all of them, until it was restarted.
    #[test]
    fn a_second_batch_of_a_server_is_refused_and_the_first_keeps_its_turn() {
        let all = Mutex::default();
        let [one, other] =
            [1, 2].map(|number| format!("0192f0c4-4d00-7000-8000-00000000000{number}").parse().unwrap());
        let first = Turn::take(&all, one);
        assert!(first.is_some() && Turn::take(&all, one).is_none() && Turn::take(&all, one).is_none());
        assert!(Turn::take(&all, other).is_some());
        drop(first);
        assert!(Turn::take(&all, one).is_some());
    }
}
