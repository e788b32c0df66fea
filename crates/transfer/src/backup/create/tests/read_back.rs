//! Reads a set without the reading side's own code paths: every byte of every stripe must be accounted for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use iostall_model::backup::{Digest32, FileEntry, FileKind, Manifest, StoredName};

use crate::backup::codec::{Decoder, SetKeys};
use crate::backup::format::{
    Bundle, End, FRAME_HEADER_BYTES, FrameHeader, FrameKind, IndexRecord, PieceRecord, StripeHeader,
    entry_lines, frame_block_bytes, index_records, pieces_of,
};
use crate::backup::manifest_file;

/// A set in memory.
pub(super) struct ReadBack {
    pub(super) manifest: Manifest,
    /// Content by number of the file, holes as zeros.
    contents: BTreeMap<u64, Vec<u8>>,
    /// Frames of each kind.
    pub(super) frames: BTreeMap<u8, u64>,
}

impl ReadBack {
    /// Of the set whose manifest is at `manifest` and whose stripes are `stripes`.
    pub(super) fn of(manifest: &Path, stripes: &[PathBuf]) -> Self {
        Self::with_keys(
            manifest_file::decode(std::fs::read(manifest).unwrap(), None).unwrap().manifest,
            None,
            stripes,
        )
    }

    pub(super) fn with_keys(manifest: Manifest, keys: Option<&SetKeys>, stripes: &[PathBuf]) -> Self {
        let mut read = Self { manifest, contents: BTreeMap::new(), frames: BTreeMap::new() };
        let (mut entries, mut sequences): (Vec<FileEntry>, Vec<u64>) = (Vec::new(), Vec::new());
        let mut data_bytes: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut there, mut digests) = (Vec::new(), Vec::new());
        for (number, path) in (0..).zip(stripes) {
            let bytes = std::fs::read(path).unwrap();
            let stripe = StripeBytes { number, bytes: &bytes, keys };
            for (header, plain) in stripe.frames(&read.manifest) {
                *read.frames.entry(header.kind.code()).or_default() += 1;
                sequences.push(header.sequence);
                match header.kind {
                    FrameKind::Data => {
                        there.push(piece(&header, header.file, header.offset, &plain));
                        read.put(&mut data_bytes, header.file, header.offset, &plain);
                    }
                    FrameKind::Bundle => {
                        for (piece, bytes) in Bundle::decode(&plain).unwrap().pieces() {
                            there.push(self::piece(&header, piece.file, piece.offset, bytes));
                            read.put(&mut data_bytes, piece.file, piece.offset, bytes);
                        }
                    }
                    FrameKind::Entries => {
                        entries.extend(entry_lines::<FileEntry>(&plain).map(Result::unwrap));
                    }
                    FrameKind::Digests => digests.extend(pieces_of(&plain).unwrap()),
                    FrameKind::Bases => panic!("this is no increment"),
                    FrameKind::Index | FrameKind::End => {}
                }
            }
        }
        there.sort_unstable();
        digests.sort_unstable();
        assert!(there == digests, "the digests are not those of the frames");
        let count = sequences.len();
        sequences.sort_unstable();
        sequences.dedup();
        assert_eq!(sequences.len(), count, "two frames have one sequence number");
        entries.sort_by_key(|entry| entry.number);
        assert_eq!(entries, read.manifest.files, "the entries in the stripes are those of the manifest");
        for entry in &read.manifest.files {
            let found = data_bytes.get(&entry.number).copied().unwrap_or(0);
            assert_eq!(found, entry.data_bytes, "{}", entry.name);
            let content = read.contents.entry(entry.number).or_default();
            assert!(content.len() as u64 <= entry.size_bytes, "{}", entry.name);
            content.resize(usize::try_from(entry.size_bytes).unwrap(), 0);
        }
        read
    }

    fn put(&mut self, data_bytes: &mut BTreeMap<u64, u64>, file: u64, offset: u64, bytes: &[u8]) {
        let content = self.contents.entry(file).or_default();
        let at = usize::try_from(offset).unwrap();
        if content.len() < at + bytes.len() {
            content.resize(at + bytes.len(), 0);
        }
        content[at..at + bytes.len()].copy_from_slice(bytes);
        *data_bytes.entry(file).or_default() += bytes.len() as u64;
    }

    pub(super) fn entry(&self, name: &[u8]) -> Option<&FileEntry> {
        self.manifest.files.iter().find(|entry| entry.name.as_bytes() == name)
    }

    /// The content of a file by name.
    pub(super) fn content(&self, name: &str) -> &[u8] {
        &self.contents[&self.entry(name.as_bytes()).unwrap_or_else(|| panic!("no {name}")).number]
    }

    /// Compares with the tree that was backed up.
    pub(super) fn assert_is(&self, root: &Path) {
        for entry in &self.manifest.files {
            let path = root.join(iostall_engine::files::path_from_bytes(entry.name.0.clone()));
            let there = std::fs::symlink_metadata(&path).unwrap();
            match &entry.kind {
                FileKind::Directory => assert!(there.is_dir()),
                FileKind::Symlink { to } => {
                    let found = std::fs::read_link(&path).unwrap();
                    assert_eq!(&StoredName(iostall_engine::files::path_bytes(&found).to_vec()), to);
                }
                FileKind::HardLink { to } => {
                    let first = root.join(to.to_string());
                    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(first).unwrap());
                }
                _ => {
                    let same = std::fs::read(&path).unwrap() == self.contents[&entry.number];
                    assert!(same, "{} differs", entry.name);
                }
            }
        }
    }
}

struct StripeBytes<'a> {
    number: u16,
    bytes: &'a [u8],
    keys: Option<&'a SetKeys>,
}

impl StripeBytes<'_> {
    /// Header and plain bytes of each frame; checks everything that a stripe says of itself.
    fn frames(&self, manifest: &Manifest) -> Vec<(FrameHeader, Vec<u8>)> {
        let header = StripeHeader::decode(self.bytes).unwrap();
        assert_eq!((header.set, header.stripe), (manifest.set, self.number));
        assert_eq!(header.stripes, manifest.settings.stripes);
        let mut decoder = Decoder::new(manifest.set, self.keys).unwrap();
        let (mut frames, mut index, mut listed) = (Vec::new(), Vec::new(), Vec::new());
        let (mut at, mut index_at, mut end) = (header.bytes(), None, None);
        let mut headers = blake3::Hasher::new();
        let mut source_bytes = 0;
        while at < self.bytes.len() as u64 {
            assert_eq!(end, None, "something follows the end");
            let begin = usize::try_from(at).unwrap();
            let frame_header = FrameHeader::decode(&self.bytes[begin..]).unwrap();
            let whole = frame_block_bytes(frame_header.stored_length, header.block_bytes);
            let frame = &self.bytes[begin..begin + usize::try_from(whole).unwrap()];
            let mut plain = vec![0; header.frame_bytes as usize];
            let (_, content) = decoder.decode(&mut frame.to_vec(), self.number, &mut plain).unwrap();
            let content = content.to_vec();
            match frame_header.kind {
                FrameKind::End => {
                    let record = &manifest.stripes[usize::from(self.number)];
                    assert_eq!(record.end_digest, Digest32(*blake3::hash(frame).as_bytes()));
                    end = Some((at, End::decode(&content).unwrap()));
                }
                FrameKind::Index => {
                    index_at.get_or_insert(at);
                    index.extend(index_records(&content).unwrap().map(Result::unwrap));
                }
                FrameKind::Data => source_bytes += content.len() as u64,
                FrameKind::Bundle => {
                    let pieces = Bundle::decode(&content).unwrap();
                    source_bytes += pieces.pieces().map(|(piece, _)| u64::from(piece.length)).sum::<u64>();
                }
                FrameKind::Entries | FrameKind::Digests | FrameKind::Bases => {}
            }
            if !matches!(frame_header.kind, FrameKind::Index | FrameKind::End) {
                listed.push(IndexRecord::of(&frame_header, at));
            }
            if frame_header.kind != FrameKind::End {
                headers.update(&frame[..FRAME_HEADER_BYTES]);
            }
            frames.push((frame_header, content));
            at += whole;
        }
        let (position, end) = end.expect("the stripe has an end");
        assert_eq!(index, listed, "the index lists every frame, in order");
        let expected = End {
            frames: frames.len() as u64 - 1,
            source_bytes,
            position,
            index_position: index_at.unwrap_or(position),
            headers_hash: *headers.finalize().as_bytes(),
        };
        assert_eq!(end, expected);
        let record = &manifest.stripes[usize::from(self.number)];
        assert_eq!((record.bytes, record.frames), (self.bytes.len() as u64, end.frames));
        frames
    }
}

/// What the digests should say of a piece.
fn piece(header: &FrameHeader, file: u64, offset: u64, bytes: &[u8]) -> PieceRecord {
    PieceRecord {
        file,
        offset,
        length: u32::try_from(bytes.len()).unwrap(),
        set: 0,
        sequence: header.sequence,
        held_file: file,
        digest: *blake3::hash(bytes).as_bytes(),
    }
}
