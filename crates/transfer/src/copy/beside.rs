//! Temporary names next to a destination.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use iostall_engine::files::{path_bytes, path_from_bytes};
use xxhash_rust::xxh3::xxh3_64;

const NAME_BYTES_MAX: usize = 255;
/// Length of what is added to the name: `.` + `.iostall-XXXXXXXX.journal`.
const AFFIX_BYTES: usize = 26;

/// `.NAME.iostall-XXXXXXXX.SUFFIX` in the directory of `target`. The digits are a hash of the full name, so
/// that long names that must be cut do not collide. The result depends only on the name, so that an
/// interrupted copy is found again.
fn beside(target: &Path, suffix: &str) -> PathBuf {
    let name = path_bytes(Path::new(target.file_name().unwrap_or(OsStr::new("unnamed"))));
    let [.., a, b, c, d] = xxh3_64(name).to_be_bytes();
    let mut made = vec![b'.'];
    made.extend_from_slice(beginning(name, NAME_BYTES_MAX - AFFIX_BYTES));
    made.extend_from_slice(format!(".iostall-{a:02x}{b:02x}{c:02x}{d:02x}.{suffix}").as_bytes());
    target.with_file_name(path_from_bytes(made))
}

/// At most `bytes` of a name, cut at a character boundary: some file systems reject half a character.
fn beginning(name: &[u8], bytes: usize) -> &[u8] {
    let end = name.len().min(bytes);
    let whole = std::str::from_utf8(name).map_or(end, |text| {
        // A character has at most four bytes, and offset 0 is always a boundary.
        (0..=end).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
    });
    &name[..whole]
}

pub fn part_path(target: &Path) -> PathBuf {
    beside(target, "part")
}

pub fn journal_path(target: &Path) -> PathBuf {
    beside(target, "journal")
}

/// Temporary name of a new journal of `target`, before it replaces the old one.
pub(super) fn new_journal_path(target: &Path) -> PathBuf {
    beside(target, "fresh")
}

/// Name of a file next to `target` that is created to find out how precisely the file system stores times.
pub(super) fn trial_path(target: &Path) -> PathBuf {
    beside(target, "trial")
}

/// Name of the directory in which a backup is restored, until all of it is there.
pub(crate) fn restore_path(target: &Path) -> PathBuf {
    beside(target, "restore")
}

/// Name of what a restore replaces, until the new one has its name.
pub(crate) fn replaced_path(target: &Path) -> PathBuf {
    beside(target, "before")
}

/// Name of what a mirror makes in place of something of another kind, until all of it is there.
pub(super) fn changed_path(target: &Path) -> PathBuf {
    beside(target, "changed")
}

pub(super) fn is_changed_name(name: &OsStr) -> bool {
    is_part_name(name) && path_bytes(Path::new(name)).ends_with(b".changed")
}

pub(super) fn unmarked_path(tree: &Path) -> PathBuf {
    beside(tree, "root")
}

pub(super) fn mark_path(tree: &Path) -> PathBuf {
    beside(&tree.join("unfinished"), "tree")
}

/// Whether a name belongs to an unfinished copy. Such files are skipped when a tree is copied.
pub fn is_part_name(name: &OsStr) -> bool {
    let name = path_bytes(Path::new(name));
    let suffixes: [&[u8]; 9] = [
        b".part",
        b".journal",
        b".fresh",
        b".trial",
        b".root",
        b".tree",
        b".restore",
        b".before",
        b".changed",
    ];
    let Some(stem) = suffixes.iter().find_map(|suffix| name.strip_suffix(*suffix)) else { return false };
    let Some(at) = stem.len().checked_sub(8 + b".iostall-".len()) else { return false };
    stem.first() == Some(&b'.')
        && stem[at..].starts_with(b".iostall-")
        && stem[stem.len() - 8..].iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_destination_is_recognised_by_its_name() {
        let long = "x".repeat(255);
        for name in ["data.mdf", "a", long.as_str()] {
            for made in [
                part_path,
                journal_path,
                new_journal_path,
                trial_path,
                mark_path,
                unmarked_path,
                restore_path,
                replaced_path,
                changed_path,
            ]
            .map(|of| of(Path::new(name)))
            {
                let made = made.file_name().unwrap().to_owned();
                assert!(made.len() <= NAME_BYTES_MAX, "{} bytes", made.len());
                assert!(is_part_name(&made), "{}", made.display());
            }
        }
        for name in ["data.part", ".iostall-0123456.part", ".x.iostall-01234567.parts", ".part"] {
            assert!(!is_part_name(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn long_names_that_begin_alike_have_parts_of_their_own() {
        let (one, two) = ("x".repeat(254) + "1", "x".repeat(254) + "2");
        assert_ne!(part_path(Path::new(&one)), part_path(Path::new(&two)));
    }

    #[test]
    fn a_long_name_is_not_cut_within_a_character() {
        for (name, kept) in [("ä".repeat(127), 228), ("x".repeat(255), 229)] {
            assert_eq!(beginning(name.as_bytes(), NAME_BYTES_MAX - AFFIX_BYTES).len(), kept);
            assert!(part_path(Path::new(&name)).to_str().is_some());
        }
        assert_eq!(beginning(&[0xff; 255], 10), [0xff; 10]);
    }
}
