//! What a file system calls itself.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Magic number of ext2, ext3 and ext4 in `statfs`: their number there is made of their UUID.
const EXT: i128 = 0xef53;

/// `FS_IOC_GETFSUUID`, which is `_IOR(0x15, 0, struct fsuuid2)`.
const FS_IOC_GETFSUUID: libc::Ioctl = 0x8011_1500_u32 as libc::Ioctl;

/// A name that it keeps wherever it is mounted. `None` if it has none, such as a share of another host, or if the kernel does not tell:
/// what `statfs` says of XFS and others is the number of a device, which another disk may have tomorrow.
pub fn file_system_uuid(directory: &File) -> io::Result<Option<String>> {
    let stat = rustix::fs::fstatfs(directory)?;
    // First, since kernels before 6.9 tell nothing else: the name must not change with the kernel.
    if i128::from(stat.f_type) & 0xffff_ffff == EXT {
        return Ok(ext_number(directory)?.map(|number| format!("{number:016x}")));
    }
    Ok(uuid(directory)
        .map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()))
}

fn ext_number(directory: &File) -> io::Result<Option<u64>> {
    // The numbers of `statfs` cannot be read through its own type; those of `statvfs` are the same.
    let number = rustix::fs::fstatvfs(directory)?.f_fsid;
    Ok((number != 0).then_some(number))
}

#[expect(unsafe_code, reason = "FS_IOC_GETFSUUID has no safe wrapper in rustix or libc")]
fn uuid(directory: &File) -> Option<[u8; 16]> {
    // `struct fsuuid2`: a length, and as many bytes.
    let mut answer = [0_u8; 17];
    // SAFETY: the descriptor is open, and the kernel writes the 17 bytes of the request at most.
    let status = unsafe { libc::ioctl(directory.as_raw_fd(), FS_IOC_GETFSUUID, answer.as_mut_ptr()) };
    let [16, bytes @ ..] = answer else { return None };
    (status == 0 && bytes != [0; 16]).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_has_one_name_in_all_of_its_directories() {
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        let name = |path: &std::path::Path| file_system_uuid(&File::open(path).unwrap()).unwrap();
        assert_eq!(name(directory.path()), name(&inside));
        assert_ne!(name(std::path::Path::new("/proc")).as_deref(), Some(""));
    }
}
