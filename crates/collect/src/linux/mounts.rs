//! From a file to the device under it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// `major:minor` as the kernel counts the device in diskstats; `0:N` where there is no single device (btrfs,
    /// overlay, NFS, tmpfs).
    pub device: String,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Kind of file system.
    pub file_system: String,
}

impl Mount {
    /// Whether diskstats counts its I/O under its device number.
    pub fn has_device(&self) -> bool {
        !self.device.starts_with("0:")
    }
}

/// The file systems this process sees.
pub fn mounts() -> io::Result<Vec<Mount>> {
    std::fs::read_to_string("/proc/self/mountinfo").map(|text| parse(&text))
}

/// Reads the text of a `mountinfo` file: field 3 is the device, 5 the mount point; behind a lone dash comes the
/// file system.
pub(super) fn parse(text: &str) -> Vec<Mount> {
    text.lines()
        .filter_map(|line| {
            let (front, back) = line.split_once(" - ")?;
            let mut fields = front.split(' ').skip(2);
            let device = fields.next()?.to_owned();
            let point = PathBuf::from(unescape(fields.nth(1)?));
            Some(Mount { device, point, file_system: back.split(' ').next()?.to_owned() })
        })
        .collect()
}

/// Where the device `number` is mounted: of several places the first, so that all who ask name the same.
pub(super) fn point_of(mounts: &[Mount], number: &str) -> Option<String> {
    mounts.iter().find(|mount| mount.device == number).map(|mount| mount.point.display().to_string())
}

/// Blanks and the like stand as a backslash and three octal digits.
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let octal = bytes.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = octal.filter(|_| bytes[at] == b'\\');
        if let Some(byte) = escaped.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            out.push(byte);
            at += 4;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The number of the device that holds the file at `path`, as diskstats writes it; `0:N` where no single device
/// does.
pub fn device_of(path: &Path) -> io::Result<String> {
    let device = std::fs::metadata(path)?.dev();
    Ok(format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_with_a_blank_is_read_whole() {
        let text = "36 25 259:3 / /mnt/my\\040data rw,relatime shared:1 - ext4 /dev/nvme0n1p3 rw\n\
                    37 25 0:44 / /mnt/pool rw - btrfs /dev/sdb rw\n";
        let mounts = parse(text);
        assert_eq!(mounts[0].point, Path::new("/mnt/my data"));
        assert_eq!((mounts[0].device.as_str(), mounts[0].has_device()), ("259:3", true));
        assert_eq!((mounts[1].file_system.as_str(), mounts[1].has_device()), ("btrfs", false));
    }

    #[test]
    fn a_file_of_this_machine_lies_on_a_device_that_is_mounted() {
        let device = device_of(&std::env::current_dir().unwrap()).unwrap();
        let known = mounts().unwrap();
        assert!(!device.starts_with("0:") || known.iter().any(|mount| !mount.has_device()), "{device}");
    }
}
