//! A note of uploads that are on their way. A store shows an upload that was killed to nobody who does not ask for it, takes money
//! for it, and does not say whose it is: the note does.

use std::io;
use std::path::{Path, PathBuf};

use iostall_engine::files::{path_bytes, path_from_bytes};
use iostall_model::backup::SetId;
use iostall_remote::Object;
use serde::{Deserialize, Serialize};

const MARK: &[u8] = b"IOSUPLDS";
/// More than the addresses of all stripes that a set can have.
pub(super) const NOTE_BYTES_MAX: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UploadNote {
    pub(super) set: SetId,
    /// Addresses of the objects that they become.
    pub(super) objects: Vec<PathBuf>,
}

/// What a stripe is called, in a store that renames it when it is complete, until then. A note has a name like it.
pub(super) fn unfinished_path(target: &Path, set: SetId) -> PathBuf {
    let name = path_bytes(Path::new(target.file_name().unwrap_or_default()));
    let end = format!(".{set}.upload.partial");
    target.with_file_name(path_from_bytes([&b"."[..], name, end.as_bytes()].concat()))
}

/// Whether an upload of this name is one of those that become these objects of a set.
pub(super) fn is_named(set: SetId, objects: &[PathBuf], upload: &Path) -> bool {
    objects.iter().any(|object| object == upload || unfinished_path(object, set) == upload)
}

impl UploadNote {
    fn encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = MARK.to_vec();
        serde_json::to_writer(&mut bytes, self).map_err(io::Error::from)?;
        Ok(bytes)
    }

    pub(super) fn is_begun_by(head: &[u8]) -> bool {
        head.starts_with(MARK)
    }

    /// `None` if it is none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes.strip_prefix(MARK)?).ok()
    }
}

/// A note in a store, which goes when it is dropped: then nothing is on its way any more.
pub(super) struct NoteObject {
    object: Object,
}

impl NoteObject {
    /// Puts a note at `path`. It must be there before the first upload begins.
    pub(super) fn put(path: &Path, note: &UploadNote) -> io::Result<Self> {
        let object = Object::at(path)?;
        object.put_new(&note.encode()?, None)?;
        Ok(Self { object })
    }
}

impl Drop for NoteObject {
    fn drop(&mut self) {
        // Where this account may delete nothing it stays, and says nothing of a set that has a manifest.
        let _ = self.object.erase();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_reads_back_and_nothing_else_is_one() {
        let note = UploadNote { set: SetId([7; 16]), objects: vec!["s3://b/a.iob".into()] };
        let bytes = note.encode().unwrap();
        assert!(UploadNote::is_begun_by(&bytes));
        assert_eq!(UploadNote::decode(&bytes), Some(note));
        assert_eq!(UploadNote::decode(&bytes[..bytes.len() - 1]), None);
        assert!(!UploadNote::is_begun_by(b"IOSTRIPE"));
    }
}
