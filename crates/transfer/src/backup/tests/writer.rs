//! A small writer of sets, for tests of readers: it makes what a real one would, and whatever else a test needs.

use std::fs;
use std::path::{Path, PathBuf};

use iostall_engine::files::{effective_group, effective_user};
use iostall_model::backup::{
    BackupSettings, Compression, Digest32, FileEntry, FileKind, FileMetadata, Manifest, SetId, StoredName,
    StripeRecord, Totals,
};
use jiff::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

use crate::backup::codec::{FileKey, Lock, Sealer, SetKeys, wrap};
use crate::backup::format::{
    BundleWriter, CodecKind, End, FRAME_HEADER_BYTES, FrameHeader, FrameKind, IndexRecord, Piece,
    StripeHeader, TAG_BYTES, WrappedKeys, frame_block_bytes, put_entry_line, put_index, stored_hash,
};
use crate::backup::manifest_file;

pub(super) const BLOCK: u32 = 4096;
pub(super) const FRAME: u32 = 1 << 16;

/// What a set is made of.
pub(super) struct Made {
    pub(super) set: SetId,
    pub(super) stripes: u16,
    pub(super) codec: CodecKind,
    pub(super) lock: Option<Lock>,
    pub(super) entries: Vec<(FileEntry, Vec<u8>)>,
    /// Changes what the indexes say.
    pub(super) change_index: Option<fn(&mut IndexRecord)>,
}

/// A set on disk.
pub(super) struct OnDisk {
    pub(super) manifest: PathBuf,
    pub(super) stripes: Vec<PathBuf>,
    pub(super) content: Manifest,
    keys: Option<(SetKeys, WrappedKeys)>,
}

/// One stripe while it is made.
struct Stripe {
    bytes: Vec<u8>,
    records: Vec<IndexRecord>,
    headers: blake3::Hasher,
    frames: u64,
    source_bytes: u64,
}

struct Frames<'m> {
    made: &'m Made,
    sealer: Option<Sealer>,
    sequence: u64,
    stripes: Vec<Stripe>,
}

pub(super) fn entry(number: u64, name: &str, kind: FileKind, content: &[u8]) -> (FileEntry, Vec<u8>) {
    let metadata = FileMetadata {
        mode: 0o640,
        uid: effective_user(),
        gid: effective_group(),
        modified_ns: 1_700_000_000_123_456_789,
    };
    let mode = if kind == FileKind::Directory { 0o750 } else { 0o640 };
    let entry = FileEntry {
        number,
        name: name.into(),
        kind,
        size_bytes: content.len() as u64,
        data_bytes: content.len() as u64,
        source: 0,
        metadata: FileMetadata { mode, ..metadata },
        attributes: Vec::new(),
    };
    (entry, content.to_vec())
}

/// Content that shrinks to about a half.
pub(super) fn content(seed: u8, size: usize) -> Vec<u8> {
    (0..size)
        .map(|at| {
            if at % 512 < 256 { seed } else { (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0] ^ seed }
        })
        .collect()
}

impl Made {
    /// A tree with a large file, small ones, an end in a bundle, a hole, a link and an empty file.
    pub(super) fn tree(stripes: u16) -> Self {
        let mut holes = content(3, 300_000);
        holes[65_536..262_144].fill(0);
        let mut entries = vec![
            entry(1, "", FileKind::Directory, &[]),
            entry(2, "base", FileKind::Directory, &[]),
            entry(3, "base/large", FileKind::File, &content(1, 1_000_000)),
            entry(4, "base/small", FileKind::File, b"small"),
            entry(5, "base/medium", FileKind::File, &content(2, 70_000)),
            entry(6, "empty", FileKind::File, &[]),
            entry(7, "holes", FileKind::File, &holes),
            entry(8, "link", FileKind::Symlink { to: "base/small".into() }, &[]),
            entry(9, "second", FileKind::HardLink { to: "base/small".into() }, &[]),
        ];
        entries[6].0.data_bytes -= 262_144 - 65_536;
        Self { set: SetId([7; 16]), stripes, codec: CodecKind::Zstd, lock: None, entries, change_index: None }
    }

    /// Writes it to `directory` as `s0.iob`, `s1.iob`, …
    pub(super) fn write(&self, directory: &Path) -> OnDisk {
        let keys = self.lock.as_ref().map(|lock| {
            let key = FileKey::random().unwrap();
            (key.keys_of(self.set), wrap(&key, self.set, lock).unwrap())
        });
        let header = |stripe| StripeHeader {
            set: self.set,
            stripe,
            stripes: self.stripes,
            block_bytes: BLOCK,
            frame_bytes: FRAME,
            transfer_bytes: FRAME * 4,
            created_unix_ns: 1_700_000_000_000_000_000,
            codec: self.codec,
            level: i32::from(self.codec == CodecKind::Zstd),
            keys: keys.as_ref().map(|(_, wrapped)| wrapped.clone()),
            base: None,
        };
        let stripe = |number| Stripe {
            bytes: header(number).encode(),
            records: Vec::new(),
            headers: blake3::Hasher::new(),
            frames: 0,
            source_bytes: 0,
        };
        let sealer = keys.as_ref().map(|(keys, _)| Sealer::new(keys).unwrap());
        let mut frames =
            Frames { made: self, sealer, sequence: 0, stripes: (0..self.stripes).map(stripe).collect() };
        frames.data();
        frames.entries();
        let mut records = Vec::new();
        let mut paths = Vec::new();
        for number in 0..self.stripes {
            let end_digest = Digest32(frames.end(number));
            let name = format!("s{number}.iob");
            let stripe = &frames.stripes[usize::from(number)];
            fs::write(directory.join(&name), &stripe.bytes).unwrap();
            paths.push(directory.join(&name));
            records.push(StripeRecord {
                number,
                name: name.as_str().into(),
                directory: None,
                bytes: stripe.bytes.len() as u64,
                frames: stripe.frames,
                end_digest,
            });
        }
        let content = self.manifest(records);
        let on_disk = OnDisk { manifest: directory.join("s0.iob.manifest"), stripes: paths, content, keys };
        on_disk.write_manifest();
        on_disk
    }

    fn manifest(&self, stripes: Vec<StripeRecord>) -> Manifest {
        Manifest {
            set: self.set,
            tool_version: "0.0.0".into(),
            host: String::new(),
            started_utc: Timestamp::UNIX_EPOCH,
            ended_utc: Timestamp::UNIX_EPOCH,
            settings: BackupSettings {
                stripes: self.stripes,
                block_bytes: BLOCK,
                frame_bytes: FRAME,
                transfer_bytes: FRAME * 4,
                compression: Compression::Zstd(1),
                encrypted: self.lock.is_some(),
                ..BackupSettings::default()
            },
            object_lock: None,
            sources: Vec::new(),
            stripes,
            totals: Totals::default(),
            bases: Vec::new(),
            warnings: Vec::new(),
            content_warnings: None,
            files: self.entries.iter().map(|(entry, _)| entry.clone()).collect(),
        }
    }
}

impl OnDisk {
    /// It is usually opened by its manifest.
    pub(super) fn named(&self) -> &[PathBuf] {
        std::slice::from_ref(&self.manifest)
    }

    pub(super) fn write_manifest(&self) {
        let keys = self.keys.as_ref().map(|(keys, wrapped)| (keys, wrapped));
        fs::write(&self.manifest, manifest_file::encode(&self.content, keys).unwrap()).unwrap();
    }
}

impl Frames<'_> {
    /// Files of more than a frame in frames of their own but for their ends, all else in bundles.
    fn data(&mut self) {
        let mut pieces: Vec<(Piece, &[u8])> = Vec::new();
        for (entry, content) in &self.made.entries {
            let whole = content.len() / FRAME as usize * FRAME as usize;
            for (at, chunk) in content[..whole].chunks(FRAME as usize).enumerate() {
                if chunk.iter().any(|byte| *byte != 0) {
                    let offset = at as u64 * u64::from(FRAME);
                    self.push(FrameKind::Data, entry.number, offset, chunk, FRAME.into());
                }
            }
            let rest = &content[whole..];
            if !rest.is_empty() {
                let length = u32::try_from(rest.len()).unwrap();
                pieces.push((Piece { file: entry.number, offset: whole as u64, length }, rest));
            }
        }
        for pieces in pieces.chunks(2) {
            let table: Vec<_> = pieces.iter().map(|(piece, _)| *piece).collect();
            let mut plain = vec![0; BundleWriter::table_bytes(table.len())];
            BundleWriter::put_table(&table, &mut plain);
            for (_, data) in pieces {
                plain.extend_from_slice(data);
            }
            let source_bytes = pieces.iter().map(|(piece, _)| u64::from(piece.length)).sum();
            self.push(FrameKind::Bundle, 0, 0, &plain, source_bytes);
        }
    }

    fn entries(&mut self) {
        for entries in self.made.entries.chunks(100) {
            let mut plain = Vec::new();
            for (entry, _) in entries {
                put_entry_line(entry, &mut plain).unwrap();
            }
            self.push(FrameKind::Entries, 0, 0, &plain, 0);
        }
    }

    fn push(&mut self, kind: FrameKind, file: u64, offset: u64, plain: &[u8], source_bytes: u64) {
        let stripe = u16::try_from(self.sequence % u64::from(self.made.stripes)).unwrap();
        let (frame, header) = self.frame(kind, stripe, file, offset, plain);
        let stripe = &mut self.stripes[usize::from(stripe)];
        stripe.records.push(IndexRecord::of(&header, stripe.bytes.len() as u64));
        stripe.source_bytes += source_bytes;
        stripe.add(&frame);
    }

    fn frame(
        &mut self,
        kind: FrameKind,
        stripe: u16,
        file: u64,
        offset: u64,
        plain: &[u8],
    ) -> (Vec<u8>, FrameHeader) {
        let packed = match self.made.codec {
            CodecKind::None => plain.to_vec(),
            CodecKind::Zstd => zstd::bulk::compress(plain, 1).unwrap(),
            CodecKind::Lz4 => lz4_flex::block::compress(plain),
        };
        let shrank = packed.len() < plain.len() && kind != FrameKind::End;
        let (codec, mut stored) =
            if shrank { (self.made.codec, packed) } else { (CodecKind::None, plain.to_vec()) };
        let sequence = self.sequence;
        self.sequence += 1;
        let mut header = FrameHeader {
            kind,
            codec,
            is_sealed: self.sealer.is_some(),
            set: self.made.set,
            sequence,
            file,
            offset,
            plain_length: u32::try_from(plain.len()).unwrap(),
            stored_length: 0,
            plain_hash: xxh3_64(plain) ^ self.sealer.as_ref().map_or(0, |sealer| sealer.mask(sequence)),
            stored_hash: 0,
            stripe,
        };
        if let Some(sealer) = &self.sealer {
            stored.resize(stored.len() + TAG_BYTES as usize, 0);
            sealer.seal(&header, &mut stored).unwrap();
        }
        header.stored_length = u32::try_from(stored.len()).unwrap();
        let whole = usize::try_from(frame_block_bytes(header.stored_length, BLOCK)).unwrap();
        stored.resize(whole - FRAME_HEADER_BYTES, 0);
        header.stored_hash = stored_hash(&stored);
        let mut frame = vec![0; FRAME_HEADER_BYTES];
        header.put(&mut frame);
        frame.append(&mut stored);
        (frame, header)
    }

    /// Index and end of a stripe; returns the digest of its end frame.
    fn end(&mut self, number: u16) -> [u8; 32] {
        let mut records = self.stripes[usize::from(number)].records.clone();
        if let Some(change) = self.made.change_index {
            records.iter_mut().for_each(change);
        }
        let index_position = self.stripes[usize::from(number)].bytes.len() as u64;
        let mut left = &records[..];
        while !left.is_empty() {
            let (plain, rest) = put_index(left, FRAME);
            let (frame, _) = self.frame(FrameKind::Index, number, 0, 0, &plain);
            self.stripes[usize::from(number)].add(&frame);
            left = rest;
        }
        let stripe = &self.stripes[usize::from(number)];
        let end = End {
            frames: stripe.frames,
            source_bytes: stripe.source_bytes,
            position: stripe.bytes.len() as u64,
            index_position,
            headers_hash: *stripe.headers.finalize().as_bytes(),
        };
        let (frame, _) = self.frame(FrameKind::End, number, 0, 0, &end.encode());
        self.stripes[usize::from(number)].bytes.extend_from_slice(&frame);
        *blake3::hash(&frame).as_bytes()
    }
}

impl Stripe {
    fn add(&mut self, frame: &[u8]) {
        self.headers.update(&frame[..FRAME_HEADER_BYTES]);
        self.bytes.extend_from_slice(frame);
        self.frames += 1;
    }
}

/// The name of an entry as a path below `root`.
pub(super) fn at(root: &Path, name: &StoredName) -> PathBuf {
    root.join(iostall_engine::files::path_from_bytes(name.0.clone()))
}
