//! Which files of the sources are copied: by name, by size, by age, or from a list.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use iostall_engine::files::{FileKind, FileStamp, path_from_bytes};
use thiserror::Error;

mod pattern;

pub use pattern::{NamePattern, NamePatternError};

/// A pattern, and whether the names that match it are copied or left out.
#[derive(Clone, Debug)]
pub struct NameRule {
    pub includes: bool,
    pub pattern: NamePattern,
}

/// See the module. By default everything is selected.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The first rule whose pattern matches decides, as with rsync; a name that matches none is copied.
    pub rules: Vec<NameRule>,
    pub min_bytes: Option<u64>,
    pub max_bytes: Option<u64>,
    /// Regular files modified before this are left out, nanoseconds since 1970.
    pub modified_since_ns: Option<i128>,
    /// Regular files modified at this time or later are left out, nanoseconds since 1970.
    pub modified_before_ns: Option<i128>,
    /// Only these, and everything in the directories among them.
    pub list: Option<FileList>,
}

impl Selection {
    /// Whether the rules let a name through. `relative` starts at the source directory, or is the name of a
    /// source that is a file. An excluded directory is left out with everything in it.
    pub fn admits_name(&self, relative: &Path, is_directory: bool) -> bool {
        let decides = |rule: &&NameRule| rule.pattern.matches(relative, is_directory);
        self.rules.iter().find(decides).is_none_or(|rule| rule.includes)
    }

    pub(super) fn admits(&self, relative: &Path, stat: &FileStamp) -> bool {
        let is_directory = stat.kind == FileKind::Directory;
        let is_listed = match self.list.as_ref().map(|list| list.listed(relative)) {
            None | Some(Listed::Yes) => true,
            Some(Listed::Above) => is_directory,
            Some(Listed::No) => false,
        };
        is_listed
            && self.admits_name(relative, is_directory)
            && (stat.kind != FileKind::Regular || self.admits_content(stat))
    }

    fn admits_content(&self, stat: &FileStamp) -> bool {
        self.min_bytes.is_none_or(|least| stat.size_bytes >= least)
            && self.max_bytes.is_none_or(|most| stat.size_bytes <= most)
            && self.modified_since_ns.is_none_or(|since_ns| stat.modified_ns >= since_ns)
            && self.modified_before_ns.is_none_or(|before_ns| stat.modified_ns < before_ns)
    }
}

/// Names below the source directory. A directory in it stands for everything in that directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileList {
    /// In the order of the list, without repetitions.
    names: Vec<PathBuf>,
    named: HashSet<PathBuf>,
    above: HashSet<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// It is in the list, or in a directory that is.
    Yes,
    Above,
    No,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileListError {
    #[error("name {number} of the list, {}, leads out of the source directory", name.display())]
    Outside {
        /// Counted from 1.
        number: usize,
        name: PathBuf,
    },
    #[error("the list has no name")]
    Empty,
}

impl FileList {
    /// Reads names that end in `end`, a line break or a zero byte. A slash at the beginning is dropped, as
    /// rsync does: all names are below the source.
    pub fn parse(text: &[u8], end: u8) -> Result<Self, FileListError> {
        let mut list = Self::default();
        let named = text.split(|byte| *byte == end).filter(|name| !name.is_empty());
        for (at, name) in named.enumerate() {
            let name = path_from_bytes(name.to_vec());
            let mut relative = PathBuf::new();
            for component in name.components() {
                match component {
                    Component::Normal(part) => relative.push(part),
                    Component::RootDir | Component::CurDir => {}
                    Component::ParentDir | Component::Prefix(_) => {
                        return Err(FileListError::Outside { number: at + 1, name });
                    }
                }
            }
            list.add(relative);
        }
        if list.names.is_empty() { Err(FileListError::Empty) } else { Ok(list) }
    }

    fn add(&mut self, relative: PathBuf) {
        for above in relative.ancestors().skip(1) {
            // If this one is known, so are all above it.
            if !self.above.insert(above.to_owned()) {
                break;
            }
        }
        if self.named.insert(relative.clone()) {
            self.names.push(relative);
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &Path> {
        self.names.iter().map(PathBuf::as_path)
    }

    pub fn is_named(&self, relative: &Path) -> bool {
        self.named.contains(relative)
    }

    pub fn listed(&self, relative: &Path) -> Listed {
        if relative.ancestors().any(|path| self.named.contains(path)) {
            Listed::Yes
        } else if self.above.contains(relative) {
            Listed::Above
        } else {
            Listed::No
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn selection(rules: &[&str]) -> Selection {
        let rule = |text: &&str| NameRule {
            includes: text.starts_with('+'),
            pattern: NamePattern::new(&text[1..]).unwrap(),
        };
        Selection { rules: rules.iter().map(rule).collect(), ..Selection::default() }
    }

    fn copied(selection: &Selection, names: &[&str]) -> Vec<String> {
        let admitted = |name: &&&str| {
            let (path, is_directory) = (Path::new(name.trim_end_matches('/')), name.ends_with('/'));
            selection.admits_name(path, is_directory)
        };
        names.iter().filter(admitted).map(|name| (*name).to_owned()).collect()
    }

    /// The examples in rsync's manual page.
    #[test]
    fn the_first_pattern_that_matches_decides_and_other_names_are_copied() {
        let names = ["a.mdf", "a.tmp", "deep/b.tmp", "deep/", "temp/", "deep/temp/", "temp"];
        assert_eq!(copied(&selection(&[]), &names), names);
        assert_eq!(
            copied(&selection(&["-*.tmp"]), &names),
            ["a.mdf", "deep/", "temp/", "deep/temp/", "temp"]
        );
        assert_eq!(
            copied(&selection(&["+a.tmp", "-*.tmp", "-temp/"]), &names),
            ["a.mdf", "a.tmp", "deep/", "temp"]
        );
        assert_eq!(copied(&selection(&["-*.tmp", "+a.tmp"]), &["a.tmp"]), [""; 0]);
        assert_eq!(
            copied(&selection(&["-/temp"]), &names),
            ["a.mdf", "a.tmp", "deep/b.tmp", "deep/", "deep/temp/"]
        );
        assert_eq!(
            copied(&selection(&["+*.mdf", "+*/", "-*"]), &names),
            ["a.mdf", "deep/", "temp/", "deep/temp/"]
        );
        assert_eq!(copied(&selection(&["-deep/*"]), &["deep/b", "x/deep/b", "deep/x/b"]), ["deep/x/b"]);
        let in_cache = ["cache/", "cache/a", "cache/b/c", "x/cache/", "x/cache/d", "cache", "other"];
        assert_eq!(copied(&selection(&["-cache/***"]), &in_cache), ["cache", "other"]);
        assert_eq!(copied(&selection(&["+/cache/***", "-*"]), &in_cache), ["cache/", "cache/a", "cache/b/c"]);
        assert_eq!(copied(&selection(&["-deep/**"]), &["deep/b", "deep/x/b", "deeper/b"]), ["deeper/b"]);
    }

    #[test]
    fn sizes_and_times_apply_to_regular_files_and_their_limits_are_inside() {
        let selection = Selection {
            min_bytes: Some(10),
            max_bytes: Some(20),
            modified_since_ns: Some(100),
            modified_before_ns: Some(200),
            ..Selection::default()
        };
        let dir = tempfile::tempdir().unwrap();
        let stat = iostall_engine::files::stamp_of_path(dir.path()).unwrap();
        let with = |kind, size_bytes, modified_ns| {
            selection.admits(Path::new("x"), &FileStamp { kind, size_bytes, modified_ns, ..stat })
        };
        for (size_bytes, modified_ns, is_admitted) in [
            (10, 100, true),
            (20, 199, true),
            (9, 150, false),
            (21, 150, false),
            (15, 99, false),
            (15, 200, false),
        ] {
            assert_eq!(
                with(FileKind::Regular, size_bytes, modified_ns),
                is_admitted,
                "{size_bytes} {modified_ns}"
            );
            assert!(with(FileKind::Symlink, size_bytes, modified_ns));
            assert!(with(FileKind::Directory, size_bytes, modified_ns));
        }
    }

    /// Matches one component letter by letter.
    fn component_matches(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|taken| component_matches(rest, &name[taken..])),
            Some((b'?', rest)) => !name.is_empty() && component_matches(rest, &name[1..]),
            Some((letter, rest)) => name.first() == Some(letter) && component_matches(rest, &name[1..]),
        }
    }

    fn path_matches(pattern: &[&str], path: &[&str]) -> bool {
        match pattern.split_first() {
            None => path.is_empty(),
            // At the end it needs at least one component.
            Some((&"**", [])) => !path.is_empty(),
            Some((&"**", rest)) => (0..=path.len()).any(|taken| path_matches(rest, &path[taken..])),
            Some((first, rest)) => {
                path.first().is_some_and(|name| component_matches(first.as_bytes(), name.as_bytes()))
                    && path_matches(rest, &path[1..])
            }
        }
    }

    /// rsync's rules, spelled out: a pattern that begins with a slash starts at the source, any other may
    /// start in any directory; one that ends in a slash is for directories.
    fn naive(rules: &[String], path: &str, is_directory: bool) -> bool {
        let components: Vec<&str> = path.split('/').collect();
        for rule in rules {
            let (sign, text) = rule.split_at(1);
            if text.ends_with('/') && !is_directory {
                continue;
            }
            let pattern: Vec<&str> = text.trim_matches('/').split('/').collect();
            let starts = if text.starts_with('/') { 1 } else { components.len() };
            if (0..starts).any(|start| path_matches(&pattern, &components[start..])) {
                return sign == "+";
            }
        }
        true
    }

    proptest! {
        #[test]
        fn rules_decide_as_a_naive_matcher_does(
            rules in prop::collection::vec("[+-]/?([ab*?]{1,3}|\\*\\*)(/([ab*?]{1,2}|\\*\\*)){0,2}/?", 0..4),
            path in "[ab]{1,3}(/[ab]{1,3}){0,3}",
            is_directory: bool,
        ) {
            let texts: Vec<&str> = rules.iter().map(String::as_str).collect();
            let admitted = selection(&texts).admits_name(Path::new(&path), is_directory);
            prop_assert_eq!(admitted, naive(&rules, &path, is_directory), "{:?} {}", rules, path);
        }
    }

    #[test]
    fn a_list_has_files_and_whole_directories_and_what_leads_to_them() {
        let list = FileList::parse(b"/a/b/file\n./dir/\na/b/file\n\nodd\r\n", b'\n').unwrap();
        assert_eq!(list.names().count(), 3);
        for (path, listed) in [
            ("", Listed::Above),
            ("a", Listed::Above),
            ("a/b", Listed::Above),
            ("a/b/file", Listed::Yes),
            ("a/b/other", Listed::No),
            ("dir", Listed::Yes),
            ("dir/deep/x", Listed::Yes),
            ("odd\r", Listed::Yes),
            ("c", Listed::No),
        ] {
            assert_eq!(list.listed(Path::new(path)), listed, "{path}");
        }
        let zero = FileList::parse(b"a\nb\0c\0", b'\0').unwrap();
        assert_eq!(zero.names().collect::<Vec<_>>(), [Path::new("a\nb"), Path::new("c")]);
        assert_eq!(FileList::parse(b".\n", b'\n').unwrap().listed(Path::new("any/file")), Listed::Yes);
    }

    #[test]
    fn a_name_that_leads_out_of_the_source_is_refused() {
        let refused = FileList::parse(b"a\nb/../../etc/passwd\n", b'\n').unwrap_err();
        assert!(refused.to_string().contains("name 2 of the list"), "{refused}");
        assert_eq!(FileList::parse(b"\n\n", b'\n'), Err(FileListError::Empty));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "/", "//"] {
            assert_eq!(NamePattern::new(text).unwrap_err(), NamePatternError::Empty);
        }
        for text in ["a{b/c,d}", "a[/]b"] {
            assert_eq!(NamePattern::new(text).unwrap_err(), NamePatternError::Slash, "{text}");
        }
        for text in ["a[b", "a{b", "/a\\"] {
            assert!(matches!(NamePattern::new(text), Err(NamePatternError::Syntax(_))), "{text}");
        }
    }

    #[test]
    fn names_that_are_not_text_match_too() {
        let name = iostall_engine::files::path_from_bytes(b"dir/odd-\xff.tmp".to_vec());
        assert!(NamePattern::new("*.tmp").unwrap().matches(&name, false));
        assert!(NamePattern::new("/dir/odd-?.tmp").unwrap().matches(&name, false));
    }

    #[test]
    fn classes_alternatives_and_an_exclamation_mark_are_what_they_look_like() {
        for (pattern, path, is_match) in [
            ("[a-c]?.{mdf,ldf}", "x/b1.ldf", true),
            ("[!a-c]*", "b1", false),
            ("[!a-c]*", "d1", true),
            ("!a", "x/!a", true),
            ("/!a", "!a", true),
            ("/!a", "b", false),
            ("a**b", "a/b", false),
            ("a\\**", "a*b", true),
            ("a\\**", "ab", false),
            ("?**/**", "a", false),
            ("/a//b", "a/b", false),
            ("a**b", "axxb", true),
        ] {
            let matches = NamePattern::new(pattern).unwrap().matches(Path::new(path), false);
            assert_eq!(matches, is_match, "{pattern} {path}");
        }
    }
}
