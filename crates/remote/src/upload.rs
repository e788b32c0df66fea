//! An upload in parts: what is written one after another is collected into parts, which threads put at the same time. The
//! object appears when it is completed, and not at all if it never is.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::{fmt, io};

use iostall_model::backup::ObjectLock;
use object_store::PutPayload;
use object_store::multipart::PartId;
use object_store::path::Path as Key;

use crate::bucket::{Bucket, Store};
use crate::error::{Hints, again};
use crate::wait::{wait, wait_while_wanted};

/// Parts of one upload that are on their way at the same time, beside the one that is being filled.
const PARTS_AT_ONCE: usize = 3;

/// An object that is being written. Unless it is completed, its parts are removed when it is dropped, or by the store after a week.
pub struct Upload {
    store: Arc<dyn Store>,
    hints: &'static Hints,
    key: Key,
    name: Key,
    bucket: Bucket,
    mark: Key,
    id: String,
    filling: Mutex<Filling>,
    shared: Arc<Shared>,
    /// Its parts stay where nobody gives them up, and are not to.
    discards: bool,
}

#[derive(Default)]
struct Filling {
    end: u64,
    part: Vec<u8>,
    index: usize,
    threads: Vec<JoinHandle<()>>,
    /// `None` once the last part is on its way.
    parts: Option<SyncSender<Part>>,
    is_completed: bool,
}

struct Part {
    index: usize,
    bytes: Vec<u8>,
}

struct Shared {
    parts: Mutex<Receiver<Part>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    done: Vec<(usize, PartId)>,
    failure: Option<io::Error>,
    /// The upload was given up, so that parts that wait need not go.
    is_over: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.key)
    }
}

impl Upload {
    pub(crate) fn begin(
        bucket: &Bucket,
        name: &Key,
        until_complete: &Key,
        lock: Option<&ObjectLock>,
    ) -> io::Result<Self> {
        let writers = bucket.writers(lock)?;
        let key = if bucket.renames() { until_complete } else { name };
        let id = bucket.begin_upload(&*writers.begins, key, until_complete)?;
        // Without room in it, so that memory is bounded by the threads: a part is given to one that waits, or kept.
        let (sender, receiver) = sync_channel(0);
        let shared = Shared { parts: Mutex::new(receiver), state: Mutex::default() };
        let filling = Filling { parts: Some(sender), ..Filling::default() };
        Ok(Self {
            store: writers.continues,
            hints: bucket.hints(),
            key: key.clone(),
            name: name.clone(),
            bucket: bucket.clone(),
            mark: until_complete.clone(),
            id,
            filling: Mutex::new(filling),
            shared: Arc::new(shared),
            discards: false,
        })
    }

    /// Begins one that is never to be completed, and of which nothing stays in the store. Nothing else may have its name.
    pub(crate) fn begin_trial(bucket: &Bucket, key: &Key) -> io::Result<Self> {
        let mut upload = Self::begin(bucket, key, key, None)?;
        upload.discards = bucket.forgets_uploads();
        Ok(upload)
    }

    /// Takes bytes that belong at `offset`, which must be where the last ones ended; returns how many of them. None are taken
    /// while all threads are busy and the part is full.
    pub fn take(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        let mut filling = lock(&self.filling);
        if offset != filling.end || offset.saturating_add(bytes.len() as u64) > UPLOAD_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut taken = 0;
        loop {
            let room = part_bytes(filling.index) - filling.part.len();
            if room == 0 && !self.hand_over(&mut filling)? {
                break;
            }
            if taken == bytes.len() {
                break;
            }
            let room = part_bytes(filling.index) - filling.part.len();
            let next = &bytes[taken..bytes.len().min(taken + room)];
            filling.part.extend_from_slice(next);
            taken += next.len();
        }
        filling.end += taken as u64;
        Ok(taken)
    }

    /// Gives a full part to a thread that waits for one. If there is none, another is started, unless there are enough.
    fn hand_over(&self, filling: &mut Filling) -> io::Result<bool> {
        let Some(parts) = &filling.parts else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let part = Part { index: filling.index, bytes: std::mem::take(&mut filling.part) };
        match parts.try_send(part) {
            Ok(()) => {
                filling.index += 1;
                Ok(true)
            }
            Err(TrySendError::Full(part) | TrySendError::Disconnected(part)) => {
                filling.part = part.bytes;
                if filling.threads.len() < PARTS_AT_ONCE {
                    filling.threads.push(self.thread()?);
                }
                Ok(false)
            }
        }
    }

    fn thread(&self) -> io::Result<JoinHandle<()>> {
        let (store, key, id) = (Arc::clone(&self.store), self.key.clone(), self.id.clone());
        let (shared, hints) = (Arc::clone(&self.shared), self.hints);
        std::thread::Builder::new()
            .name("upload".into())
            .spawn(move || put_parts(&*store, hints, (&key, &id), &shared))
    }

    /// Uploads what is left, and waits until the store has all parts.
    pub fn flush(&self) -> io::Result<()> {
        let mut filling = lock(&self.filling);
        if let Some(parts) = filling.parts.take() {
            if filling.threads.is_empty() {
                let thread = self.thread()?;
                filling.threads.push(thread);
            }
            let part = Part { index: filling.index, bytes: std::mem::take(&mut filling.part) };
            if !part.bytes.is_empty() {
                // A thread ends only after this sender is gone.
                let _ = parts.send(part);
            }
        }
        self.join(&mut filling);
        drop(filling);
        self.check()
    }

    fn join(&self, filling: &mut Filling) {
        filling.parts = None;
        for thread in filling.threads.drain(..) {
            if thread.join().is_err() {
                let lost = io::Error::other("a thread of the upload ended before its time");
                lock(&self.shared.state).failure.get_or_insert(lost);
            }
        }
    }

    /// Makes the object appear, if nothing else has its name by now. All parts must have been flushed.
    pub fn complete(&self) -> io::Result<()> {
        self.check()?;
        let mut parts = lock(&self.shared.state).done.clone();
        parts.sort_by_key(|(index, _)| *index);
        let parts = parts.into_iter().map(|(_, part)| part).collect();
        let completed = wait(self.store.complete_multipart(&self.key, &self.id, parts), self.hints);
        // The answer to an earlier request may have been lost.
        if let Err(error) = completed
            && !self.bucket.has_completed(&self.key, &self.mark)
        {
            return Err(error);
        }
        if self.bucket.renames() {
            self.bucket.rename_new(&self.key, &self.name)?;
        }
        lock(&self.filling).is_completed = true;
        Ok(())
    }

    pub fn check(&self) -> io::Result<()> {
        lock(&self.shared.state).failure.as_ref().map_or(Ok(()), |failure| Err(again(failure)))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        lock(&self.shared.state).is_over = true;
        let mut filling = std::mem::take(&mut *lock(&self.filling));
        self.join(&mut filling);
        if !filling.is_completed {
            // Already failing, or a trial: parts that stay are invisible, and go with the next backup to this name. It is not to take long.
            let _ = wait(self.bucket.store.abort_multipart(&self.key, &self.id), self.hints);
            if self.bucket.renames() {
                // It may have been completed, and not have got its name.
                let _ = self.bucket.delete(&self.key);
            }
            if self.discards {
                // Or they go after a week.
                let _ = self.bucket.discard(&self.key);
            }
        }
    }
}

/// The loop of a thread, until there are no more parts. After a failure the rest is taken and not put.
fn put_parts(store: &dyn Store, hints: &Hints, (key, id): (&Key, &String), shared: &Shared) {
    loop {
        let next = lock(&shared.parts).recv();
        let Ok(Part { index, bytes }) = next else { return };
        {
            let state = lock(&shared.state);
            if state.is_over || state.failure.is_some() {
                continue;
            }
        }
        let part = store.put_part(key, id, index, PutPayload::from(bytes));
        let put = wait_while_wanted(part, hints);
        let mut state = lock(&shared.state);
        match put {
            Ok(part) => state.done.push((index, part)),
            Err(error) => {
                state.failure.get_or_insert(error);
            }
        }
    }
}

/// The first parts have this length, and each following group of [`PARTS_OF_A_SIZE`] has so much more: a store takes 10,000
/// parts of at least 5 MiB, and nobody knows beforehand how long a stripe becomes.
const PART_BYTES: usize = 8 << 20;
const PARTS_OF_A_SIZE: usize = 500;
const PARTS_MAX: usize = 10_000;

/// The longest object that can be uploaded: 820 GiB.
const UPLOAD_BYTES_MAX: u64 = part_begin(PARTS_MAX);

/// Bytes of a part, counted from 0. Only the last one of an upload is shorter.
const fn part_bytes(index: usize) -> usize {
    PART_BYTES * (1 + index / PARTS_OF_A_SIZE)
}

const fn part_begin(index: usize) -> u64 {
    let (groups, rest) = ((index / PARTS_OF_A_SIZE) as u64, (index % PARTS_OF_A_SIZE) as u64);
    let of_groups = (PARTS_OF_A_SIZE as u64) * (groups * (groups + 1) / 2);
    (PART_BYTES as u64) * (of_groups + rest * (groups + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store takes 10,000 parts of 5 MiB and more.
    #[test]
    fn parts_grow_and_follow_one_another_up_to_the_longest_upload() {
        let mut at = 0;
        for index in 0..PARTS_MAX {
            assert_eq!(part_begin(index), at, "{index}");
            at += part_bytes(index) as u64;
        }
        assert_eq!(at, UPLOAD_BYTES_MAX);
        assert_eq!(at >> 30, 820);
        assert!(part_bytes(0) >= 5 << 20);
    }
}
