//! How iostall recognises files that it created.
//!
//! Two marks, because each alone can mislead: `cp precious.dat scratch.dat` writes the user's data into the
//! inode that iostall marked (the attribute stays, the header is gone), and `cp scratch.dat elsewhere` puts
//! the header into a user's file (the header is there, the attribute is not). On a file system without user
//! attributes the header alone decides, and only a header of the file kind: `dd` from a loaded device gives a
//! file that begins with the header of a block.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, XattrFlags, fgetxattr, fsetxattr};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::header::{HEADER_BYTES, HeaderKind, write_header};
use super::signature::ReadAt;

const ATTRIBUTE: &str = "user.iostall.made";

/// Enough to recognise both kinds of partition table.
const HEAD_BYTES: usize = 4096 + 8;

/// First word of the attribute; the second is a random number of this creation in hexadecimal.
const VERSION: &str = "1";

/// Marks a file that iostall has just created: the attribute, and a header at offset 0.
///
/// `file` must be open for writing and not for direct I/O. Its first 32 bytes are overwritten. A file system
/// without user attributes is no error.
pub fn mark_made_by_iostall(file: &File) -> io::Result<()> {
    let mut random = [0; 8];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let creation = u64::from_le_bytes(random);
    let value = format!("{VERSION} {creation:016x}");
    match fsetxattr(file, ATTRIBUTE, value.as_bytes(), XattrFlags::empty()) {
        Ok(()) | Err(Errno::OPNOTSUPP) => {}
        Err(error) => return Err(error.into()),
    }
    let mut header = [0; HEADER_BYTES];
    write_header(&mut header, 0, 0, creation);
    HeaderKind::MadeFile.put(&mut header);
    file.write_all_at(&header, 0)
}

/// Whether iostall created the file, according to both marks.
pub fn made_by_iostall(path: &Path) -> io::Result<bool> {
    // O_NONBLOCK: a FIFO in the file's place must not block until a writer appears.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    is_marked(&OpenOptions::new().read(true).custom_flags(flags).open(path)?)
}

pub(super) fn is_marked(file: &File) -> io::Result<bool> {
    let mut head = vec![0; HEAD_BYTES];
    let length = ReadAt::read_at(file, &mut head, 0)?;
    head.truncate(length);
    if has_partition_table(&head) {
        return Ok(false);
    }
    let header_alone_counts = match HeaderKind::of(&head) {
        Some(HeaderKind::MadeFile) => true,
        // Written by an older version, either to a file that it created or to a device of which this is an
        // image.
        Some(HeaderKind::Unknown) => false,
        Some(HeaderKind::Block) | None => return Ok(false),
    };
    let mut value = [0; 64];
    match fgetxattr(file, ATTRIBUTE, &mut value[..]) {
        Ok(length) => Ok(is_attribute(&value[..length])),
        Err(Errno::OPNOTSUPP) => Ok(header_alone_counts),
        // Longer than anything iostall writes, or missing.
        Err(Errno::NODATA | Errno::RANGE) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether the file has become a disk image. A partition table leaves the first bytes, and thus our header,
/// to the boot loader.
fn has_partition_table(head: &[u8]) -> bool {
    let is_gpt =
        [512, 4096].iter().any(|at| head.get(*at..).is_some_and(|rest| rest.starts_with(b"EFI PART")));
    // Two bytes may match by coincidence, but hardly the flags of four partitions.
    let is_flag = |at: usize| matches!(head.get(at), Some(0 | 0x80));
    let is_mbr = head.get(510..512) == Some(&[0x55, 0xaa]) && [446, 462, 478, 494].into_iter().all(is_flag);
    is_gpt || is_mbr
}

fn is_attribute(value: &[u8]) -> bool {
    let Some((version, creation)) = std::str::from_utf8(value).ok().and_then(|text| text.split_once(' '))
    else {
        return false;
    };
    version == VERSION && creation.len() == 16 && creation.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_another_form_or_version_do_not_count() {
        assert!(is_attribute(b"1 0123456789abcdef"));
        for other in
            [&b"2 0123456789abcdef"[..], b"1", b"", b"1 012", b"1 0123456789abcdeg", b"\xff\xff \x00"]
        {
            assert!(!is_attribute(other));
        }
    }

    #[test]
    fn a_marked_file_is_known_again_and_a_fresh_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scratch");
        let file = File::create_new(&path).unwrap();
        assert!(!made_by_iostall(&path).unwrap());
        mark_made_by_iostall(&file).unwrap();
        assert!(made_by_iostall(&path).unwrap());
    }

    #[test]
    fn user_data_copied_over_a_scratch_file_is_not_ours() {
        // The copy keeps the inode, and with it the attribute.
        let directory = tempfile::tempdir().unwrap();
        let (scratch, precious) = (directory.path().join("scratch"), directory.path().join("precious"));
        mark_made_by_iostall(&File::create_new(&scratch).unwrap()).unwrap();
        std::fs::write(&precious, vec![b'p'; 8192]).unwrap();
        std::fs::copy(&precious, &scratch).unwrap();
        assert!(!made_by_iostall(&scratch).unwrap());
    }

    #[test]
    fn a_copy_of_a_scratch_file_is_the_users_where_attributes_exist() {
        let directory = tempfile::tempdir().unwrap();
        let (scratch, copy) = (directory.path().join("scratch"), directory.path().join("copy"));
        let file = File::create_new(&scratch).unwrap();
        mark_made_by_iostall(&file).unwrap();
        let has_attributes = fgetxattr(&file, ATTRIBUTE, &mut [0; 64][..]).is_ok();
        std::fs::write(&copy, std::fs::read(&scratch).unwrap()).unwrap();
        assert_eq!(made_by_iostall(&copy).unwrap(), !has_attributes);
    }

    /// The image of a device that a load had written was mistaken for a scratch file and overwritten without
    /// a flag.
    #[test]
    fn a_file_that_begins_with_the_header_of_a_block_is_not_ours_even_with_the_attribute() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        let file = File::create_new(&path).unwrap();
        mark_made_by_iostall(&file).unwrap();
        let mut block = [7; 4096];
        write_header(&mut block, 0, 1, 2);
        file.write_all_at(&block, 0).unwrap();
        assert!(!made_by_iostall(&path).unwrap());
    }

    /// A scratch file became the disk of a virtual machine, whose partition table left our header in place.
    #[test]
    fn a_file_of_ours_that_has_become_a_disk_is_the_users() {
        let directory = tempfile::tempdir().unwrap();
        let tables: [(u64, &[u8]); 3] = [(512, b"EFI PART"), (4096, b"EFI PART"), (510, b"\x55\xaa")];
        for (index, (at, table)) in tables.into_iter().enumerate() {
            let path = directory.path().join(index.to_string());
            let file = File::create_new(&path).unwrap();
            mark_made_by_iostall(&file).unwrap();
            file.set_len(1 << 20).unwrap();
            assert!(made_by_iostall(&path).unwrap());
            file.write_all_at(table, at).unwrap();
            assert!(!made_by_iostall(&path).unwrap(), "{table:?}");
        }
        let filled = directory.path().join("filled");
        let file = File::create_new(&filled).unwrap();
        mark_made_by_iostall(&file).unwrap();
        file.write_all_at(&[b"\x01".repeat(478), b"\x55\xaa".to_vec()].concat(), 32).unwrap();
        assert!(made_by_iostall(&filled).unwrap(), "two bytes of data make no table");
    }

    #[test]
    fn a_file_of_an_older_version_is_known_by_its_attribute_and_by_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let [made, image] = ["made", "image"].map(|name| directory.path().join(name));
        let file = File::create_new(&made).unwrap();
        mark_made_by_iostall(&file).unwrap();
        let has_attributes = fgetxattr(&file, ATTRIBUTE, &mut [0; 64][..]).is_ok();
        file.write_all_at(b"IOSTALL1", 0).unwrap();
        assert_eq!(made_by_iostall(&made).unwrap(), has_attributes);
        std::fs::write(&image, std::fs::read(&made).unwrap()).unwrap();
        assert!(!made_by_iostall(&image).unwrap());
    }
}
