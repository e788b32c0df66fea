//! What a backup is compared with: the pieces of an earlier set, by the names of their files.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use iostall_engine::files::path_bytes;
use iostall_model::backup::{BaseRecord, StoredName};

use super::error::CreateError;
use crate::backup::format::{PieceRecord, set_in_head};
use crate::backup::read::{Damage, HEAD_BYTES, OpenSet, ReadError, pieces, read_start};

/// Sets that a restore reads at most. Each increment on an increment makes the chain longer by one.
const CHAIN_MAX: usize = 1000;

#[derive(Debug)]
pub struct Base {
    /// It, and what it is based on itself.
    pub(super) records: Vec<BaseRecord>,
    /// As the increment counts its sets, by file and offset.
    pieces: Vec<PieceRecord>,
    files: HashMap<StoredName, u64>,
    pub(super) frame_bytes: u32,
    pub(super) is_encrypted: bool,
    path: PathBuf,
}

impl Base {
    pub fn of(set: &OpenSet) -> Result<Self, CreateError> {
        let is_of_content = |damage: &&Damage| damage.stripe.is_some();
        let damage = set.damage.iter().filter(is_of_content).chain(&set.chain.damage);
        let damage: Vec<_> = damage.cloned().collect();
        if !damage.is_empty() {
            return Err(CreateError::Base(ReadError::Damaged(damage)));
        }
        let manifest = &set.manifest;
        let mut pieces = pieces(set).map_err(CreateError::Base)?;
        if pieces.is_empty() && manifest.files.iter().any(|file| file.data_bytes > 0) {
            return Err(CreateError::NoDigests { path: set.manifest_path.clone() });
        }
        if manifest.bases.len() >= CHAIN_MAX {
            return Err(CreateError::LongChain { path: set.manifest_path.clone(), sets: CHAIN_MAX });
        }
        for piece in &mut pieces {
            piece.set += 1;
        }
        let place = std::path::absolute(&set.manifest_path).unwrap_or_else(|_| set.manifest_path.clone());
        let place = if iostall_remote::is_object(&set.manifest_path) { &set.manifest_path } else { &place };
        let own = BaseRecord {
            set: manifest.set,
            started_utc: manifest.started_utc,
            manifest: StoredName(path_bytes(place).to_vec()),
            end_digests: manifest.stripes.iter().map(|stripe| stripe.end_digest).collect(),
        };
        Ok(Self {
            records: std::iter::once(own).chain(manifest.bases.iter().cloned()).collect(),
            pieces,
            files: manifest.files.iter().map(|file| (file.name.clone(), file.number)).collect(),
            frame_bytes: manifest.settings.frame_bytes,
            is_encrypted: manifest.settings.encrypted,
            path: set.manifest_path.clone(),
        })
    }

    /// The same for an increment that the server makes: what did not change is not sent, so there is nothing to compare.
    pub fn without_content(&self) -> Self {
        Self {
            records: self.records.clone(),
            pieces: Vec::new(),
            files: HashMap::new(),
            frame_bytes: self.frame_bytes,
            is_encrypted: self.is_encrypted,
            path: self.path.clone(),
        }
    }

    /// Whether the set is still where it was: while a backup is made, somebody may delete what it is compared with.
    pub(super) fn check_is_there(&self) -> Result<(), CreateError> {
        let is_there = read_start(&self.path, HEAD_BYTES).is_ok_and(|head| {
            set_in_head(&head).is_some_and(|set| self.records.iter().any(|record| record.set == set))
        });
        if is_there { Ok(()) } else { Err(CreateError::BaseGone { path: self.path.clone() }) }
    }

    fn of_file(&self, name: &StoredName) -> Range<usize> {
        let Some(number) = self.files.get(name) else { return 0..0 };
        let at = |most: u64| self.pieces.partition_point(|piece| piece.file < most);
        at(*number)..at(number.saturating_add(1))
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    base: Option<Arc<Base>>,
    pieces: Range<usize>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// What is as it was, as pieces of this file.
    pub(super) same: Vec<PieceRecord>,
    /// What must be stored, with its digest: from the first to the last byte that is not known to be the same.
    pub(super) own: Option<(Range<usize>, [u8; 32])>,
}

impl Before {
    pub(super) fn of(base: Option<&Arc<Base>>, name: &StoredName) -> Self {
        let Some(base) = base else { return Self::default() };
        Self { pieces: base.of_file(name), base: Some(Arc::clone(base)) }
    }

    fn within(&self, range: &Range<u64>) -> &[PieceRecord] {
        let Some(base) = &self.base else { return &[] };
        let all = &base.pieces[self.pieces.clone()];
        let begin = all.partition_point(|piece| piece.offset < range.start);
        let rest = &all[begin..];
        let end = |piece: &PieceRecord| piece.offset + u64::from(piece.length);
        &rest[..rest.partition_point(|piece| end(piece) <= range.end)]
    }

    /// Compares `plain`, which is at `offset` of the file `number`, with what the base has there. One piece at the front that
    /// differs, and one at the end, decide: what is between them is stored, too, so that a range never becomes more than one
    /// frame.
    pub(super) fn compare(&self, number: u64, offset: u64, plain: &[u8]) -> Compared {
        let range = offset..offset + plain.len() as u64;
        let before = self.within(&range);
        let place = |piece: &PieceRecord| {
            let start = usize::try_from(piece.offset - offset).unwrap_or(usize::MAX);
            start..start.saturating_add(piece.length as usize)
        };
        let mut last: Option<(Range<usize>, [u8; 32])> = None;
        let mut is_same = |piece: &PieceRecord| {
            let at = place(piece);
            let digest = *blake3::hash(&plain[at.clone()]).as_bytes();
            last = Some((at, digest));
            digest == piece.digest
        };
        let (mut first, mut left) = (0, before);
        while let Some((piece, rest)) = left.split_first() {
            if place(piece).start != first || !is_same(piece) {
                break;
            }
            first = place(piece).end;
            left = rest;
        }
        let front = before.len() - left.len();
        let mut end = plain.len();
        while let Some((piece, rest)) = left.split_last() {
            if place(piece).end != end || !is_same(piece) {
                break;
            }
            end = place(piece).start;
            left = rest;
        }
        let same = before[..front].iter().chain(&before[front + left.len()..]);
        let same = same.map(|piece| PieceRecord { file: number, ..*piece }).collect();
        let own = (first < end).then(|| {
            let known = last.filter(|(at, _)| *at == (first..end)).map(|(_, digest)| digest);
            let digest = known.unwrap_or_else(|| *blake3::hash(&plain[first..end]).as_bytes());
            (first..end, digest)
        });
        Compared { same, own }
    }

    /// The same for what is stored as a whole or not at all, such as a small file.
    pub(super) fn compare_whole(&self, number: u64, offset: u64, plain: &[u8]) -> Compared {
        match self.compare(number, offset, plain) {
            Compared { own: Some((range, _)), .. } if range != (0..plain.len()) => {
                let digest = *blake3::hash(plain).as_bytes();
                Compared { same: Vec::new(), own: Some((0..plain.len(), digest)) }
            }
            compared => compared,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A base with a file `f` in pieces of these offsets and contents.
    fn before(pieces: &[(u64, &[u8])]) -> Before {
        let piece = |(sequence, (offset, content)): (u64, &(u64, &[u8]))| PieceRecord {
            file: 7,
            offset: *offset,
            length: u32::try_from(content.len()).unwrap(),
            set: 1,
            sequence,
            held_file: 7,
            digest: *blake3::hash(content).as_bytes(),
        };
        let base = Base {
            records: Vec::new(),
            pieces: (0..).zip(pieces).map(piece).collect(),
            files: HashMap::from([("f".into(), 7)]),
            frame_bytes: 1 << 16,
            is_encrypted: false,
            path: PathBuf::new(),
        };
        let base = Arc::new(base);
        assert!(Before::of(Some(&base), &"g".into()).within(&(0..100)).is_empty());
        Before::of(Some(&base), &"f".into())
    }

    /// What is the same, as offsets, and what is stored.
    fn compared(before: &Before, offset: u64, plain: &[u8]) -> (Vec<u64>, Option<Range<usize>>) {
        let Compared { same, own } = before.compare(3, offset, plain);
        assert!(same.iter().all(|piece| (piece.file, piece.held_file, piece.set) == (3, 7, 1)));
        if let Some((range, digest)) = &own {
            assert_eq!(*digest, *blake3::hash(&plain[range.clone()]).as_bytes());
        }
        (same.iter().map(|piece| piece.offset).collect(), own.map(|(range, _)| range))
    }

    #[test]
    fn only_what_changed_is_stored_in_one_piece() {
        let before = before(&[(0, b"aaaa"), (4, b"bbbb"), (8, b"cc")]);
        assert_eq!(compared(&before, 0, b"aaaabbbbcc"), (vec![0, 4, 8], None));
        assert_eq!(compared(&before, 0, b"aaaaBbbbcc"), (vec![0, 8], Some(4..8)));
        assert_eq!(compared(&before, 0, b"Aaaabbbbcc"), (vec![4, 8], Some(0..4)));
        assert_eq!(compared(&before, 0, b"AaaabbbbcC"), (vec![], Some(0..10)), "one frame");
        assert_eq!(compared(&before, 0, b"aaaabbbbccdd"), (vec![0, 4, 8], Some(10..12)), "it grew");
        assert_eq!(compared(&before, 0, b"aaaabbb"), (vec![0], Some(4..7)), "it shrank");
        assert_eq!(compared(&before, 4, b"bbbbcc"), (vec![4, 8], None));
        assert_eq!(compared(&before, 2, b"aabbbbcc"), (vec![4, 8], Some(0..2)));
        assert_eq!(compared(&before, 5, b"bbb"), (vec![], Some(0..3)), "pieces are not cut");
        assert_eq!(compared(&Before::default(), 0, b"aaaa"), (vec![], Some(0..4)));
    }

    #[test]
    fn a_hole_that_was_filled_is_stored() {
        let before = before(&[(0, b"aaaa"), (8, b"cccc")]);
        assert_eq!(compared(&before, 0, b"aaaa\0\0\0\0cccc"), (vec![0, 8], Some(4..8)));
    }

    #[test]
    fn a_small_file_is_stored_as_a_whole() {
        let before = before(&[(0, b"aaaa")]);
        assert_eq!(before.compare_whole(3, 0, b"aaaa").own, None);
        assert_eq!(before.compare_whole(3, 0, b"aaaab").own.unwrap().0, 0..5);
        assert!(before.compare_whole(3, 0, b"aaaab").same.is_empty());
    }
}
