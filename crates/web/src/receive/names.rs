//! Names of what clients store. They become names of files, so that few characters are allowed, and none that a shell, a
//! terminal or XML takes for something else.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// As long as file systems take with room for what other verbs append.
const PART_BYTES_MAX: usize = 200;
const PARTS_MAX: usize = 16;

/// A path below the receiver's directory: parts between slashes, at least one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(Vec<String>);

impl Name {
    /// `None` if a part is empty, begins with a dot, is too long or has another character than the few that are allowed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<String> = text.split('/').map(str::to_owned).collect();
        let all_right = parts.len() <= PARTS_MAX && parts.iter().all(|part| is_part(part));
        all_right.then_some(Self(parts))
    }

    /// Whether it is this prefix, or below it.
    pub(super) fn is_below(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// What follows the prefix: directories, and the last part; `None` if it is not below it.
    pub(super) fn below(&self, prefix: &Self) -> Option<(PathBuf, &OsStr)> {
        let (last, directories) = self.0.strip_prefix(prefix.0.as_slice())?.split_last()?;
        Some((directories.iter().collect(), OsStr::new(last)))
    }

    /// All parts that follow the prefix.
    pub(super) fn path_below(&self, prefix: &Self) -> Option<PathBuf> {
        Some(self.0.strip_prefix(prefix.0.as_slice())?.iter().collect())
    }

    pub(super) fn to_path(&self) -> PathBuf {
        self.0.iter().map(Path::new).collect()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}

/// Whether a file of this name can be asked for.
pub(super) fn is_part(part: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+=@,".contains(&byte);
    !part.is_empty() && !part.starts_with('.') && part.len() <= PART_BYTES_MAX && part.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_lead_elsewhere_or_look_like_something_else_is_no_name() {
        for wrong in [
            "",
            "/",
            "a/",
            "/a",
            "a//b",
            ".",
            "..",
            "a/../b",
            "a/.b",
            ".a",
            "a\0b",
            "a\\b",
            "a b",
            "a\nb",
            "größe",
            "a%2fb",
            "a\u{202e}b",
            "a:b",
            "~",
            "$x",
            "a&b",
            "<a>",
        ] {
            assert_eq!(Name::parse(wrong), None, "{wrong:?}");
        }
        assert!(Name::parse(&"a".repeat(PART_BYTES_MAX)).is_some());
        assert!(Name::parse(&"a".repeat(PART_BYTES_MAX + 1)).is_none());
        assert!(Name::parse(&vec!["a"; PARTS_MAX].join("/")).is_some());
        assert!(Name::parse(&vec!["a"; PARTS_MAX + 1].join("/")).is_none());
    }

    #[test]
    fn a_prefix_ends_at_a_slash() {
        let of = |text| Name::parse(text).unwrap();
        let (prefix, name) = (of("db1"), of("db1/2026/shop.iob"));
        assert!(name.is_below(&prefix) && prefix.is_below(&prefix));
        assert_eq!(name.below(&prefix), Some((PathBuf::from("2026"), OsStr::new("shop.iob"))));
        assert_eq!(prefix.below(&prefix), None);
        assert!(!of("db10/a").is_below(&prefix) && of("db10/a").below(&prefix).is_none());
        assert_eq!(name.to_string(), "db1/2026/shop.iob");
    }
}
