//! Reads the pages and records of a segment, as far as it takes to say where they end and when transactions were committed.
//!
//! They are written in the byte order of the server; an archive works for servers of this machine. Nothing here is an error: a segment that
//! was switched early, or that a crashed server left, ends with what was never written.

use iostall_transfer::backup::format::WalFacts;

/// Records begin at multiples of this.
const ALIGN: u64 = 8;
const HEADER_BYTES: usize = 24;
/// What is kept of a record: what it says first.
const KEPT_BYTES: usize = 256;
/// A record is never longer.
const RECORD_BYTES_MAX: u32 = 1 << 30;

/// Resource managers: who wrote a record.
const OF_LOG: u8 = 0;
const OF_TRANSACTIONS: u8 = 1;
/// The end of what is used of this segment.
const SWITCH: u8 = 0x40;
const RESTORE_POINT: u8 = 0x70;
const OPERATION: u8 = 0x70;
const COMMIT: u8 = 0x00;
const ABORT: u8 = 0x20;
const COMMIT_PREPARED: u8 = 0x30;
const ABORT_PREPARED: u8 = 0x40;
/// Parts of the header before the data.
const DATA_SHORT: u8 = 255;
const DATA_LONG: u8 = 254;
const ORIGIN: u8 = 253;
const TOP_LEVEL: u8 = 252;
/// The longest name of a restore point, with its final zero.
const POINT_BYTES: usize = 64;
/// PostgreSQL counts from the year 2000.
const EPOCH_US: i64 = 946_684_800_000_000;

/// Something that a recovery can be told to stop at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A transaction ended. Its number is `None` if it was prepared before: then the record names it elsewhere.
    Ended {
        xid: Option<u32>,
        at_us: i64,
    },
    Point {
        name: String,
        at_us: i64,
    },
}

pub(super) struct Records {
    head: SegmentHead,
    next: u64,
    current: Option<Record>,
    /// What is left of a record that an earlier segment began.
    skip: u64,
    previous: Option<u64>,
    facts: WalFacts,
    is_over: bool,
    is_switched: bool,
}

struct Record {
    start: u64,
    left: u64,
    kept: Vec<u8>,
}

impl Records {
    pub(super) fn of(head: SegmentHead) -> Self {
        Self {
            head,
            next: head.start,
            current: None,
            skip: 0,
            previous: None,
            facts: WalFacts::default(),
            is_over: false,
            is_switched: false,
        }
    }

    pub(super) fn go_on_with(&mut self, head: SegmentHead) {
        if self.is_over && !self.is_switched {
            (self.current, self.previous) = (None, None);
        }
        (self.head, self.next) = (head, head.start);
        (self.is_over, self.is_switched) = (false, false);
    }

    pub(super) fn read(&mut self, pages: &[u8], seen: &mut dyn FnMut(Event)) {
        let size = usize::try_from(self.head.page_bytes).unwrap_or(usize::MAX);
        for page in pages.chunks(size) {
            if self.is_over {
                return;
            }
            if self.page(page, seen).is_none() || page.len() < size {
                self.is_over = true;
            }
        }
    }

    pub(super) fn facts(&self) -> WalFacts {
        let end = self.head.start.saturating_add(self.head.segment_bytes);
        // What follows a switch is filled up to the end of the segment.
        let end_lsn = if self.is_switched { end } else { self.facts.end_lsn };
        WalFacts { end_lsn, ..self.facts }
    }

    /// `None` where the log ends.
    fn page(&mut self, page: &[u8], seen: &mut dyn FnMut(Event)) -> Option<()> {
        let head = PageHead::parse(page).filter(|head| head.start == self.next)?;
        // What an earlier segment began is not known, unless that was read, too.
        let is_unknown = self.next == self.head.start && self.current.is_none() && self.skip == 0;
        self.next += page.len() as u64;
        if head.overwrites {
            self.current = None;
        } else if is_unknown {
            self.skip = head.continued_bytes.map_or(0, u64::from);
        } else if head.continued_bytes.map(u64::from) != self.left() {
            return None;
        }
        let mut at = head.bytes;
        while at < page.len() {
            at = match (self.skip, self.current.is_some()) {
                (0, false) => self.begin(page, head.start, at)?,
                (0, true) => self.go_on(page, head.start, at, seen)?,
                (skip, _) => {
                    let taken = skip.min((page.len() - at) as u64);
                    self.skip -= taken;
                    let at = at + usize::try_from(taken).unwrap_or(usize::MAX);
                    if self.skip == 0 { aligned(head.start, at) } else { at }
                }
            };
        }
        Some(())
    }

    /// What is left of a record that goes on in the next page.
    fn left(&self) -> Option<u64> {
        let left = self.current.as_ref().map_or(self.skip, |record| record.left);
        (left > 0).then_some(left)
    }

    fn begin(&mut self, page: &[u8], page_start: u64, at: usize) -> Option<usize> {
        let bytes = u32_at(page, at)?;
        if !(HEADER_BYTES..).contains(&usize::try_from(bytes).ok()?) || bytes > RECORD_BYTES_MAX {
            return None;
        }
        let start = page_start + at as u64;
        self.current = Some(Record { start, left: u64::from(bytes), kept: Vec::new() });
        Some(at)
    }

    fn go_on(
        &mut self,
        page: &[u8],
        page_start: u64,
        at: usize,
        seen: &mut dyn FnMut(Event),
    ) -> Option<usize> {
        let record = self.current.as_mut()?;
        let rest = page.get(at..)?;
        let taken = usize::try_from(record.left).unwrap_or(usize::MAX).min(rest.len());
        let kept = KEPT_BYTES.saturating_sub(record.kept.len()).min(taken);
        record.kept.extend_from_slice(&rest[..kept]);
        record.left -= taken as u64;
        if record.left > 0 {
            return Some(at + taken);
        }
        let record = self.current.take()?;
        // What an earlier use of the file left does not follow on the record before it.
        let follows = u64_at(&record.kept, 8)?;
        if self.previous.is_some_and(|previous| previous != follows) || follows >= record.start {
            return None;
        }
        self.previous = Some(record.start);
        let end = aligned(page_start, at + taken);
        self.facts.end_lsn = page_start + end as u64;
        let (info, writer) = (*record.kept.get(16)?, *record.kept.get(17)?);
        if let Some(event) = event(&record, info, writer) {
            if let Event::Ended { at_us, .. } = event {
                let (first, last) = self.facts.times_us.unwrap_or((at_us, at_us));
                self.facts.times_us = Some((first.min(at_us), last.max(at_us)));
            }
            seen(event);
        }
        if writer == OF_LOG && info & 0xF0 == SWITCH {
            self.is_switched = true;
            return None;
        }
        Some(end)
    }
}

/// The next place in a page at which a record may begin.
fn aligned(page_start: u64, at: usize) -> usize {
    let position = page_start + at as u64;
    at + usize::try_from(position.next_multiple_of(ALIGN) - position).unwrap_or(0)
}

fn event(record: &Record, info: u8, writer: u8) -> Option<Event> {
    let data = data(&record.kept)?;
    let at_us = || Some(i64::from_ne_bytes(data.get(..8)?.try_into().ok()?).saturating_add(EPOCH_US));
    match (writer, info & OPERATION) {
        (OF_TRANSACTIONS, COMMIT | ABORT) => {
            Some(Event::Ended { xid: u32_at(&record.kept, 4), at_us: at_us()? })
        }
        (OF_TRANSACTIONS, COMMIT_PREPARED | ABORT_PREPARED) => {
            Some(Event::Ended { xid: None, at_us: at_us()? })
        }
        (OF_LOG, RESTORE_POINT) if info & 0x80 == 0 => {
            let name = data.get(8..8 + POINT_BYTES)?;
            let length = name.iter().position(|byte| *byte == 0)?;
            Some(Event::Point {
                name: String::from_utf8_lossy(&name[..length]).into_owned(),
                at_us: at_us()?,
            })
        }
        _ => None,
    }
}

/// The data of a record without pages: `None` if it has some, or if too little of it was kept.
fn data(record: &[u8]) -> Option<&[u8]> {
    let mut rest = record.get(HEADER_BYTES..)?;
    loop {
        rest = match *rest.first()? {
            ORIGIN => rest.get(3..)?,
            TOP_LEVEL => rest.get(5..)?,
            DATA_SHORT => return rest.get(2..),
            DATA_LONG => return rest.get(5..),
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests;

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
