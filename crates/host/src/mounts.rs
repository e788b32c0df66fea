//! `/proc/self/mountinfo`: which file system is mounted where.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iostall_measure::platform::FileSystem;
use rustix::fs::{AtFlags, CWD, StatxFlags, statvfs, statx};

use crate::system::{System, Unreadable, device_number};

/// One line of mountinfo (`man 5 proc_pid_mountinfo`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Unique while it is mounted.
    pub id: u64,
    /// `major:minor` of the file system; major 0 if it is on no single device.
    pub number: String,
    /// The directory (or file) of the file system that is mounted.
    pub root: PathBuf,
    pub mount_point: PathBuf,
    pub mount_options: String,
    pub kind: String,
    pub source: String,
    pub super_options: String,
}

impl Mount {
    /// Options of the mount and the file system in one list without duplicates.
    pub fn options(&self) -> String {
        let mut all: Vec<&str> = self.mount_options.split(',').collect();
        for option in self.super_options.split(',') {
            if !all.contains(&option) {
                all.push(option);
            }
        }
        all.join(",")
    }

    /// Value of a file system option, such as `upperdir`.
    pub fn super_option(&self, name: &str) -> Option<&str> {
        self.super_options
            .split(',')
            .filter_map(|option| option.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    }
}

/// Mount point of the device `number`; always the first of several, so that every caller gets the same.
pub fn mount_point_of(mounts: &[Mount], number: &str) -> Option<String> {
    mounts.iter().find(|mount| mount.number == number).map(|mount| mount.mount_point.display().to_string())
}

impl System {
    /// All mounts that this process sees; empty if they cannot be read.
    pub fn mounts(&self) -> Vec<Mount> {
        self.read_mounts().unwrap_or_default()
    }

    pub fn read_mounts(&self) -> Result<Vec<Mount>, Unreadable> {
        self.read("/proc/self/mountinfo").map(|text| parse(&text))
    }
}

impl System {
    pub fn swaps(&self) -> Vec<PathBuf> {
        self.text("/proc/swaps").map(|text| parse_swaps(&text)).unwrap_or_default()
    }
}

/// A header, then lines `name type size used priority`.
fn parse_swaps(text: &str) -> Vec<PathBuf> {
    let names = text.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().next());
    names.filter(|name| name.starts_with('/')).map(unescape_path).collect()
}

/// Skips lines that do not have the format of mountinfo.
pub(crate) fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// `id parent major:minor root mount-point options [optional fields] - type source super-options`
fn parse_line(line: &str) -> Option<Mount> {
    // Blanks in fields are escaped, so a lone hyphen is the separator.
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ');
    let id = front.next()?.parse().ok()?;
    let _parent = front.next()?;
    let number = front.next()?.to_owned();
    let root = unescape_path(front.next()?);
    let mount_point = unescape_path(front.next()?);
    let mount_options = front.next()?.to_owned();
    let mut back = back.split(' ');
    let kind = back.next()?.to_owned();
    let source = unescape_path(back.next()?).to_string_lossy().into_owned();
    let super_options = unescape_path(back.next().unwrap_or_default()).to_string_lossy().into_owned();
    Some(Mount { id, number, root, mount_point, mount_options, kind, source, super_options })
}

/// The kernel escapes blank, tab, newline and backslash in names as `\040`, `\011`, `\012` and `\134`.
pub(crate) fn unescape_path(escaped: &str) -> PathBuf {
    let bytes = escaped.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'\\').then(|| bytes.get(at + 1..at + 4)).flatten().and_then(octal);
        if let Some(code) = code {
            plain.push(code);
            at += 4;
        } else {
            plain.push(bytes[at]);
            at += 1;
        }
    }
    PathBuf::from(OsString::from_vec(plain))
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// The mount of a file: by mount id if the kernel reports it, else by device number, else (subvolumes and
/// overlays have numbers of their own) by the longest mount point above the path. Of several on one mount
/// point the last hides the others.
pub(crate) fn mount_of<'a>(
    mounts: &'a [Mount],
    path: &Path,
    mount_id: Option<u64>,
    number: &str,
) -> Option<&'a Mount> {
    if let Some(found) = mount_id.and_then(|id| mounts.iter().find(|mount| mount.id == id)) {
        return Some(found);
    }
    let longest = |by_number: bool| {
        mounts
            .iter()
            .filter(|mount| !by_number || mount.number == number)
            .filter(|mount| path.starts_with(&mount.mount_point))
            .max_by_key(|mount| mount.mount_point.as_os_str().as_bytes().len())
    };
    longest(true).or_else(|| longest(false))
}

impl System {
    /// The file system that holds `path`; `None` if its mount is unknown.
    pub fn file_system_of(&self, path: &Path) -> Option<FileSystem> {
        let mount = self.mount_of(path)?;
        let space = statvfs(path).ok()?;
        Some(FileSystem {
            options: mount.options(),
            kind: mount.kind,
            mount_point: mount.mount_point,
            source: mount.source,
            block_bytes: space.f_frsize,
            free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
            total_bytes: space.f_blocks.saturating_mul(space.f_frsize),
        })
    }

    pub fn mount_of(&self, path: &Path) -> Option<Mount> {
        let path = std::fs::canonicalize(path).ok()?;
        let number = device_number(std::fs::metadata(&path).ok()?.dev());
        mount_of(&self.mounts(), &path, mount_id(&path), &number).cloned()
    }
}

/// Id of the mount that holds a path, the first field of mountinfo. Available since Linux 5.8.
fn mount_id(path: &Path) -> Option<u64> {
    let answer = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    (answer.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(answer.stx_mnt_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resv_strict
30 25 0:27 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw,size=24684100k
60 27 8:17 / /srv/my\\040data rw,noatime shared:9 master:1 - xfs /dev/sdb1 rw,attr2
61 27 0:45 /@ /srv rw,relatime - btrfs /dev/sdc rw,ssd,subvolid=256,subvol=/@
62 27 0:50 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/up/per,workdir=/w
broken line
63 27 8:33 / /x rw - ext4
64 27 8:18 / /srv/my\\040data rw - ext4 /dev/sdb2 rw
";

    #[test]
    fn lines_are_parsed_with_escapes_and_optional_fields_and_broken_ones_are_left_out() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.iter().map(|mount| mount.id).collect::<Vec<_>>(), [27, 30, 60, 61, 62, 64]);
        assert_eq!(mounts[2].mount_point, Path::new("/srv/my data"));
        assert_eq!(mounts[2].number, "8:17");
        assert_eq!(mounts[2].options(), "rw,noatime,attr2");
        assert_eq!(mounts[3].root, Path::new("/@"));
        assert_eq!(mounts[4].super_option("upperdir"), Some("/up/per"));
        assert_eq!(mounts[4].super_option("none"), None);
    }

    #[test]
    fn a_path_belongs_to_the_mount_told_then_to_its_device_then_to_the_longest_and_latest() {
        let mounts = parse(TEXT);
        let on = |path: &str, id, number: &str| {
            mount_of(&mounts, Path::new(path), id, number).map(|mount| mount.id)
        };
        assert_eq!(on("/srv/my data/f", Some(61), "8:17"), Some(61));
        assert_eq!(on("/srv/my data/f", Some(999), "8:17"), Some(60));
        assert_eq!(on("/srv/my data/f", None, "254:0"), Some(27));
        assert_eq!(on("/srv/my data/f", None, "0:99"), Some(64));
        assert_eq!(on("/srv/other", None, "0:46"), Some(61));
        assert_eq!(mount_of(&[], Path::new("/"), None, "1:1"), None);
    }

    #[test]
    fn a_device_mounted_twice_is_known_by_its_first_place() {
        let mounts = parse("36 25 259:3 / /a rw - ext4 /dev/x rw\n37 25 259:3 / /b rw - ext4 /dev/x rw\n");
        assert_eq!(mount_point_of(&mounts, "259:3").as_deref(), Some("/a"));
        assert_eq!(mount_point_of(&mounts, "8:0"), None);
    }

    #[test]
    fn swaps_are_read_below_the_heading() {
        let text = "Filename\t\tType\t\tSize\n/dev/dm-1   partition\t99\n/swap\\040file file 1\n";
        assert_eq!(parse_swaps(text), [Path::new("/dev/dm-1"), Path::new("/swap file")]);
        assert_eq!(parse_swaps(""), [] as [PathBuf; 0]);
    }

    #[test]
    fn escapes_are_decoded_and_what_only_looks_like_one_stays() {
        assert_eq!(unescape_path("a\\134b\\011"), Path::new("a\\b\t"));
        assert_eq!(unescape_path("end\\04"), Path::new("end\\04"));
        assert_eq!(unescape_path("\\999\\"), Path::new("\\999\\"));
    }

    #[test]
    fn proc_is_told_to_be_proc() {
        let found = System::here().file_system_of(Path::new("/proc/self/status")).unwrap();
        assert_eq!((found.kind.as_str(), found.mount_point.as_path()), ("proc", Path::new("/proc")));
    }

    #[test]
    fn the_file_system_of_a_file_has_space_and_its_mount_point_is_above_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let found = System::here().file_system_of(directory.path()).unwrap();
        assert!(directory.path().canonicalize().unwrap().starts_with(&found.mount_point));
        assert!(found.total_bytes >= found.free_bytes && found.block_bytes > 0);
        assert_eq!(System::here().file_system_of(&directory.path().join("absent")), None);
    }
}
