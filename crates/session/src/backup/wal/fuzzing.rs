//! What is read of a write-ahead log, for the fuzzer.

use super::records::{Records, SegmentHead};

const SEGMENT_BYTES: u64 = 1 << 20;
const PAGE_BYTES: usize = 1 << 10;
const HEAD_BYTES: usize = 24;
/// What the input decides of the header of a page: its flags, and what is left of a record.
const FREE_BYTES: usize = 5;
const MAGIC: u16 = 0xD116;
/// All flags but that of a long header.
const FLAGS: u8 = 0x0D;

/// Reads a segment whose pages are those of a log, because a fuzzer does not find their headers.
pub fn records(input: &[u8]) {
    if let Some(head) = SegmentHead::parse(input) {
        read(head, input);
    }
    let head = SegmentHead {
        system_identifier: 1,
        segment_bytes: SEGMENT_BYTES,
        page_bytes: 1 << 10,
        start: SEGMENT_BYTES,
    };
    let pages = input.chunks(FREE_BYTES + PAGE_BYTES - HEAD_BYTES).zip((head.start..).step_by(PAGE_BYTES));
    let pages: Vec<u8> = pages.flat_map(|(chunk, start)| page(chunk, start)).collect();
    read(head, &pages);
}

fn read(head: SegmentHead, pages: &[u8]) {
    let end = head.start + head.segment_bytes;
    let most = usize::try_from(head.segment_bytes).unwrap_or(usize::MAX);
    let mut records = Records::of(head);
    records.read(&pages[..pages.len().min(most)], &mut |_| {});
    let facts = records.facts();
    assert!(facts.end_lsn <= end, "{facts:?}");
    assert!(facts.times_us.is_none_or(|(first, last)| first <= last), "{facts:?}");
}

fn page(chunk: &[u8], start: u64) -> Vec<u8> {
    let (free, content) = chunk.split_at(chunk.len().min(FREE_BYTES));
    let flags = free.first().copied().unwrap_or(0) & FLAGS;
    let mut page = Vec::with_capacity(PAGE_BYTES);
    page.extend(MAGIC.to_ne_bytes());
    page.extend(u16::from(flags).to_ne_bytes());
    page.extend(1_u32.to_ne_bytes());
    page.extend(start.to_ne_bytes());
    page.extend(free.get(1..).unwrap_or_default());
    page.resize(HEAD_BYTES, 0);
    page.extend(content);
    page.resize(PAGE_BYTES, 0);
    page
}
