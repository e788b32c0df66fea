//! Room for stripes, reserved a little ahead of their end: writes that extend a file wait for each other, and the file gets many
//! pieces.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use iostall_engine::files;

/// A stripe that has less than this is soon done.
const BEGIN_BYTES: u64 = 16 << 20;
const STEP_BYTES_MAX: u64 = 256 << 20;
/// Where there is less room than so many steps for each stripe, what is reserved for one may be missing for another.
const FREE_STEPS: u64 = 4;

pub(super) struct RoomFile {
    pub(super) file: File,
    pub(super) directory: PathBuf,
}

/// Reserves room on a thread of its own: a file system lets a reservation wait for all writes to the file.
pub(super) struct RoomAhead {
    asks: Sender<Ask>,
    thread: Option<JoinHandle<()>>,
}

enum Ask {
    Reserve { stripe: usize, range: Range<u64> },
    End,
}

pub(super) struct RoomOfStripe {
    stripe: usize,
    asks: Sender<Ask>,
    reserved: u64,
}

impl RoomAhead {
    /// For stripes whose writes bypass the page cache; others get their room from the page cache. `None` if there is no
    /// thread: then nothing is reserved.
    pub(super) fn start(stripes: Vec<Option<RoomFile>>) -> Option<Self> {
        if stripes.iter().all(Option::is_none) {
            return None;
        }
        let (asks, asked) = channel();
        let work = move || {
            let mut stripes = stripes;
            let count = stripes.iter().flatten().count() as u64;
            while let Ok(Ask::Reserve { stripe, range }) = asked.recv() {
                let Some(room) = stripes.get_mut(stripe) else { continue };
                let reserved = room.as_ref().is_some_and(|room| room.reserve(&range, count));
                if !reserved {
                    *room = None;
                }
            }
        };
        let thread = std::thread::Builder::new().name("room".to_owned()).spawn(work).ok()?;
        Some(Self { asks, thread: Some(thread) })
    }

    pub(super) fn of_stripe(&self, stripe: usize) -> RoomOfStripe {
        RoomOfStripe { stripe, asks: self.asks.clone(), reserved: 0 }
    }
}

impl Drop for RoomAhead {
    fn drop(&mut self) {
        // The thread may be gone already, and then nothing is reserved any more either.
        let _ = self.asks.send(Ask::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl RoomFile {
    /// Whether it could. Only a help: a write without it succeeds too, or says why not.
    fn reserve(&self, range: &Range<u64>, stripes: u64) -> bool {
        let wanted = (range.end - range.start).saturating_mul(FREE_STEPS).saturating_mul(stripes);
        files::free_bytes(&self.directory).is_ok_and(|free| free > wanted)
            && files::preallocate(&self.file, range).unwrap_or(false)
    }
}

impl RoomOfStripe {
    pub(super) fn ends_at(&mut self, end: u64) {
        if let Some(range) = wanted(end, self.reserved) {
            self.reserved = range.end;
            let _ = self.asks.send(Ask::Reserve { stripe: self.stripe, range });
        }
    }
}

/// What to reserve next for a stripe that ends at `end`, if it is time.
fn wanted(end: u64, reserved: u64) -> Option<Range<u64>> {
    let step = end.min(STEP_BYTES_MAX);
    let from = end.max(reserved);
    (end >= BEGIN_BYTES && from - end < step / 2).then(|| from..from + step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_reserved_in_steps_that_grow_with_the_stripe() {
        assert_eq!(wanted(BEGIN_BYTES - 4096, 0), None, "a small backup needs none");
        assert_eq!(wanted(BEGIN_BYTES, 0), Some(BEGIN_BYTES..2 * BEGIN_BYTES));
        assert_eq!(wanted(BEGIN_BYTES + 4096, 2 * BEGIN_BYTES), None);
        let most = 10 * STEP_BYTES_MAX;
        assert_eq!(wanted(most, most + 4096), Some(most + 4096..most + 4096 + STEP_BYTES_MAX));
        assert_eq!(wanted(most, most + STEP_BYTES_MAX), None);
    }

    #[test]
    fn what_is_reserved_is_there_when_the_thread_has_ended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stripe");
        let file = File::create(&path).unwrap();
        let stripe = RoomFile { file: file.try_clone().unwrap(), directory: directory.path().to_owned() };
        let room = RoomAhead::start(vec![None, Some(stripe)]).unwrap();
        let mut of_none = room.of_stripe(0);
        of_none.ends_at(BEGIN_BYTES);
        let mut of_stripe = room.of_stripe(1);
        of_stripe.ends_at(BEGIN_BYTES);
        of_stripe.ends_at(BEGIN_BYTES + 4096);
        drop(room);
        let reserved = file.metadata().unwrap().len();
        assert!(
            reserved == 2 * BEGIN_BYTES || reserved == 0,
            "{reserved}: all of it, or where there is little room nothing"
        );
        assert!(RoomAhead::start(vec![None]).is_none());
    }
}
