//! A stripe: takes encoded frames one after another, and knows where each stands.

use std::fs::File;
use std::sync::atomic::Ordering;

use iostall_engine::FileIndex;
use iostall_model::backup::Digest32;

use super::target_file::RoomOfStripe;
use crate::backup::format::{
    FRAME_HEADER_BYTES, FrameHeader, FrameKind, IndexRecord, frame_block_bytes, set_stripe,
};
use crate::page_cache::PageCacheDropper;
use crate::pipeline::{Frame, Placement, Sink, Written};
use crate::progress::StripeCounter;

pub(super) struct Stripe {
    number: u16,
    /// Its index among the engine's files; `None` for `null:`.
    file: Option<FileIndex>,
    writes_max: u32,
    block_bytes: u32,
    dropper: Option<PageCacheDropper>,
    room: Option<RoomOfStripe>,
    counter: Option<StripeCounter>,
    pub(super) end: u64,
    /// Frames so far, without the end.
    pub(super) frames: u64,
    pub(super) source_bytes: u64,
    /// Stored bytes of data and bundles, without headers and padding.
    pub(super) compressed_bytes: u64,
    pub(super) index: Vec<IndexRecord>,
    headers: blake3::Hasher,
    pub(super) end_digest: Digest32,
    /// Time with at least one write in flight, nanoseconds.
    pub(super) busy_ns: u64,
}

impl Stripe {
    /// A stripe whose header takes the first `header_bytes` of `file`.
    pub(super) fn new(
        number: u16,
        file: Option<FileIndex>,
        header_bytes: u64,
        block_bytes: u32,
        writes_max: u32,
    ) -> Self {
        Self {
            number,
            file,
            writes_max,
            block_bytes,
            dropper: None,
            room: None,
            counter: None,
            end: header_bytes,
            frames: 0,
            source_bytes: 0,
            compressed_bytes: 0,
            index: Vec::new(),
            headers: blake3::Hasher::new(),
            end_digest: Digest32::default(),
            busy_ns: 0,
        }
    }

    /// For a stripe that is written through the page cache.
    pub(super) fn drop_from_cache(mut self, buffered: Option<File>) -> Self {
        self.dropper = buffered.map(PageCacheDropper::new);
        self
    }

    pub(super) fn reserving(mut self, room: Option<RoomOfStripe>) -> Self {
        self.room = room;
        self
    }

    pub(super) fn counted_by(mut self, counter: StripeCounter) -> Self {
        self.counter = Some(counter);
        self
    }

    pub(super) fn is_written(&self) -> bool {
        self.file.is_some()
    }

    pub(super) fn headers_hash(&self) -> [u8; 32] {
        *self.headers.finalize().as_bytes()
    }

    /// Enters a frame whose header begins at `bytes`; returns its length with the zeros after it.
    fn enter(&mut self, header: &FrameHeader, frame: &mut [u8]) -> usize {
        set_stripe(&mut frame[..FRAME_HEADER_BYTES], self.number);
        let whole = frame_block_bytes(header.stored_length, self.block_bytes);
        let length = usize::try_from(whole).unwrap_or(usize::MAX).min(frame.len());
        if header.kind == FrameKind::End {
            self.end_digest = Digest32(*blake3::hash(&frame[..length]).as_bytes());
        } else {
            self.headers.update(&frame[..FRAME_HEADER_BYTES]);
            self.frames += 1;
            // The index does not list itself.
            if header.kind != FrameKind::Index && self.file.is_some() {
                self.index.push(IndexRecord::of(header, self.end));
            }
        }
        if matches!(header.kind, FrameKind::Data | FrameKind::Bundle) {
            self.compressed_bytes += u64::from(header.stored_length);
        }
        self.end += whole;
        length
    }
}

impl Sink for Stripe {
    fn writes_max(&self) -> u32 {
        self.writes_max
    }

    fn place(&mut self, frame: &mut Frame) -> Placement {
        // A file that ended early leaves frames without bytes.
        let Ok(first) = FrameHeader::decode(frame.bytes()) else { return Placement::Skip };
        if matches!(first.kind, FrameKind::Index | FrameKind::End) && first.stripe != self.number {
            return Placement::Later;
        }
        let offset = self.end;
        self.source_bytes += frame.checksum();
        let mut rest = frame.bytes_mut();
        while let Ok(header) = FrameHeader::decode(rest) {
            let length = self.enter(&header, rest);
            rest = &mut rest[length..];
        }
        if let Some(room) = &mut self.room {
            room.ends_at(self.end);
        }
        match self.file {
            Some(file) => Placement::Write { file, offset },
            None => Placement::Skip,
        }
    }

    fn was_written(&mut self, written: &Written) {
        if let Some(counter) = &self.counter {
            counter.fetch_add(written.at.length.into(), Ordering::Relaxed);
        }
        if let Some(dropper) = &mut self.dropper {
            dropper.was_written(written.at);
        }
    }
}
