//! Segments made by hand, byte by byte; those of real servers are in the tests of the archive.

use super::*;

const START: u64 = 0x16_B300_0000;
const SEGMENT: u64 = 1 << 20;
const PAGE: usize = 8192;

fn head() -> SegmentHead {
    SegmentHead { system_identifier: 7, segment_bytes: SEGMENT, page_bytes: 8192, start: START }
}

struct Segment {
    bytes: Vec<u8>,
    previous: u64,
}

impl Segment {
    /// That begins with so many bytes of a record of the segment before.
    fn new(continued: u32) -> Self {
        let mut segment = Self { bytes: Vec::new(), previous: START - 400 };
        segment.page(continued);
        segment.fill(&vec![9; usize::try_from(continued).unwrap()]);
        segment
    }

    fn page(&mut self, continued: u32) {
        let (start, is_first) = (START + self.bytes.len() as u64, self.bytes.is_empty());
        let flags = u16::from(continued > 0) | if is_first { 2 } else { 0 };
        self.bytes.extend(0xD110_u16.to_ne_bytes());
        self.bytes.extend(flags.to_ne_bytes());
        self.bytes.extend(1_u32.to_ne_bytes());
        self.bytes.extend(start.to_ne_bytes());
        self.bytes.extend(u64::from(continued).to_ne_bytes());
        if is_first {
            self.bytes.extend(7_u64.to_ne_bytes());
            self.bytes.extend(u32::try_from(SEGMENT).unwrap().to_ne_bytes());
            self.bytes.extend(8192_u32.to_ne_bytes());
        }
    }

    fn fill(&mut self, record: &[u8]) {
        for (at, byte) in record.iter().enumerate() {
            if self.bytes.len().is_multiple_of(PAGE) {
                self.page(u32::try_from(record.len() - at).unwrap());
            }
            self.bytes.push(*byte);
        }
        while !self.bytes.len().is_multiple_of(8) {
            self.bytes.push(0);
        }
    }

    fn record(&mut self, writer: u8, info: u8, xid: u32, data: &[u8]) -> u64 {
        if self.bytes.len().is_multiple_of(PAGE) {
            self.page(0);
        }
        let start = START + self.bytes.len() as u64;
        let data_head = match u8::try_from(data.len()) {
            Ok(length) => vec![DATA_SHORT, length],
            Err(_) => [&[DATA_LONG][..], &u32::try_from(data.len()).unwrap().to_ne_bytes()].concat(),
        };
        let length = u32::try_from(HEADER_BYTES + data_head.len() + data.len()).unwrap();
        let mut record = length.to_ne_bytes().to_vec();
        record.extend(xid.to_ne_bytes());
        record.extend(self.previous.to_ne_bytes());
        record.extend([info, writer, 0, 0, 1, 2, 3, 4]);
        record.extend([&data_head[..], data].concat());
        self.fill(&record);
        self.previous = start;
        START + self.bytes.len() as u64
    }

    fn commit(&mut self, xid: u32, at_us: i64) -> u64 {
        self.record(OF_TRANSACTIONS, 0x80, xid, &[&(at_us - EPOCH_US).to_ne_bytes()[..], &[5; 30]].concat())
    }

    fn read(mut self, chunk: usize) -> (WalFacts, Vec<Event>) {
        self.bytes.resize(usize::try_from(SEGMENT).unwrap(), 0);
        let mut records = Records::of(head());
        let mut events = Vec::new();
        for pages in self.bytes.chunks(chunk) {
            records.read(pages, &mut |event| events.push(event));
        }
        (records.facts(), events)
    }
}

#[test]
fn commits_are_found_across_pages_and_after_the_rest_of_an_earlier_record() {
    let mut segment = Segment::new(20_000);
    segment.commit(70, 1_000_000);
    segment.record(10, 0, 70, &vec![1; 30_000]);
    let mut point = (3_000_000 - EPOCH_US).to_ne_bytes().to_vec();
    point.extend(b"before the upgrade");
    point.resize(72, 0);
    segment.record(OF_LOG, RESTORE_POINT, 0, &point);
    segment.record(OF_TRANSACTIONS, ABORT, 71, &(2_000_000 - EPOCH_US).to_ne_bytes());
    let end = segment.commit(72, 4_000_000);
    for chunk in [PAGE, 4 * PAGE, 1 << 20] {
        let copy = Segment { bytes: segment.bytes.clone(), previous: 0 };
        let (facts, events) = copy.read(chunk);
        assert_eq!(facts, WalFacts { end_lsn: end, times_us: Some((1_000_000, 4_000_000)) });
        let point = Event::Point { name: "before the upgrade".to_owned(), at_us: 3_000_000 };
        assert_eq!(events[1], point);
        let xids: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                Event::Ended { xid, .. } => *xid,
                Event::Point { .. } => None,
            })
            .collect();
        assert_eq!(xids, [70, 71, 72]);
    }
}

/// The story: a restore point was asked for, and its record began in one segment and ended in the next.
#[test]
fn a_record_in_two_segments_is_found_where_both_are_read() {
    let mut segment = Segment::new(0);
    let room = usize::try_from(SEGMENT).unwrap() - 20_000;
    segment.record(10, 0, 1, &vec![3; room]);
    while segment.bytes.len() < usize::try_from(SEGMENT).unwrap() + 10_000 {
        segment.commit(u32::try_from(segment.bytes.len()).unwrap(), 6_000_000);
    }
    // The pages after the first segment belong to the next one, whose first page has a longer header: that is not made here.
    let (first, second) = segment.bytes.split_at(usize::try_from(SEGMENT).unwrap());
    let mut records = Records::of(head());
    let mut count = 0;
    records.read(first, &mut |_| count += 1);
    let alone = count;
    records.go_on_with(SegmentHead { start: START + SEGMENT, ..head() });
    records.read(&second[..PAGE], &mut |_| count += 1);
    assert!(alone > 100 && count > alone + 80, "{alone} {count}");
}

#[test]
fn after_a_switch_the_segment_is_used_up_and_what_an_earlier_use_left_is_not_read() {
    let mut segment = Segment::new(0);
    let end = segment.commit(1, 5_000_000);
    let before = segment.bytes.clone();
    segment.record(OF_LOG, SWITCH, 0, &[]);
    assert_eq!(segment.read(PAGE).0.end_lsn, START + SEGMENT);
    // A record that follows on another one than the last.
    let mut recycled = Segment { bytes: before, previous: START - 8 };
    recycled.commit(2, 9_000_000);
    let (facts, events) = recycled.read(PAGE);
    assert_eq!((facts.end_lsn, events.len()), (end, 1));
}

#[test]
fn a_segment_of_one_long_record_has_no_end_and_rubbish_is_none() {
    let mut long = Segment::new(0);
    long.record(10, 0, 1, &vec![3; 1 << 20]);
    assert_eq!(long.read(PAGE).0, WalFacts::default());
    let mut records = Records::of(head());
    records.read(&[0xAA; 2 * PAGE], &mut |_| panic!("an event in rubbish"));
    records.read(&[0; 100], &mut |_| panic!("an event in rubbish"));
    assert_eq!(records.facts(), WalFacts::default());
}
