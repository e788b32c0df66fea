//! What the plan of a copy holds of each file.
//!
//! A tree may have millions of files, and all are listed before the first byte is written. So an entry holds
//! no path of its own: it shares its directory with all others in it, and its paths are made when needed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostall_engine::files::{FileKind, FileStamp, path_bytes, path_from_bytes};
use iostall_model::transfer::Reflink;

use super::options::CopyOptions;
use super::part::directory_of;

const SECOND_NS: i128 = 1_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Created, with its metadata set once everything in it is there.
    Directory,
    File,
    /// A hard link to a file that is copied under this name.
    HardLink(Arc<PathBuf>),
    Symlink,
    Special,
    /// Equal at the destination, from an earlier attempt or copy.
    UpToDate,
    /// A file of the same size is at the destination, and its content decides whether it is copied.
    Compare,
    /// The destination has a newer one, which stays.
    NewerThere,
}

/// A directory of the source, its counterpart at the destination, and its names one after the other. Or a
/// source from the command line, without names.
#[derive(Debug)]
struct Folder {
    source: PathBuf,
    target: PathBuf,
    names: Box<[u8]>,
}

#[derive(Clone, Debug)]
pub(super) struct Location {
    folder: Arc<Folder>,
    /// Its name among those of the folder; empty for the folder's own paths.
    start: u32,
    length: u32,
}

impl Location {
    /// Of a source from the command line.
    pub(super) fn of_root(source: &Path, target: &Path) -> Self {
        let (source, target) = (source.to_owned(), target.to_owned());
        Self { folder: Arc::new(Folder { source, target, names: Box::default() }), start: 0, length: 0 }
    }

    pub(super) fn source(&self) -> PathBuf {
        self.under(&self.folder.source)
    }

    pub(super) fn target(&self) -> PathBuf {
        self.under(&self.folder.target)
    }

    fn under(&self, directory: &Path) -> PathBuf {
        let start = self.start as usize;
        match self.folder.names.get(start..start + self.length as usize) {
            Some(name) if !name.is_empty() => directory.join(path_from_bytes(name.to_vec())),
            _ => directory.to_owned(),
        }
    }
}

/// Where the files `names` of the directory `source` come from and go to.
pub(super) fn locate(
    source: &Path,
    target: &Path,
    names: impl IntoIterator<Item = PathBuf>,
) -> Vec<Location> {
    let mut all = Vec::new();
    let mut places: Vec<(u32, u32)> = Vec::new();
    for name in names {
        let bytes = path_bytes(&name);
        // There is not as much memory as would not fit.
        let place = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        places.push((place(all.len()), place(bytes.len())));
        all.extend_from_slice(bytes);
    }
    let (source, target, names) = (source.to_owned(), target.to_owned(), all.into_boxed_slice());
    let folder = Arc::new(Folder { source, target, names });
    let located = |(start, length)| Location { folder: Arc::clone(&folder), start, length };
    places.into_iter().map(located).collect()
}

/// A [`FileStamp`] in less space.
#[derive(Clone, Copy, Debug)]
struct PackedStamp {
    device: u64,
    inode: u64,
    size_bytes: u64,
    allocated_bytes: u64,
    special_device: u64,
    /// Accessed, modified, changed.
    seconds: [i64; 3],
    nanoseconds: [u32; 3],
    links: u32,
    mode: u32,
    uid: u32,
    gid: u32,
    kind: FileKind,
}

impl PackedStamp {
    fn of(stamp: &FileStamp) -> Self {
        let times = [stamp.accessed_ns, stamp.modified_ns, stamp.changed_ns];
        Self {
            device: stamp.device,
            inode: stamp.inode,
            size_bytes: stamp.size_bytes,
            allocated_bytes: stamp.allocated_bytes,
            special_device: stamp.special_device,
            // The kernel has 64 bits for the seconds.
            seconds: times.map(|ns| i64::try_from(ns.div_euclid(SECOND_NS)).unwrap_or(i64::MAX)),
            nanoseconds: times.map(|ns| u32::try_from(ns.rem_euclid(SECOND_NS)).unwrap_or(0)),
            // More than any file system allows.
            links: u32::try_from(stamp.links).unwrap_or(u32::MAX),
            mode: stamp.mode,
            uid: stamp.uid,
            gid: stamp.gid,
            kind: stamp.kind,
        }
    }

    fn unpacked(&self) -> FileStamp {
        let [accessed_ns, modified_ns, changed_ns] =
            [0, 1, 2].map(|at| i128::from(self.seconds[at]) * SECOND_NS + i128::from(self.nanoseconds[at]));
        FileStamp {
            device: self.device,
            inode: self.inode,
            kind: self.kind,
            size_bytes: self.size_bytes,
            allocated_bytes: self.allocated_bytes,
            accessed_ns,
            modified_ns,
            changed_ns,
            links: self.links.into(),
            mode: self.mode,
            uid: self.uid,
            gid: self.gid,
            special_device: self.special_device,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    at: Location,
    stamp: PackedStamp,
    pub(super) action: Action,
}

impl Entry {
    pub(super) fn new(at: Location, stat: &FileStamp, action: Action) -> Self {
        Self { at, stamp: PackedStamp::of(stat), action }
    }

    pub(super) fn source(&self) -> PathBuf {
        self.at.source()
    }

    pub(super) fn target(&self) -> PathBuf {
        self.at.target()
    }

    pub(super) fn paths(&self) -> (PathBuf, PathBuf) {
        (self.source(), self.target())
    }

    /// Gives it another destination.
    pub(super) fn place_at(&mut self, target: &Path) {
        self.at = Location::of_root(&self.source(), target);
    }

    pub(super) fn target_directory(&self) -> &Path {
        let Location { folder, length, .. } = &self.at;
        if *length == 0 { directory_of(&folder.target) } else { &folder.target }
    }

    pub(super) fn stat(&self) -> FileStamp {
        self.stamp.unpacked()
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.stamp.size_bytes
    }

    pub(super) fn kind(&self) -> FileKind {
        self.stamp.kind
    }

    /// Whether a file is copied as a small file. Files with holes, and those that must share blocks, are not.
    pub(super) fn is_small(&self, options: &CopyOptions) -> bool {
        is_small((self.stamp.size_bytes, self.stamp.allocated_bytes), options)
    }
}

pub(super) fn is_small((size_bytes, allocated_bytes): (u64, u64), options: &CopyOptions) -> bool {
    // A file of up to one block has no holes, or is stored in its inode.
    let has_holes = size_bytes > 4096 && allocated_bytes + 4096 <= size_bytes;
    size_bytes < options.small_file_bytes && !has_holes && options.reflink != Reflink::Always
}

#[cfg(test)]
mod tests {
    use iostall_engine::files;
    use proptest::prelude::*;

    use super::*;

    /// A plan held two whole paths and a stamp of 128 bytes for each file, and the log its path once more: for ten million files
    /// that is five gigabytes.
    #[test]
    fn an_entry_takes_128_bytes_and_its_name() {
        assert!(size_of::<Entry>() <= 128, "{} bytes", size_of::<Entry>());
        let names = ["a", "b", "long-name"];
        let located = locate(Path::new("/s"), Path::new("/t"), names.map(PathBuf::from));
        assert_eq!(located[0].folder.names.len(), names.concat().len());
        assert!(located.iter().all(|one| Arc::ptr_eq(&one.folder, &located[0].folder)));
    }

    #[test]
    fn names_lead_to_both_sides_and_a_root_is_itself() {
        let (source, target) = (Path::new("/from/here"), Path::new("/to/here"));
        let names = [PathBuf::from("b"), "a".into(), path_from_bytes(b"so\nurce \xff".to_vec())];
        let expected = names.clone().map(|name| (source.join(&name), target.join(&name)));
        let stat = files::stamp_of_path(Path::new("/")).unwrap();
        let located = locate(source, target, names);
        let entries: Vec<Entry> = located.into_iter().map(|at| Entry::new(at, &stat, Action::File)).collect();
        assert_eq!(entries.iter().map(Entry::paths).collect::<Vec<_>>(), expected);
        assert_eq!(entries[0].target_directory(), target);
        let root = Location::of_root(Path::new("from"), Path::new("/to/other"));
        let root = Entry::new(root, &stat, Action::File);
        assert_eq!(root.paths(), ("from".into(), "/to/other".into()));
        assert_eq!(root.target_directory(), Path::new("/to"));
    }

    proptest! {
        /// Files may be older than 1970, and a time that is not kept to the nanosecond makes a copied file look changed.
        #[test]
        fn a_packed_stamp_is_the_stamp(seconds: [i64; 3], nanoseconds in [0..SECOND_NS, 0..SECOND_NS, 0..SECOND_NS], rest: [u64; 5], ids: [u32; 4]) {
            let [accessed_ns, modified_ns, changed_ns] =
                [0, 1, 2].map(|at| i128::from(seconds[at]) * SECOND_NS + nanoseconds[at]);
            let [device, inode, size_bytes, allocated_bytes, special_device] = rest;
            let [mode, uid, gid, links] = ids;
            let (kind, links) = (FileKind::Symlink, u64::from(links));
            let stamp = FileStamp { device, inode, kind, size_bytes, allocated_bytes, accessed_ns, modified_ns, changed_ns, links, mode, uid, gid, special_device };
            prop_assert_eq!(PackedStamp::of(&stamp).unpacked(), stamp);
        }
    }
}
