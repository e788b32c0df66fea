//! One stripe: its header, its end, and where its frames stand.

use std::path::{Path, PathBuf};

use iostall_model::backup::Protection;
use iostall_remote::EngineFile;

use super::damage::Damage;
use super::error::ReadError;
use super::medium::Medium;
use crate::backup::codec::{Decoder, FrameFault};
use crate::backup::format::{
    End, FRAME_HEADER_BYTES, FormatError, FrameHeader, FrameKind, IndexRecord, STRIPE_HEADER_BYTES_MIN,
    StripeHeader, TAG_BYTES, frame_block_bytes, index_records,
};

/// What is read of an object at once, to find headers in it.
const WINDOW_BYTES: u64 = 4 << 20;

#[derive(Debug)]
pub struct Stripe {
    pub path: PathBuf,
    pub header: StripeHeader,
    pub bytes: u64,
    medium: Medium,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub offset: u64,
    pub message: String,
}

impl Fault {
    pub(crate) fn new(offset: u64, message: &impl ToString) -> Self {
        Self { offset, message: message.to_string() }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Index {
    pub records: Vec<IndexRecord>,
    /// The headers of the index's own frames, one after another.
    pub(crate) headers: Vec<u8>,
}

#[derive(Debug, Default)]
pub struct Walked {
    /// The frames before the end, those of the index included.
    pub records: Vec<IndexRecord>,
    pub faults: Vec<Fault>,
    /// BLAKE3 of all headers before the end.
    pub headers_hash: Option<[u8; 32]>,
}

#[derive(Default)]
struct Window {
    offset: u64,
    bytes: Vec<u8>,
}

impl Stripe {
    /// Opens the file at `path`. An error is the system's; an `Err` inside says why the file is no stripe.
    pub fn open(path: &Path) -> Result<Result<Self, FormatError>, ReadError> {
        let medium = Medium::open(path)?;
        let read = |length: usize| medium.part(0, length).map_err(ReadError::system("read", path));
        let first = read(STRIPE_HEADER_BYTES_MIN)?;
        let block = match StripeHeader::block_bytes_of(&first) {
            Ok(block) => block as usize,
            Err(error) => return Ok(Err(error)),
        };
        let length = match StripeHeader::bytes_of(&read(block)?) {
            Ok(length) => usize::try_from(length).unwrap_or(block),
            Err(error) => return Ok(Err(error)),
        };
        let header = match StripeHeader::decode(&read(length)?) {
            Ok(header) => header,
            Err(error) => return Ok(Err(error)),
        };
        let bytes = medium.bytes();
        Ok(Ok(Self { path: path.to_owned(), header, bytes, medium }))
    }

    /// From 0.
    pub fn number(&self) -> u16 {
        self.header.stripe
    }

    pub(crate) fn handle(&self) -> (EngineFile<'_>, u32) {
        let align = if self.medium.is_direct() { self.header.block_bytes } else { 1 };
        (self.medium.file(), align)
    }

    pub(crate) fn protection(&self) -> Protection {
        self.medium.protection()
    }

    pub(crate) fn is_in_store(&self) -> bool {
        self.medium.is_in_store()
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.medium.failure()
    }

    pub fn caching_reason(&self) -> Option<&str> {
        self.medium.caching_reason()
    }

    pub fn damage(&self, fault: Fault) -> Damage {
        Damage::at(self.number(), &self.path, fault.offset, fault.message)
    }

    fn part(&self, offset: u64, length: u64) -> Result<Vec<u8>, Fault> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.medium.part(offset, length).map_err(|error| Fault::new(offset, &error))
    }

    pub fn end(&self, decoder: &mut Decoder) -> Result<(End, [u8; 32]), Fault> {
        let block = u64::from(self.header.block_bytes);
        let offset = self.bytes.saturating_sub(block);
        let fault = |message: &dyn ToString| Fault { offset, message: message.to_string() };
        if !self.bytes.is_multiple_of(block) || offset < self.header.bytes() {
            return Err(fault(&"the stripe is cut off"));
        }
        let mut bytes = self.part(offset, block)?;
        let digest = *blake3::hash(&bytes).as_bytes();
        let mut plain = vec![0; self.header.frame_bytes as usize];
        let (header, plain) = match decoder.decode(&mut bytes, self.number(), &mut plain) {
            Ok(found) => found,
            Err(FrameFault::Format(FormatError::Mark { .. })) => {
                return Err(fault(&"the stripe has no end: it was not completed, or is cut off"));
            }
            Err(error) => return Err(fault(&format!("the end of the stripe: {error}"))),
        };
        let end = End::decode(plain).map_err(|error| fault(&error))?;
        if header.kind != FrameKind::End || end.position != offset {
            return Err(fault(&"the stripe is cut off: its last frame is not its end"));
        }
        Ok((end, digest))
    }

    /// The frames of the stripe as its index says, without those of the index itself.
    pub fn index(&self, end: &End, decoder: &mut Decoder) -> Result<Index, Fault> {
        let most = end.index_position / u64::from(self.header.block_bytes);
        let Index { mut records, mut headers } = Index::default();
        let mut plain = vec![0; self.header.frame_bytes as usize];
        let mut position = end.index_position;
        let mut frames = 0;
        while position < end.position {
            let wrong = |message: &dyn ToString| Fault { offset: position, message: message.to_string() };
            let header = FrameHeader::decode(&self.part(position, FRAME_HEADER_BYTES as u64)?)
                .map_err(|error| wrong(&error))?;
            let length = frame_block_bytes(header.stored_length, self.header.block_bytes);
            if header.kind != FrameKind::Index || length > end.position - position {
                return Err(wrong(&"the index of the stripe is damaged: another frame stands in it"));
            }
            let mut frame = self.part(position, length)?;
            headers.extend_from_slice(frame.get(..FRAME_HEADER_BYTES).unwrap_or_default());
            let (_, plain) = decoder
                .decode(&mut frame, self.number(), &mut plain)
                .map_err(|error| wrong(&format!("the index of the stripe: {error}")))?;
            for record in index_records(plain).map_err(|error| wrong(&error))? {
                records.push(record.map_err(|error| wrong(&error))?);
                if records.len() as u64 > most {
                    return Err(wrong(&"the index of the stripe has more frames than fit"));
                }
            }
            position += length;
            frames += 1;
        }
        self.check_places(&records, end, frames)?;
        Ok(Index { records, headers })
    }

    /// The frames must fill the stripe from its header to its index: then no byte of it is unchecked, and no reading goes in
    /// circles.
    fn check_places(&self, records: &[IndexRecord], end: &End, index_frames: u64) -> Result<(), Fault> {
        let wrong = |offset| Fault {
            offset,
            message: "the index of the stripe does not say where all frames stand".to_owned(),
        };
        let mut position = self.header.bytes();
        for record in records {
            if record.position != position || !self.fits(record.plain_length, record.stored_length) {
                return Err(wrong(position));
            }
            position =
                position.saturating_add(frame_block_bytes(record.stored_length, self.header.block_bytes));
        }
        if position != end.index_position || records.len() as u64 + index_frames != end.frames {
            return Err(wrong(position));
        }
        Ok(())
    }

    /// Whether a frame is of a size that this stripe can have. Readers make their buffers by it.
    fn fits(&self, plain_length: u32, stored_length: u32) -> bool {
        (1..=self.header.frame_bytes).contains(&plain_length)
            && stored_length <= plain_length.saturating_add(TAG_BYTES)
    }

    /// Reads every header up to `until`, one after another, without the index. After a damaged one it looks for the next block
    /// that a frame of this set begins in.
    pub fn walk(&self, until: u64, mut continues: impl FnMut() -> bool) -> Walked {
        let mut walked = Walked::default();
        let mut hasher = blake3::Hasher::new();
        let mut position = self.header.bytes();
        let mut window = Window::default();
        while position < until && continues() {
            match self.header_at(position, until, &mut window) {
                Ok((header, bytes)) => {
                    hasher.update(&bytes);
                    walked.records.push(IndexRecord::of(&header, position));
                    position += frame_block_bytes(header.stored_length, self.header.block_bytes);
                }
                Err(fault) => {
                    // One sentence for all that is skipped.
                    walked.faults.push(fault);
                    position = self.next_frame(position, until, &mut window);
                }
            }
        }
        if walked.faults.is_empty() {
            walked.headers_hash = Some(*hasher.finalize().as_bytes());
        }
        walked
    }

    /// The bytes that a header may be in: of an object many at once, because they cost less than many requests.
    fn header_bytes(&self, position: u64, window: &mut Window) -> Result<Vec<u8>, Fault> {
        let length = FRAME_HEADER_BYTES as u64;
        if !self.is_in_store() {
            return self.part(position, length);
        }
        let end = window.offset + window.bytes.len() as u64;
        if position < window.offset || position + length > end {
            *window = Window { offset: position, bytes: self.part(position, WINDOW_BYTES)? };
        }
        let from = usize::try_from(position - window.offset).unwrap_or(usize::MAX);
        let found = window.bytes.get(from..).unwrap_or_default();
        Ok(found[..found.len().min(FRAME_HEADER_BYTES)].to_vec())
    }

    fn header_at(
        &self,
        position: u64,
        until: u64,
        window: &mut Window,
    ) -> Result<(FrameHeader, Vec<u8>), Fault> {
        let bytes = self.header_bytes(position, window)?;
        let wrong = |message: &dyn ToString| Fault { offset: position, message: message.to_string() };
        let header = FrameHeader::decode(&bytes).map_err(|error| wrong(&error))?;
        if header.set != self.header.set {
            return Err(wrong(&FrameFault::OtherSet { found: header.set }));
        }
        if header.stripe != self.number() {
            return Err(wrong(&FrameFault::OtherStripe { found: header.stripe }));
        }
        if !self.fits(header.plain_length, header.stored_length) {
            return Err(wrong(&"the frame is larger than the header of the stripe says"));
        }
        if frame_block_bytes(header.stored_length, self.header.block_bytes) > until - position {
            return Err(wrong(&"the frame is cut off"));
        }
        Ok((header, bytes))
    }

    fn next_frame(&self, position: u64, until: u64, window: &mut Window) -> u64 {
        let block = u64::from(self.header.block_bytes);
        let mut at = position.saturating_add(block);
        while at < until && self.header_at(at, until, window).is_err() {
            at += block;
        }
        at
    }

    /// All of the frame at `record`, for a reader without the pipeline.
    pub(crate) fn frame(&self, record: &IndexRecord) -> Result<Vec<u8>, Fault> {
        self.part(record.position, frame_block_bytes(record.stored_length, self.header.block_bytes))
    }
}
