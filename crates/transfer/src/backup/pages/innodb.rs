//! InnoDB's pages: how large they are in a tablespace, and whether one is as it was written.
//!
//! The layout and the formulas are those of MariaDB's own check (`buf_page_is_corrupted` in `storage/innobase/buf/buf0buf.cc`,
//! `page_zip_calc_checksum` in `page/page0zip.cc`, the flags in `include/fsp0types.h`). All numbers are big-endian.

use std::ops::Range;

const NUMBER_AT: usize = 4;
const LSN_AT: usize = 16;
const TYPE_AT: usize = 24;
/// The version of the key of an encrypted page, but for the format `full_crc32`, which has it at the beginning.
const KEY_VERSION_AT: usize = 26;
const SPACE_AT: usize = 34;
const DATA_AT: usize = 38;
/// The flags of the tablespace, in its first page.
const FLAGS_AT: usize = DATA_AT + 16;
/// What a page of any format must have.
const HEADER_BYTES: usize = FLAGS_AT + 4;
/// The old checksum and the lower half of the LSN; with `full_crc32` the LSN and the checksum.
const TRAILER_BYTES: usize = 8;

/// The type of the first page of a tablespace.
const FIRST_PAGE: u16 = 8;
const PAGE_COMPRESSED: [u16; 2] = [34_354, 37_401];
/// With `full_crc32` this bit of the type says that the rest of it is the length of a compressed page, in units of 256 bytes.
const COMPRESSED_MARK: u16 = 1 << 15;
/// What `innodb_checksum_algorithm=none` wrote instead of a checksum.
const NO_CHECKSUM: u32 = 0xDEAD_BEEF;

const FLAG_FULL_CRC32: u32 = 1 << 4;
const FLAG_PAGE_COMPRESSION: u32 = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnodbSpace {
    pub page_bytes: usize,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `full_crc32`: one checksum over the stored bytes, whatever they are.
    Full,
    /// `crc32`, and what came before it.
    Plain { is_page_compressed: bool },
    /// `ROW_FORMAT=COMPRESSED`.
    Zip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InnodbPage {
    /// Added to the file and not used yet.
    Zero,
    Valid,
    /// Nobody without the server can tell.
    Unverifiable(Unverifiable),
    Wrong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unverifiable {
    /// `PAGE_COMPRESSED` without `full_crc32`: the checksum is that of the page before it was compressed.
    PageCompressed,
    /// Encrypted without `full_crc32`: the checksum is that of the page before it was encrypted.
    Encrypted,
    /// Written with `innodb_checksum_algorithm=none`.
    NoChecksum,
}

impl InnodbSpace {
    /// The tablespace that begins with `page`; `None` if this is no first page of one.
    pub fn of_first_page(page: &[u8]) -> Option<Self> {
        if page.len() < HEADER_BYTES {
            return None;
        }
        let is_first = word(page, NUMBER_AT) == 0
            && short(page, TYPE_AT) == FIRST_PAGE
            && word(page, SPACE_AT) == word(page, DATA_AT);
        is_first.then(|| Self::of_flags(word(page, FLAGS_AT))).flatten()
    }

    fn of_flags(flags: u32) -> Option<Self> {
        // A size is stored as the power of two above 512.
        let bytes = |stored: u32| 512_usize << stored;
        let page_bytes = |stored: u32| (3..=7).contains(&stored).then(|| bytes(stored));
        if flags & FLAG_FULL_CRC32 != 0 {
            return Some(Self { page_bytes: page_bytes(flags & 0xF)?, format: Format::Full });
        }
        let (zip, page) = ((flags >> 1) & 0xF, (flags >> 6) & 0xF);
        // None is stored for 16 KiB, which was the only size once.
        let whole = if page == 0 { bytes(5) } else { page_bytes(page)? };
        Some(match zip {
            0 => {
                let format = Format::Plain { is_page_compressed: flags & FLAG_PAGE_COMPRESSION != 0 };
                Self { page_bytes: whole, format }
            }
            1..=5 => Self { page_bytes: bytes(zip), format: Format::Zip },
            _ => return None,
        })
    }

    /// The doublewrite buffer, if this is the system tablespace: copies of pages of all tablespaces, each in the form of its own.
    pub fn doublewrite_pages(&self) -> Range<u64> {
        const EXTENT_BYTES: usize = 1 << 20;
        const EXTENT_PAGES_MIN: u64 = 64;
        let extent = ((EXTENT_BYTES / self.page_bytes) as u64).max(EXTENT_PAGES_MIN);
        extent..3 * extent
    }

    pub fn state_of(&self, page: &[u8]) -> InnodbPage {
        match self.format {
            Format::Full => full(page),
            Format::Plain { is_page_compressed } => plain(page, is_page_compressed),
            Format::Zip => zip(page),
        }
    }
}

fn full(page: &[u8]) -> InnodbPage {
    let kind = short(page, TYPE_AT);
    let is_compressed = kind & COMPRESSED_MARK != 0;
    let size = if is_compressed { usize::from(kind & !COMPRESSED_MARK) << 8 } else { page.len() };
    if size < HEADER_BYTES || size > page.len() || (is_compressed && size == page.len()) {
        return InnodbPage::Wrong;
    }
    let stored = word(page, size - 4);
    if stored == 0 && !is_compressed && is_zero(page) {
        return InnodbPage::Zero;
    }
    if stored != crc32c::crc32c(&page[..size - 4]) {
        return InnodbPage::Wrong;
    }
    // What is encrypted or compressed ends with other bytes.
    let has_lsn = !is_compressed && word(page, 0) == 0;
    if has_lsn && word(page, LSN_AT + 4) != word(page, size - TRAILER_BYTES) {
        return InnodbPage::Wrong;
    }
    InnodbPage::Valid
}

fn plain(page: &[u8], is_page_compressed: bool) -> InnodbPage {
    if is_page_compressed && PAGE_COMPRESSED.contains(&short(page, TYPE_AT)) {
        return InnodbPage::Unverifiable(Unverifiable::PageCompressed);
    }
    let end = page.len() - TRAILER_BYTES;
    let (first, second) = (word(page, 0), word(page, end));
    // The field of the key version held something else in the first pages of old system tablespaces.
    if is_zero(&page[..KEY_VERSION_AT]) && is_zero(&page[SPACE_AT..]) {
        return InnodbPage::Zero;
    }
    let has_one_lsn = word(page, LSN_AT + 4) == word(page, end + 4);
    if has_one_lsn && first == NO_CHECKSUM && second == NO_CHECKSUM {
        return InnodbPage::Unverifiable(Unverifiable::NoChecksum);
    }
    let crc = crc32c::crc32c(&page[NUMBER_AT..KEY_VERSION_AT]) ^ crc32c::crc32c(&page[DATA_AT..end]);
    let is_crc = first == crc && second == crc;
    if has_one_lsn && (is_crc || is_of_old_algorithm(page, first, second)) {
        return InnodbPage::Valid;
    }
    encrypted_or_wrong(page)
}

fn zip(page: &[u8]) -> InnodbPage {
    if is_zero(page) {
        return InnodbPage::Zero;
    }
    let parts = [&page[NUMBER_AT..LSN_AT], &page[TYPE_AT..KEY_VERSION_AT], &page[SPACE_AT..]];
    let stored = word(page, 0);
    if stored == NO_CHECKSUM {
        return InnodbPage::Unverifiable(Unverifiable::NoChecksum);
    }
    let crc = parts.iter().fold(0, |all, part| all ^ crc32c::crc32c(part));
    if stored == crc || stored == adler32(parts) {
        return InnodbPage::Valid;
    }
    encrypted_or_wrong(page)
}

/// Only what has no good checksum is asked whether it is encrypted: the field is used for something else in old files.
fn encrypted_or_wrong(page: &[u8]) -> InnodbPage {
    if word(page, KEY_VERSION_AT) == 0 {
        InnodbPage::Wrong
    } else {
        InnodbPage::Unverifiable(Unverifiable::Encrypted)
    }
}

/// Whether the checksums are those of `innodb_checksum_algorithm=innodb`, the default until MariaDB 10.2. The second may be the
/// upper half of the LSN instead, as in very old files.
fn is_of_old_algorithm(page: &[u8], first: u32, second: u32) -> bool {
    let end = page.len() - TRAILER_BYTES;
    let new = fold(&page[NUMBER_AT..KEY_VERSION_AT]).wrapping_add(fold(&page[DATA_AT..end]));
    let is_second = second == word(page, LSN_AT) || second == fold(&page[..KEY_VERSION_AT]);
    first == new && is_second
}

fn fold(bytes: &[u8]) -> u32 {
    const FIRST_MASK: u32 = 1_463_735_687;
    const SECOND_MASK: u32 = 1_653_893_711;
    bytes.iter().fold(0_u32, |all, byte| {
        let byte = u32::from(*byte);
        let mixed = ((all ^ byte ^ SECOND_MASK) << 8).wrapping_add(all);
        (mixed ^ FIRST_MASK).wrapping_add(byte)
    })
}

/// Adler-32 of all parts, beginning with 0 and not with 1, as InnoDB has it.
fn adler32(parts: [&[u8]; 3]) -> u32 {
    const PRIME: u32 = 65_521;
    let (low, high) = parts.iter().flat_map(|part| part.iter()).fold((0, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % PRIME;
        (low, (high + low) % PRIME)
    });
    high << 16 | low
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

fn word(page: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

fn short(page: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([page[at], page[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(page: &mut [u8], at: usize, value: u32) {
        page[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// A page with something everywhere.
    fn filled(bytes: usize) -> Vec<u8> {
        let mut page: Vec<u8> = (0..bytes).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect();
        page[TYPE_AT..TYPE_AT + 2].copy_from_slice(&17_855_u16.to_be_bytes());
        page[KEY_VERSION_AT..SPACE_AT].fill(0);
        page
    }

    fn full_page(bytes: usize) -> Vec<u8> {
        let mut page = filled(bytes);
        put(&mut page, 0, 0);
        let lsn = word(&page, LSN_AT + 4);
        put(&mut page, bytes - 8, lsn);
        let sum = crc32c::crc32c(&page[..bytes - 4]);
        put(&mut page, bytes - 4, sum);
        page
    }

    fn plain_page(bytes: usize, sums: impl Fn(&[u8]) -> (u32, u32)) -> Vec<u8> {
        let mut page = filled(bytes);
        let lsn = word(&page, LSN_AT + 4);
        put(&mut page, bytes - 4, lsn);
        let (first, _) = sums(&page);
        put(&mut page, 0, first);
        let (_, second) = sums(&page);
        put(&mut page, bytes - 8, second);
        page
    }

    fn crc(page: &[u8]) -> (u32, u32) {
        let sum = crc32c::crc32c(&page[4..26]) ^ crc32c::crc32c(&page[38..page.len() - 8]);
        (sum, sum)
    }

    const PLAIN: InnodbSpace =
        InnodbSpace { page_bytes: 16_384, format: Format::Plain { is_page_compressed: true } };

    /// The formulas are compared with a server's own files and its own checker in the tests with real servers.
    #[test]
    fn any_changed_bit_of_a_page_is_found() {
        let full = InnodbSpace { page_bytes: 4096, format: Format::Full };
        let zip = InnodbSpace { page_bytes: 4096, format: Format::Zip };
        let mut zipped = filled(4096);
        let sum =
            crc32c::crc32c(&zipped[4..16]) ^ crc32c::crc32c(&zipped[24..26]) ^ crc32c::crc32c(&zipped[34..]);
        put(&mut zipped, 0, sum);
        for (space, good, at) in [
            (full, full_page(4096), [4, 100, 4087, 4095]),
            (InnodbSpace { page_bytes: 4096, ..PLAIN }, plain_page(4096, crc), [4, 40, 4087, 4095]),
            (zip, zipped, [0, 10, 100, 4095]),
        ] {
            assert_eq!(space.state_of(&good), InnodbPage::Valid, "{space:?}");
            for at in at {
                let mut bad = good.clone();
                bad[at] ^= 4;
                assert_eq!(space.state_of(&bad), InnodbPage::Wrong, "{space:?} at {at}");
            }
            assert_eq!(space.state_of(&vec![0; 4096]), InnodbPage::Zero);
        }
    }

    #[test]
    fn a_compressed_page_of_full_crc32_ends_where_its_type_says() {
        let space = InnodbSpace { page_bytes: 16_384, format: Format::Full };
        let mut page = vec![0; 16_384];
        page[..1024].copy_from_slice(&filled(1024));
        page[TYPE_AT..TYPE_AT + 2].copy_from_slice(&(COMPRESSED_MARK | 4).to_be_bytes());
        let sum = crc32c::crc32c(&page[..1020]);
        put(&mut page, 1020, sum);
        assert_eq!(space.state_of(&page), InnodbPage::Valid);
        page[1000] ^= 1;
        assert_eq!(space.state_of(&page), InnodbPage::Wrong);
        for length in [0, 64, 65, 0x7FFF] {
            page[TYPE_AT..TYPE_AT + 2].copy_from_slice(&(COMPRESSED_MARK | length).to_be_bytes());
            assert_eq!(space.state_of(&page), InnodbPage::Wrong, "length {length}");
        }
    }

    #[test]
    fn what_cannot_be_checked_is_said_and_not_called_wrong() {
        let state = |page: &[u8]| PLAIN.state_of(page);
        let none = plain_page(16_384, |_| (NO_CHECKSUM, NO_CHECKSUM));
        assert_eq!(state(&none), InnodbPage::Unverifiable(Unverifiable::NoChecksum));
        let mut compressed = filled(16_384);
        compressed[TYPE_AT..TYPE_AT + 2].copy_from_slice(&34_354_u16.to_be_bytes());
        assert_eq!(state(&compressed), InnodbPage::Unverifiable(Unverifiable::PageCompressed));
        let elsewhere = InnodbSpace { format: Format::Plain { is_page_compressed: false }, ..PLAIN };
        assert_eq!(elsewhere.state_of(&compressed), InnodbPage::Wrong, "nothing is page-compressed there");
        let mut encrypted = filled(16_384);
        put(&mut encrypted, KEY_VERSION_AT, 1);
        assert_eq!(state(&encrypted), InnodbPage::Unverifiable(Unverifiable::Encrypted));
    }

    #[test]
    fn pages_of_an_upgraded_server_keep_the_checksum_of_their_time() {
        let old = |page: &[u8]| {
            let new = fold(&page[4..26]).wrapping_add(fold(&page[38..page.len() - 8]));
            (new, fold(&page[..26]))
        };
        let mut page = plain_page(16_384, old);
        assert_eq!(PLAIN.state_of(&page), InnodbPage::Valid);
        page[5000] ^= 1;
        assert_eq!(PLAIN.state_of(&page), InnodbPage::Wrong);
    }

    #[test]
    fn the_first_page_says_how_large_pages_are() {
        let first = |flags: u32| {
            let mut page = vec![0; 1024];
            page[TYPE_AT + 1] = 8;
            put(&mut page, SPACE_AT, 7);
            put(&mut page, DATA_AT, 7);
            put(&mut page, FLAGS_AT, flags);
            InnodbSpace::of_first_page(&page).map(|space| (space.page_bytes, space.format))
        };
        let plain = Format::Plain { is_page_compressed: false };
        assert_eq!(first(0x15), Some((16_384, Format::Full)));
        assert_eq!(first(0x13), Some((4096, Format::Full)));
        assert_eq!(first(0x21), Some((16_384, plain)));
        assert_eq!(first(0x21 | 7 << 6), Some((65_536, plain)));
        assert_eq!(first(0x21 | 4 << 1), Some((8192, Format::Zip)));
        assert_eq!(first(0x21 | 1 << 16), Some((16_384, PLAIN.format)));
        for damaged in [0x1F, 0x10, 6 << 1, 9 << 6] {
            assert_eq!(first(damaged), None, "{damaged:#x}");
        }
        for length in [0, 57, 58] {
            assert_eq!(InnodbSpace::of_first_page(&vec![0; length]), None);
        }
    }
}
