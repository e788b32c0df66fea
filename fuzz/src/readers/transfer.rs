//! Files that a copy leaves next to its destinations.

use std::path::Path;

use iostall_transfer::manifest;

/// A list of checksums: whatever is accepted is the same when written and read again.
pub(crate) fn manifest(input: &[u8]) {
    let Ok(found) = manifest::parse(input, Path::new("list"), None) else { return };
    let mut written = Vec::new();
    if manifest::write_json(&found, &mut written).is_ok() {
        match manifest::parse(&written, Path::new("list"), None) {
            Ok(again) => assert_eq!(again, found),
            Err(error) => panic!("its own text is refused: {error}\n{}", String::from_utf8_lossy(&written)),
        }
    }
}

/// A journal, with valid checksums added to its lines.
pub(crate) fn journal(input: &[u8]) {
    iostall_transfer::fuzzing::journal(&String::from_utf8_lossy(input));
}
