//! Entry point for fuzzing the journal reader: a copy may resume from a damaged journal.

use iostall_engine::files::{FileKind, FileStamp};

use super::journal::{claims_of, push_line};

const SOURCE: FileStamp = FileStamp {
    device: 1,
    inode: 12,
    kind: FileKind::Regular,
    size_bytes: 1 << 20,
    allocated_bytes: 1 << 20,
    accessed_ns: 0,
    modified_ns: 1,
    changed_ns: 2,
    links: 1,
    mode: 0o600,
    uid: 0,
    gid: 0,
    special_device: 0,
};

/// Lines of a journal, without checksums. Claims must lie within the source, in order.
pub fn journal(lines: &str) {
    let mut text = String::new();
    for line in lines.lines() {
        push_line(&mut text, line);
    }
    let Some(claims) = claims_of(&text, &SOURCE) else { return };
    let mut end = 0;
    for range in &claims.ranges {
        assert!(range.offset >= end && range.length > 0, "{range:?}");
        end = range.offset + u64::from(range.length);
    }
    assert!(end <= SOURCE.size_bytes, "{end}");
}
