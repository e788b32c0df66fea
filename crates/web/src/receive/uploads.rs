//! Uploads in parts that are on their way.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use iostall_engine::files::write_all_at;
use iostall_engine::random_bytes;
use iostall_measure::clock::utc_now;
use iostall_measure::{ByteCount, Clock as _, MonotonicClock};
use iostall_remote::{PARTS_MAX, part_begin, part_bytes};

use super::keys::hex;
use super::names::Name;
use super::notes::Note;
use super::place::{ID_DIGITS, Place};
use crate::tls_server::Refusal;

/// Of one key at the same time: as many as a backup has stripes, twice.
const UPLOADS_MAX: usize = 128;
/// An upload that was silent for so long is given up, nanoseconds.
const SILENT_NS: u64 = 24 * 3600 * 1_000_000_000;
/// One to a name that is being uploaded again is given up if it was silent for so long: its client was killed.
const REPLACED_NS: u64 = 60 * 1_000_000_000;

/// All of a receiver.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    all: Mutex<HashMap<String, Arc<Upload>>>,
    clock: MonotonicClock,
}

/// A file on its way.
#[derive(Debug)]
pub(super) struct Upload {
    id: String,
    key: String,
    name: Name,
    place: Arc<Place>,
    /// Locked for reading while a piece of a part is written, so that nothing is written to what is complete.
    state: RwLock<State>,
    durable: Mutex<Durable>,
    touched_ns: AtomicU64,
}

#[derive(Debug)]
enum State {
    Open(File),
    /// With its length.
    Completed(u64),
    GivenUp,
}

/// The parts of an upload that are durable.
#[derive(Debug)]
struct Durable {
    /// Bytes of each.
    parts: BTreeMap<usize, u64>,
    /// Says so to the next receiver.
    note: Note,
}

/// A part that is being written.
pub(super) struct PartWriter<'u> {
    upload: &'u Upload,
    index: usize,
    written: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Uploads {
    /// Begins an upload by the key of this name, and returns its id.
    pub(super) fn begin(&self, key: &str, place: &Arc<Place>, name: &Name) -> Result<String, Refusal> {
        let id = hex(&random_bytes::<{ ID_DIGITS / 2 }>().map_err(Refusal::from)?);
        let now_ns = self.clock.now_ns();
        let silent_ns = |upload: &Upload| now_ns.saturating_sub(upload.touched_ns.load(Ordering::Relaxed));
        let mut all = lock(&self.all);
        all.retain(|_, upload| {
            let is_same = upload.key == key && upload.name == *name;
            let is_lost = silent_ns(upload) > if is_same { REPLACED_NS } else { SILENT_NS };
            if is_lost {
                upload.give_up();
            }
            !is_lost
        });
        if all.values().filter(|upload| upload.key == key && upload.is_open()).count() >= UPLOADS_MAX {
            return Err(Refusal::busy());
        }
        let file = place.begin(&id, name).map_err(Refusal::from)?;
        let noted = place.begin_note(&id).and_then(|note| Note::begin(note, key, name));
        let note = noted.inspect_err(|_| place.give_up(&id)).map_err(Refusal::from)?;
        let upload = Upload {
            id: id.clone(),
            key: key.to_owned(),
            name: name.clone(),
            place: Arc::clone(place),
            state: RwLock::new(State::Open(file)),
            durable: Mutex::new(Durable { parts: BTreeMap::new(), note }),
            touched_ns: AtomicU64::new(now_ns),
        };
        all.insert(id.clone(), Arc::new(upload));
        Ok(id)
    }

    /// Goes on with what an earlier receiver left in a place, and removes what was silent for too long or cannot be understood.
    pub(super) fn go_on(&self, place: &Arc<Place>) -> io::Result<()> {
        let now_ns = utc_now().as_nanosecond();
        for left in place.unfinished()? {
            let is_lost = now_ns - left.noted_ns > i128::from(SILENT_NS);
            let Some((note, noted)) = Note::read(left.note)?.filter(|_| !is_lost) else {
                place.give_up(&left.id);
                continue;
            };
            for (index, bytes) in &noted.parts {
                let taken = place.take_room((&left.id, *index), *bytes, None);
                taken.map_err(|refusal| io::Error::other(refusal.message))?;
            }
            let upload = Upload {
                id: left.id.clone(),
                key: noted.key,
                name: noted.name,
                place: Arc::clone(place),
                state: RwLock::new(State::Open(left.file)),
                durable: Mutex::new(Durable { parts: noted.parts, note }),
                touched_ns: AtomicU64::new(self.clock.now_ns()),
            };
            lock(&self.all).insert(left.id, Arc::new(upload));
        }
        Ok(())
    }

    /// The upload of this id, if it is by this key and to this name.
    pub(super) fn find(&self, id: &str, key: &str, name: &Name) -> Result<Arc<Upload>, Refusal> {
        let upload = lock(&self.all).get(id).map(Arc::clone);
        let upload = upload.filter(|upload| upload.key == key && upload.name == *name);
        let upload = upload.ok_or_else(Refusal::lost_upload)?;
        upload.touched_ns.store(self.clock.now_ns(), Ordering::Relaxed);
        Ok(upload)
    }
}

impl Upload {
    fn is_open(&self) -> bool {
        // One that is being completed takes its time, and is open until then.
        self.state.try_read().map_or(true, |state| matches!(*state, State::Open(_)))
    }

    /// Begins to write the part of this number, counted from 1, with so many bytes, unless there would be more than `quota` then.
    pub(super) fn part(
        &self,
        number: usize,
        bytes: u64,
        quota: Option<ByteCount>,
    ) -> Result<PartWriter<'_>, Refusal> {
        let index =
            number.checked_sub(1).filter(|index| *index < PARTS_MAX).ok_or_else(Refusal::not_understood)?;
        if bytes > part_bytes(index) as u64 {
            return Err(Refusal::new(413, "EntityTooLarge", "the part is longer than parts are"));
        }
        self.place.take_room((&self.id, index), bytes, quota)?;
        Ok(PartWriter { upload: self, index, written: 0 })
    }

    /// Makes the file appear, if it consists of so many parts, and returns its length, bytes. Asked again, it says the same.
    pub(super) fn complete(&self, parts: usize) -> Result<u64, Refusal> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let file = match &*state {
            State::Completed(bytes) => return Ok(*bytes),
            State::GivenUp => return Err(Refusal::lost_upload()),
            State::Open(file) => file,
        };
        let bytes = length_of(&lock(&self.durable).parts, parts)
            .ok_or_else(|| Refusal::new(400, "InvalidPart", "a part of the upload is missing"))?;
        // A part may have been sent twice, and the first time have been longer.
        let completed = file.set_len(bytes).and_then(|()| self.place.complete(&self.id, file, &self.name));
        completed.map_err(Refusal::from)?;
        *state = State::Completed(bytes);
        Ok(bytes)
    }

    /// Removes it unless it is complete.
    pub(super) fn give_up(&self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Open(_)) {
            *state = State::GivenUp;
            self.place.give_up(&self.id);
        }
    }
}

/// The length of a file of these parts, if there are so many of them and all but the last one are full.
fn length_of(parts: &BTreeMap<usize, u64>, count: usize) -> Option<u64> {
    let is_whole = |(at, (index, bytes)): (usize, (&usize, &u64))| {
        at == *index && (at + 1 == parts.len() || *bytes == part_bytes(*index) as u64)
    };
    let all = parts.len() == count && parts.iter().enumerate().all(is_whole);
    let (index, bytes) = parts.last_key_value()?;
    all.then(|| part_begin(*index) + bytes)
}

impl PartWriter<'_> {
    /// Writes the next bytes of the part.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let at = part_begin(self.index) + self.written;
        self.on_file(|file| write_all_at(file, bytes, at))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Makes the part durable: the client forgets it when it hears that it is there.
    pub(super) fn finish(self) -> Result<(), Refusal> {
        self.on_file(File::sync_data)?;
        let mut durable = lock(&self.upload.durable);
        durable.note.part(self.index, self.written).map_err(Refusal::from)?;
        durable.parts.insert(self.index, self.written);
        Ok(())
    }

    fn on_file(&self, act: impl FnOnce(&File) -> io::Result<()>) -> Result<(), Refusal> {
        match &*self.upload.state.read().unwrap_or_else(PoisonError::into_inner) {
            State::Open(file) => act(file).map_err(Refusal::from),
            State::Completed(_) | State::GivenUp => Err(Refusal::lost_upload()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn put(upload: &Upload, number: usize, bytes: &[u8]) -> Result<(), Refusal> {
        let mut part = upload.part(number, bytes.len() as u64, None)?;
        part.write(bytes)?;
        part.finish()
    }

    #[test]
    fn parts_come_in_any_order_and_what_is_complete_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let place = Arc::new(Place::open(directory.path(), &name("db1")).unwrap());
        let uploads = Uploads::default();
        let id = uploads.begin("db1", &place, &name("db1/a")).unwrap();
        assert_eq!(uploads.find(&id, "db2", &name("db1/a")).unwrap_err(), Refusal::lost_upload());
        assert_eq!(uploads.find(&id, "db1", &name("db1/b")).unwrap_err(), Refusal::lost_upload());
        let upload = uploads.find(&id, "db1", &name("db1/a")).unwrap();
        let full = vec![1; part_bytes(0)];
        put(&upload, 2, b"longer end").unwrap();
        assert_eq!(upload.complete(2).unwrap_err().status, 400);
        put(&upload, 1, &full[1..]).unwrap();
        assert_eq!(upload.complete(2).unwrap_err().status, 400, "a part that is not the last is full");
        put(&upload, 1, &full).unwrap();
        put(&upload, 2, b"end").unwrap();
        assert_eq!(upload.complete(1).unwrap_err().status, 400);
        // A client that goes on writing after it said that all is there.
        let mut late = upload.part(1, 3, None).unwrap();
        late.write(&full[..2]).unwrap();
        assert!(upload.part(1, full.len() as u64 + 1, None).is_err());
        assert!(upload.part(0, 1, None).is_err() && upload.part(PARTS_MAX + 1, 1, None).is_err());
        let length = full.len() as u64 + 3;
        assert_eq!(upload.complete(2), Ok(length));
        assert_eq!(upload.complete(2), Ok(length), "an answer may be lost");
        assert_eq!(late.write(b"x").unwrap_err(), Refusal::lost_upload());
        upload.give_up();
        let found = std::fs::read(directory.path().join("db1/a")).unwrap();
        assert_eq!((found.len() as u64, &found[full.len()..]), (length, &b"end"[..]));
        assert_eq!(uploads.begin("db1", &place, &name("db1/a")).unwrap_err(), Refusal::exists());
    }

    #[test]
    fn what_is_given_up_leaves_nothing_and_a_key_has_so_many_uploads() {
        let directory = tempfile::tempdir().unwrap();
        let place = Arc::new(Place::open(directory.path(), &name("db1")).unwrap());
        let uploads = Uploads::default();
        let begin = |number: usize| uploads.begin("db1", &place, &name(&format!("db1/{number}")));
        let ids: Vec<String> = (0..UPLOADS_MAX).map(|number| begin(number).unwrap()).collect();
        assert_eq!(begin(UPLOADS_MAX).unwrap_err(), Refusal::busy());
        uploads.find(&ids[7], "db1", &name("db1/7")).unwrap().give_up();
        begin(UPLOADS_MAX).unwrap();
        let left = || std::fs::read_dir(directory.path().join("db1/.iostall-receive")).unwrap().count();
        assert_eq!(left(), 2 * UPLOADS_MAX + 1, "each with its note");
        for (number, id) in ids.iter().enumerate() {
            uploads.find(id, "db1", &name(&format!("db1/{number}"))).unwrap().give_up();
        }
        assert_eq!(left(), 3, "the lock, and the upload after them");
    }

    /// The story: the receiver's host was updated in the night, and every backup that was on its way began again.
    #[test]
    fn an_upload_goes_on_after_the_receiver_was_started_again() {
        let directory = tempfile::tempdir().unwrap();
        let full = vec![1; part_bytes(0)];
        let open = || {
            let place = Arc::new(Place::open(directory.path(), &name("db1")).unwrap());
            let uploads = Uploads::default();
            uploads.go_on(&place).unwrap();
            (place, uploads)
        };
        let (place, uploads) = open();
        let id = uploads.begin("db1", &place, &name("db1/a")).unwrap();
        let upload = uploads.find(&id, "db1", &name("db1/a")).unwrap();
        put(&upload, 1, &full).unwrap();
        let mut cut_off = upload.part(2, 3, None).unwrap();
        cut_off.write(b"en").unwrap();
        drop((place, uploads, upload));
        let (place, uploads) = open();
        assert_eq!(uploads.find(&id, "db2", &name("db1/a")).unwrap_err(), Refusal::lost_upload());
        let upload = uploads.find(&id, "db1", &name("db1/a")).unwrap();
        assert_eq!(upload.complete(2).unwrap_err().status, 400, "what was cut off is not there");
        put(&upload, 2, b"end").unwrap();
        drop((place, uploads, upload));
        let (_place, uploads) = open();
        let length = full.len() as u64 + 3;
        assert_eq!(uploads.find(&id, "db1", &name("db1/a")).unwrap().complete(2), Ok(length));
        let found = std::fs::read(directory.path().join("db1/a")).unwrap();
        assert!(found == [&full[..], b"end"].concat());
        let left = std::fs::read_dir(directory.path().join("db1/.iostall-receive")).unwrap();
        assert_eq!(left.count(), 1, "the lock");
    }
}
