//! A list of files to copy.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use iostall_engine::files::path_from_bytes;
use thiserror::Error;

/// Names below the source directory. A directory in it stands for everything in that directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileList {
    /// In the order of the list, without repetitions.
    names: Vec<PathBuf>,
    named: HashSet<PathBuf>,
    /// Directories on the way to them.
    above: HashSet<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// It is in the list, or in a directory that is.
    Yes,
    /// It leads to something in the list.
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
    use super::*;

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
}
