//! Names of the files in PostgreSQL's write-ahead log.

use std::fmt;

use iostall_connect::postgres::Lsn;

/// The file that makes a directory an archive.
pub(super) const CLUSTER_FILE: &str = "iostall-wal-archive";
/// Digits of each of the three numbers in the name of a segment.
const PART_DIGITS: usize = 8;
const SEGMENT_DIGITS: usize = 3 * PART_DIGITS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SegmentName {
    pub(super) timeline: u32,
    high: u32,
    low: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum WalName {
    Segment(SegmentName),
    /// The last segment of a timeline that a standby left.
    Partial(SegmentName),
    /// Where a timeline came from.
    History(u32),
    /// What a base backup needed: the segment that it begins in, and the place in that.
    BackupLabel(SegmentName, u32),
}

/// Eight hexadecimal digits in capitals, as PostgreSQL writes them.
fn part(digits: &str) -> Option<u32> {
    let is_plain = |byte: u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte);
    let fits = digits.len() == PART_DIGITS && digits.bytes().all(is_plain);
    fits.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

impl SegmentName {
    pub(super) fn of(timeline: u32, number: u64, segment_bytes: u64) -> Self {
        let in_a_file = in_a_file(segment_bytes);
        let half = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        Self { timeline, high: half(number / in_a_file), low: half(number % in_a_file) }
    }

    fn parse(text: &str) -> Option<Self> {
        if text.len() != SEGMENT_DIGITS || !text.is_ascii() {
            return None;
        }
        let (timeline, rest) = text.split_at(PART_DIGITS);
        let (high, low) = rest.split_at(PART_DIGITS);
        Some(Self { timeline: part(timeline)?, high: part(high)?, low: part(low)? })
    }

    /// Its number, counted from the beginning of the log. `None` if no segment of that size has the name.
    pub(super) fn number(self, segment_bytes: u64) -> Option<u64> {
        let in_a_file = in_a_file(segment_bytes);
        (u64::from(self.low) < in_a_file).then(|| u64::from(self.high) * in_a_file + u64::from(self.low))
    }

    pub(super) fn start(self, segment_bytes: u64) -> Option<Lsn> {
        self.number(segment_bytes).map(|number| Lsn(number.saturating_mul(segment_bytes)))
    }
}

/// How many segments there are to 4 GiB.
fn in_a_file(segment_bytes: u64) -> u64 {
    ((1 << 32) / segment_bytes.max(1)).max(1)
}

impl WalName {
    /// `None` if no file of the log is called so.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(segment) = SegmentName::parse(text) {
            return Some(Self::Segment(segment));
        }
        let (first, rest) = text.split_once('.')?;
        match rest.split_once('.') {
            None if rest == "partial" => SegmentName::parse(first).map(Self::Partial),
            None if rest == "history" => part(first).map(Self::History),
            Some((offset, "backup")) => Some(Self::BackupLabel(SegmentName::parse(first)?, part(offset)?)),
            _ => None,
        }
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08X}{:08X}{:08X}", self.timeline, self.high, self.low)
    }
}

impl fmt::Display for WalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segment(segment) => segment.fmt(f),
            Self::Partial(segment) => write!(f, "{segment}.partial"),
            Self::History(timeline) => write!(f, "{timeline:08X}.history"),
            Self::BackupLabel(segment, offset) => write!(f, "{segment}.{offset:08X}.backup"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn every_name_of_the_log_reads_back_and_no_other_is_taken_for_one() {
        for text in [
            "0000000300000016000000B3",
            "0000000300000016000000B3.partial",
            "00000003.history",
            "0000000300000016000000B3.00000028.backup",
        ] {
            assert_eq!(WalName::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "0000000300000016000000b3",
            "0000000300000016000000B",
            "+000000300000016000000B3",
            "0000000300000016000000B3.partial.x",
            "00000003.histor",
            "../0000003.history",
            "0000000300000016000000B3.28.backup",
            "RECOVERYXLOG",
            "ä000000300000016000000B",
        ] {
            assert_eq!(WalName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_depends_on_the_size_of_the_segments() {
        let Some(WalName::Segment(name)) = WalName::parse("0000000300000016000000B3") else { panic!() };
        assert_eq!(name.start(16 * MIB), Some(Lsn(0x16_B300_0000)));
        assert_eq!(name.number(16 * MIB), Some(0x16B3));
        assert_eq!(name.number(64 * MIB), None, "there are only 64 of that size to a file");
        for (number, bytes) in [(1, MIB), (4095, MIB), (4096, MIB), (77, 1024 * MIB)] {
            assert_eq!(SegmentName::of(1, number, bytes).number(bytes), Some(number));
        }
    }
}
