//! Checks the pages of InnoDB on their way into a backup.

use std::collections::HashMap;
use std::ops::Range;

use iostall_model::backup::{StoredName, TablespacePages};
use iostall_transfer::backup::create::PagesSeen;
use iostall_transfer::backup::pages::{InnodbPage, InnodbSpace, Unverifiable, is_tablespace_file};

/// What is enough to tell the size of pages in a tablespace.
const FIRST_BYTES: usize = 4096;
/// Wrong pages that are listed. With more of them the disk is broken, and which ones they are helps nobody.
const LISTED_MAX: usize = 10_000;
const NAMED_MAX: usize = 20;
const UNVERIFIABLE_NAMED_MAX: usize = 5;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::backup) struct PageCounts {
    pub(in crate::backup) checked: u64,
    pub(in crate::backup) wrong: u64,
    /// Pages that nobody without the server can check.
    pub(in crate::backup) unverifiable: u64,
}

pub(in crate::backup) struct PageReader {
    page_bytes: u32,
    files: HashMap<StoredName, Tablespace>,
    counts: PageCounts,
    wrong: Vec<String>,
    /// Files with pages that cannot be checked, and why.
    unverifiable: Vec<(StoredName, &'static str)>,
    other_pages: Vec<TablespacePages>,
    /// Bytes of files that do not say how their pages are stored.
    unknown_bytes: u64,
}

struct Tablespace {
    /// `None` until enough was read.
    space: Option<InnodbSpace>,
    /// It is none, or its first page is damaged.
    is_unknown: bool,
    at: u64,
    /// The beginning of a page whose end was not read yet.
    rest: Vec<u8>,
    is_named: bool,
}

impl PageReader {
    pub(in crate::backup) fn new(page_bytes: u32) -> Self {
        Self {
            page_bytes,
            files: HashMap::new(),
            counts: PageCounts::default(),
            wrong: Vec::new(),
            unverifiable: Vec::new(),
            other_pages: Vec::new(),
            unknown_bytes: 0,
        }
    }

    /// `bytes` of the file `name`, from `offset` on. What is left out between two calls is a hole.
    pub(in crate::backup) fn see(&mut self, name: &StoredName, offset: u64, bytes: &[u8]) {
        if !is_tablespace_file(name.as_bytes()) {
            return;
        }
        let mut file = self.files.remove(name).unwrap_or_else(Tablespace::new);
        // Whole pages are left out: a page that was cut there is none.
        if offset != file.at + file.rest.len() as u64 {
            file.rest.clear();
            file.at = offset;
        }
        self.pages(name, &mut file, bytes);
        self.files.insert(name.clone(), file);
    }

    fn pages(&mut self, name: &StoredName, file: &mut Tablespace, bytes: &[u8]) {
        if file.is_unknown {
            self.unknown_bytes += bytes.len() as u64;
            file.at += bytes.len() as u64;
            return;
        }
        let mut bytes = bytes;
        if file.space.is_none() {
            let wanted = FIRST_BYTES.saturating_sub(file.rest.len()).min(bytes.len());
            let (first, after) = bytes.split_at(wanted);
            file.rest.extend_from_slice(first);
            bytes = after;
            if file.rest.len() < FIRST_BYTES {
                return;
            }
            file.space = InnodbSpace::of_first_page(&file.rest);
            match file.space {
                Some(space) if space.page_bytes != self.page_bytes as usize => {
                    let page_bytes = u32::try_from(space.page_bytes).unwrap_or(u32::MAX);
                    self.other_pages.push(TablespacePages { name: name.clone(), page_bytes });
                }
                Some(_) => {}
                None => {
                    self.unknown_bytes += bytes.len() as u64;
                    self.no_first_page(name, file);
                }
            }
        }
        let Some(space) = file.space else { return };
        if !file.rest.is_empty() {
            let wanted = space.page_bytes.saturating_sub(file.rest.len()).min(bytes.len());
            let (first, after) = bytes.split_at(wanted);
            file.rest.extend_from_slice(first);
            bytes = after;
            if file.rest.len() < space.page_bytes {
                return;
            }
            let page = std::mem::take(&mut file.rest);
            self.page(name, file, space, &page);
        }
        let pages = bytes.chunks_exact(space.page_bytes);
        file.rest.extend_from_slice(pages.remainder());
        for page in pages {
            self.page(name, file, space, page);
        }
    }

    /// Further files of the system tablespace begin with any page; what else has no first page is damaged.
    fn no_first_page(&mut self, name: &StoredName, file: &mut Tablespace) {
        file.is_unknown = true;
        self.unknown_bytes += file.rest.len() as u64;
        file.at += file.rest.len() as u64;
        let is_zero = file.rest.iter().all(|byte| *byte == 0);
        file.rest = Vec::new();
        if name.as_bytes().starts_with(b"ibdata") || is_zero {
            self.cannot(name, "it does not say how its pages are stored");
        } else {
            self.counts.checked += 1;
            self.list_wrong(|| {
                format!("{name} page 0, which says how the others are stored, is damaged: none of them could be checked")
            });
        }
    }

    fn page(&mut self, name: &StoredName, file: &mut Tablespace, space: InnodbSpace, page: &[u8]) {
        let number = file.at / space.page_bytes as u64;
        file.at += space.page_bytes as u64;
        match space.state_of(page) {
            // Never used, so it has no checksum.
            InnodbPage::Zero => {}
            InnodbPage::Valid => self.counts.checked += 1,
            InnodbPage::Unverifiable(why) => {
                self.counts.unverifiable += 1;
                if !std::mem::replace(&mut file.is_named, true) {
                    self.cannot(name, in_words(why));
                }
            }
            InnodbPage::Wrong if is_copy(name, space, number) => {}
            InnodbPage::Wrong => {
                self.counts.checked += 1;
                let offset = number * space.page_bytes as u64;
                self.list_wrong(|| format!("{name} page {number} has a wrong checksum (at offset {offset})"));
            }
        }
    }

    fn list_wrong(&mut self, in_words: impl FnOnce() -> String) {
        self.counts.wrong += 1;
        if self.wrong.len() < LISTED_MAX {
            self.wrong.push(in_words());
        }
    }

    fn cannot(&mut self, name: &StoredName, why: &'static str) {
        self.unverifiable.push((name.clone(), why));
    }

    pub(in crate::backup) fn counts(&self) -> PageCounts {
        let unknown = self.unknown_bytes / u64::from(self.page_bytes.max(1));
        PageCounts { unverifiable: self.counts.unverifiable + unknown, ..self.counts }
    }

    /// Files whose pages have another size than the server's.
    pub(super) fn other_pages(&self) -> &[TablespacePages] {
        &self.other_pages
    }

    pub(in crate::backup) fn wrong(&self) -> Vec<String> {
        self.first_wrong(NAMED_MAX)
    }

    fn first_wrong(&self, most: usize) -> Vec<String> {
        let mut wrong: Vec<String> = self.wrong.iter().take(most).cloned().collect();
        let more = self.counts.wrong.saturating_sub(wrong.len() as u64);
        if more > 0 {
            wrong.push(format!("{more} more pages have a wrong checksum"));
        }
        wrong
    }

    pub(super) fn seen(&self) -> PagesSeen {
        PagesSeen { checked: self.counts.checked, wrong: self.first_wrong(LISTED_MAX) }
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.unverifiable.is_empty() {
            let named = self.unverifiable.iter().take(UNVERIFIABLE_NAMED_MAX);
            let named: Vec<String> = named.map(|(name, why)| format!("{name} ({why})")).collect();
            let more = self.unverifiable.len() - named.len();
            let more = if more > 0 { format!(" and {more} more files") } else { String::new() };
            warnings.push(format!(
                "{} pages cannot be checked without the server: {}{more}",
                self.counts().unverifiable,
                named.join(", ")
            ));
        }
        warnings
    }
}

impl Tablespace {
    fn new() -> Self {
        Self { space: None, is_unknown: false, at: 0, rest: Vec::new(), is_named: false }
    }
}

/// Whether the page is a copy in the doublewrite buffer, in the form of another tablespace.
fn is_copy(name: &StoredName, space: InnodbSpace, number: u64) -> bool {
    let copies: Range<u64> = space.doublewrite_pages();
    name.as_bytes() == b"ibdata1" && copies.contains(&number)
}

fn in_words(why: Unverifiable) -> &'static str {
    match why {
        Unverifiable::PageCompressed => "compressed by pages",
        Unverifiable::Encrypted => "encrypted",
        Unverifiable::NoChecksum => "written without checksums",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 16_384;

    fn put(page: &mut [u8], at: usize, value: u32) {
        page[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// A page as `full_crc32` stores it.
    fn page(number: u32, kind: u16) -> Vec<u8> {
        let mut page = vec![7; PAGE];
        put(&mut page, 0, 0);
        put(&mut page, 4, number);
        page[24..26].copy_from_slice(&kind.to_be_bytes());
        put(&mut page, 34, 9);
        put(&mut page, 38, 9);
        // Pages of 16 KiB, full_crc32.
        put(&mut page, 54, 0x15);
        let lsn = u32::from_be_bytes([page[20], page[21], page[22], page[23]]);
        put(&mut page, PAGE - 8, lsn);
        let sum = crc32c::crc32c(&page[..PAGE - 4]);
        put(&mut page, PAGE - 4, sum);
        page
    }

    fn table() -> Vec<u8> {
        [page(0, 8), page(1, 17_855), vec![0; PAGE], page(3, 17_855)].concat()
    }

    fn read(name: &str, bytes: &[u8], piece: usize) -> PageReader {
        let mut reader = PageReader::new(16_384);
        let name = StoredName(name.as_bytes().to_vec());
        for (index, bytes) in bytes.chunks(piece).enumerate() {
            reader.see(&name, (index * piece) as u64, bytes);
        }
        reader
    }

    /// A page that came in two pieces was taken for two damaged ones.
    #[test]
    fn pages_are_checked_whatever_pieces_they_come_in() {
        for piece in [1000, 4096, PAGE, PAGE + 1, 1 << 20] {
            let reader = read("shop/orders.ibd", &table(), piece);
            assert_eq!(reader.counts(), PageCounts { checked: 3, ..PageCounts::default() }, "{piece}");
            assert_eq!(reader.warnings(), Vec::<String>::new());
            assert!(reader.other_pages().is_empty());
        }
    }

    #[test]
    fn a_flipped_byte_is_named_with_its_page_and_offset() {
        let mut bytes = table();
        bytes[3 * PAGE + 100] ^= 1;
        let reader = read("shop/orders.ibd", &bytes, 5000);
        assert_eq!(reader.counts(), PageCounts { checked: 3, wrong: 1, unverifiable: 0 });
        let PagesSeen { checked, wrong } = reader.seen();
        assert_eq!((checked, wrong.len(), reader.warnings()), (3, 1, Vec::new()));
        assert!(wrong[0].starts_with("shop/orders.ibd page 3 has a wrong checksum"), "{wrong:?}");
        assert!(wrong[0].contains("offset 49152"), "{wrong:?}");
    }

    #[test]
    fn without_a_first_page_nothing_can_be_said_of_the_others_and_that_is_said() {
        let mut bytes = table();
        bytes[24] = 99;
        let reader = read("shop/orders.ibd", &bytes, PAGE);
        assert!(reader.seen().wrong[0].contains("page 0"), "{:?}", reader.seen());
        let reader = read("ibdata2", &bytes[PAGE..], PAGE);
        assert!(reader.warnings()[0].contains("cannot be checked"), "{:?}", reader.warnings());
        for other in ["shop/orders.frm", "ib_logfile0", "aria_log_control", "undo_notes", "xtrabackup_info"] {
            assert_eq!(read(other, &bytes, PAGE).counts(), PageCounts::default(), "{other}");
        }
    }

    /// A broken disk has millions of them.
    #[test]
    fn of_many_wrong_pages_some_are_listed_and_all_are_counted() {
        let (name, first) = (StoredName(b"a.ibd".to_vec()), page(0, 8));
        let mut reader = PageReader::new(16_384);
        reader.see(&name, 0, &first);
        let many = LISTED_MAX as u64 + 5;
        for number in 1..=many {
            reader.see(&name, number * PAGE as u64, &vec![1; PAGE]);
        }
        let PagesSeen { checked, wrong } = reader.seen();
        assert_eq!((checked, wrong.len()), (many + 1, LISTED_MAX + 1));
        assert_eq!(wrong[LISTED_MAX], "5 more pages have a wrong checksum");
        assert_eq!(reader.wrong().len(), NAMED_MAX + 1);
        assert!(reader.wrong()[NAMED_MAX].starts_with("9985 more pages"), "{:?}", reader.wrong());
    }

    #[test]
    fn a_hole_is_no_page() {
        let (mut reader, name) = (PageReader::new(16_384), StoredName(b"a.ibd".to_vec()));
        reader.see(&name, 0, &table()[..PAGE]);
        reader.see(&name, 3 * PAGE as u64, &table()[3 * PAGE..]);
        assert_eq!(reader.counts(), PageCounts { checked: 2, ..PageCounts::default() });
    }
}
