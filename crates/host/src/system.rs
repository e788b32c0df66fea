//! Reads kernel files below a root that tests can replace.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

#[derive(Debug, Error)]
#[error("cannot read {path}: {source}", path = path.display())]
pub struct Unreadable {
    pub path: PathBuf,
    pub source: io::Error,
}

/// A tree with `proc` and `sys` in it: the real one, or a fake one in a test.
#[derive(Clone, Debug)]
pub struct System {
    root: PathBuf,
}

impl System {
    pub fn here() -> Self {
        Self::at("/")
    }

    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Maps the absolute `path` of that system to a real path.
    pub(crate) fn locate(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Result<String, Unreadable> {
        let path = self.locate(path);
        read_text(&path).map_err(|source| Unreadable { path, source })
    }

    /// The text of a file; `None` if it is missing, unreadable or not UTF-8.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        read_text(&self.locate(path)).ok()
    }

    /// The trimmed text of a one-line file; `None` also if it is empty.
    pub fn line(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = self.text(path)?;
        let line = text.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    pub(crate) fn number<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.line(path)?.parse().ok()
    }

    pub(crate) fn bytes(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        read_whole(&self.locate(path)).ok()
    }

    /// Names in a directory, sorted; empty if there is no such directory.
    pub fn names_in(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.locate(path)) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.file_name()))
            .filter_map(to_name)
            .collect();
        names.sort_unstable();
        names
    }

    /// The path with every link resolved, as an absolute path of that system.
    pub(crate) fn resolve(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let resolved = fs::canonicalize(self.locate(path)).ok()?;
        let root = fs::canonicalize(&self.root).ok()?;
        Some(Path::new("/").join(resolved.strip_prefix(root).ok()?))
    }

    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.locate(path).exists()
    }
}

/// The kernel gives the size of its files as 0, and a reader that grows from there asks for 32 bytes, then 64, and so on: a dozen calls
/// for counters that then are not all of one moment. Most of its files fit one read of this size.
const FIRST_READ_BYTES: usize = 8 << 10;

pub(crate) fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(FIRST_READ_BYTES);
    File::open(path)?.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_whole(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

fn to_name(name: OsString) -> Option<String> {
    name.into_string().ok()
}

/// A device number in the format of `/sys/dev/block` and mountinfo.
pub fn device_number(device: u64) -> String {
    format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device))
}

/// How many numbers a kernel list such as `0-3,8,10-11` has; `None` for anything else.
pub(crate) fn list_length(numbers: &str) -> Option<u32> {
    let mut count: u32 = 0;
    for part in numbers.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

/// More processors than Linux supports.
const LIST_MAX: u32 = 65_536;

/// The numbers in the list, in order; `None` if one is larger than any system has.
pub(crate) fn list_numbers(numbers: &str) -> Option<Vec<u32>> {
    if list_length(numbers)? > LIST_MAX {
        return None;
    }
    let mut found = Vec::new();
    for part in numbers.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        found.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(found)
}

/// The trimmed value of the first line `key : value` or `key: value`.
pub(crate) fn keyed<'text>(text: &'text str, key: &str) -> Option<&'text str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
        .filter(|value| !value.is_empty())
}

/// Bytes in a line such as `MemTotal:  24684100 kB`.
pub(crate) fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let count: u64 = keyed(text, key)?.strip_suffix("kB")?.trim().parse().ok()?;
    count.checked_mul(1024)
}

/// A fake tree with the given files. It lasts as long as the returned directory.
#[cfg(test)]
pub(crate) fn made_up(files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let system = System::at(root.path());
    (root, system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_lists_are_counted_and_nonsense_is_not() {
        assert_eq!(list_length("0-3,8,10-11\n"), Some(7));
        assert_eq!(list_length("0"), Some(1));
        for odd in ["", "a", "3-1", "1,,2", "0-4294967295"] {
            assert_eq!(list_length(odd), None, "{odd:?}");
            assert_eq!(list_numbers(odd), None, "{odd:?}");
        }
        assert_eq!(list_numbers("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!(list_numbers("0-4294967294"), None, "it would fill the memory");
    }

    #[test]
    fn keyed_lines_are_found_with_any_spacing() {
        let text = "MemTotal:       24684100 kB\nmodel name\t: AMD EPYC\nempty:\nDirty: x kB\n";
        assert_eq!(kilobytes(text, "MemTotal"), Some(24_684_100 * 1024));
        assert_eq!(keyed(text, "model name"), Some("AMD EPYC"));
        assert_eq!(keyed(text, "empty"), None);
        assert_eq!(kilobytes(text, "Dirty"), None);
        assert_eq!(kilobytes(text, "Writeback"), None);
    }

    #[test]
    fn paths_are_found_below_the_root_and_links_do_not_leave_it() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("sys/real")).unwrap();
        std::os::unix::fs::symlink("real", root.path().join("sys/link")).unwrap();
        std::os::unix::fs::symlink("/usr", root.path().join("sys/out")).unwrap();
        fs::write(root.path().join("sys/real/size"), " 42\n").unwrap();
        let system = System::at(root.path());
        assert_eq!(system.resolve("/sys/link"), Some(PathBuf::from("/sys/real")));
        assert_eq!(system.resolve("/sys/out"), None);
        assert_eq!(system.number::<u64>("/sys/link/size"), Some(42));
        assert_eq!(system.number::<u64>("/sys/link/none"), None);
        assert_eq!(system.names_in("/sys"), ["link", "out", "real"]);
    }
}
