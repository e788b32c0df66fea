//! Headers of the pages in a segment of the log.
//!
//! They are written in the byte order of the server; an archive works for servers of this machine's.

/// The header of every page but the first of a segment.
const SHORT_BYTES: usize = 24;
/// Bytes of the header of the first page of a segment: it also names the cluster.
pub(super) const LONG_BYTES: usize = 40;
const FIRST_IS_CONTINUATION: u16 = 0x0001;
const IS_LONG: u16 = 0x0002;
/// The record that the page before began was given up: after a crash the server went on without it.
const OVERWRITES: u16 = 0x0008;
/// What PostgreSQL 12 and everything after it, for some years to come, writes first.
const MAGIC: std::ops::RangeInclusive<u16> = 0xD100..=0xD1FF;
const SEGMENT_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;
const PAGE_BYTES: std::ops::RangeInclusive<u32> = 1 << 10..=1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHead {
    pub(super) system_identifier: u64,
    pub(super) segment_bytes: u64,
    pub(super) page_bytes: u32,
    /// Where it begins in the log, bytes.
    pub(super) start: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageHead {
    /// Where the page begins in the log, bytes.
    pub(super) start: u64,
    /// What is left of a record that an earlier page began, if it goes on here.
    pub(super) continued_bytes: Option<u32>,
    /// Whether what an earlier page began is not to be read.
    pub(super) overwrites: bool,
    pub(super) bytes: usize,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    number(bytes, at).map(u16::from_ne_bytes)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    number(bytes, at).map(u32::from_ne_bytes)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes, at).map(u64::from_ne_bytes)
}

impl PageHead {
    /// `None` if the page was not written, or is of something else.
    pub(super) fn parse(page: &[u8]) -> Option<Self> {
        let (magic, flags) = (u16_at(page, 0)?, u16_at(page, 2)?);
        let (start, rest) = (u64_at(page, 8)?, u32_at(page, 16)?);
        let bytes = if flags & IS_LONG == 0 { SHORT_BYTES } else { LONG_BYTES };
        MAGIC.contains(&magic).then_some(Self {
            start,
            continued_bytes: (flags & FIRST_IS_CONTINUATION != 0).then_some(rest),
            overwrites: flags & OVERWRITES != 0,
            bytes,
        })
    }
}

impl SegmentHead {
    /// `None` if this is no segment of PostgreSQL's log.
    pub(super) fn parse(head: &[u8]) -> Option<Self> {
        let page = PageHead::parse(head)?;
        let segment_bytes = u64::from(u32_at(head, 32)?);
        let page_bytes = u32_at(head, 36)?;
        let is_size = segment_bytes.is_power_of_two() && SEGMENT_BYTES.contains(&segment_bytes);
        let is_page = page_bytes.is_power_of_two() && PAGE_BYTES.contains(&page_bytes);
        let has_end = page.start.checked_add(segment_bytes).is_some();
        let is_whole = page.start.is_multiple_of(segment_bytes) && has_end;
        let fits = page.bytes == LONG_BYTES && is_size && is_page && is_whole;
        fits.then_some(Self {
            system_identifier: u64_at(head, 24)?,
            segment_bytes,
            page_bytes,
            start: page.start,
        })
    }
}
