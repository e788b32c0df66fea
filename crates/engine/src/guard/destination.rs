//! Whether a copy may rename its result to this name, replacing what is there.
//!
//! A copy does not write into an existing destination file: it renames a new file over it. So the questions
//! differ from those for a load: what is lost with the name, and will the system still allow the rename in a
//! few hours.

use std::collections::HashMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iostall_host::System;
use rustix::fs::{Access, AtFlags, CWD, OFlags, StatxAttributes, StatxFlags, accessat, statx};

use super::consent::WriteConsent;
use super::database;
use super::lock::check_unlocked;
use super::mark::is_marked;
use super::refusal::Refusal;
use crate::files::{FileKind, FileStamp};

#[derive(Clone, Debug)]
enum User {
    Swap(String),
    Loop(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removes {
    Content,
    /// Only the name: the content was copied elsewhere and verified.
    NameOnly,
}

/// Checks the destination names of one copy. Files in use are looked up once, when it is created.
#[derive(Debug)]
pub struct Destinations {
    system: System,
    consent: WriteConsent,
    in_use: HashMap<(u64, u64), User>,
}

impl Destinations {
    /// Looks up the files in use; `consent` says what may be destroyed.
    pub fn new(consent: &WriteConsent) -> Self {
        Self::on(&System::here(), consent)
    }

    fn on(system: &System, consent: &WriteConsent) -> Self {
        let mut in_use = HashMap::new();
        let mut note = |file: &Path, user: User| {
            if let Ok(metadata) = std::fs::metadata(file) {
                in_use.insert((metadata.dev(), metadata.ino()), user);
            }
        };
        for swap in system.swaps() {
            note(&swap, User::Swap(swap.display().to_string()));
        }
        for device in system.names_in("/sys/block") {
            if let Some(file) = system.backing_file(&Path::new("/sys/block").join(&device)) {
                note(&file, User::Loop(device));
            }
        }
        Self { system: system.clone(), consent: consent.clone(), in_use }
    }

    /// Whether files can be created and renamed in `directory`. Creates nothing to find out.
    pub fn check_directory(&self, directory: &Path) -> Result<(), Refusal> {
        let failed = |action| move |source| Refusal::System { path: directory.to_owned(), action, source };
        let metadata = match std::fs::metadata(directory) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Refusal::NoDirectory { path: directory.to_owned() });
            }
            Err(source) => return Err(failed("look at it")(source)),
        };
        if !metadata.is_dir() {
            return Err(Refusal::NoDirectory { path: directory.to_owned() });
        }
        check_attributes(directory)?;
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        accessat(CWD, directory, wanted, AtFlags::EACCESS)
            .map_err(|error| failed("make files in it")(error.into()))
    }

    /// Whether a file like `new` may be renamed to `path` and replace what is there. A name that does not
    /// exist yet passes; see
    /// [`Self::check_directory`].
    pub fn check_name(&self, path: &Path, new: &FileStamp) -> Result<(), Refusal> {
        let failed = |action| move |source| Refusal::System { path: path.to_owned(), action, source };
        let there = match std::fs::symlink_metadata(path) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(failed("look at it")(source)),
        };
        check_kind(path, &there, new)?;
        self.check_lost(path, &there, Removes::Content)
    }

    /// Whether the name `path` may be removed, with its content if `removes` says so. Devices and sockets are
    /// never removed.
    pub fn check_removal(&self, path: &Path, removes: Removes) -> Result<(), Refusal> {
        let there = std::fs::symlink_metadata(path).map_err(|source| Refusal::System {
            path: path.to_owned(),
            action: "look at it",
            source,
        })?;
        // A pipe has no content, and a mirror that keeps pipes makes them.
        if let Some(kind) = special_kind(&there).filter(|kind| *kind != "FIFO") {
            return Err(Refusal::NotRemoved { path: path.to_owned(), kind });
        }
        self.check_lost(path, &there, removes)
    }

    /// Checks for everything that forbids an existing name to go, whatever takes its place.
    fn check_lost(&self, path: &Path, there: &Metadata, removes: Removes) -> Result<(), Refusal> {
        check_attributes(path)?;
        check_sticky(path, there)?;
        if !there.is_file() {
            return Ok(());
        }
        match self.in_use.get(&(there.dev(), there.ino())) {
            Some(User::Swap(swap)) => {
                return Err(Refusal::Swap { path: path.to_owned(), swap: swap.clone() });
            }
            Some(User::Loop(device)) => {
                return Err(Refusal::UnderLoop { path: path.to_owned(), loop_device: device.clone() });
            }
            None => {}
        }
        let failed =
            |source| Refusal::System { path: path.to_owned(), action: "see whose file it is", source };
        let file = open(path).map_err(failed)?;
        // A program that has locked the file would go on using one that has lost its name.
        check_unlocked(&self.system, path, &file, there)?;
        match removes {
            Removes::Content => self.check_database(path, &file, there),
            Removes::NameOnly => Ok(()),
        }
    }

    /// Replaces a database file only if the user named it, or a directory above it, with
    /// `--destroy-database`.
    fn check_database(&self, path: &Path, file: &File, there: &Metadata) -> Result<(), Refusal> {
        let failed =
            |source| Refusal::System { path: path.to_owned(), action: "see whose file it is", source };
        if is_marked(file).map_err(failed)? {
            return Ok(());
        }
        let real = real_path(path).map_err(failed)?;
        match database::recognise(&real, file, there.len()).map_err(failed)? {
            Some(found) if !self.consents_to_database(&real) => {
                Err(Refusal::Database { path: path.to_owned(), found })
            }
            _ => Ok(()),
        }
    }

    fn consents_to_database(&self, real: &Path) -> bool {
        let words = &self.consent.destroy_database;
        words.iter().any(|word| {
            let named = if word.is_dir() { std::fs::canonicalize(word) } else { real_path(word) };
            named.is_ok_and(|named| real.starts_with(named))
        })
    }
}

/// Read-only, never through a link, and without waiting for a pipe's other end.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// The path with every link resolved except the last component.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    Ok(std::fs::canonicalize(parent)?.join(name))
}

/// A link may replace a link, and a special file one of its kind. Otherwise only regular files are replaced.
fn check_kind(path: &Path, there: &Metadata, new: &FileStamp) -> Result<(), Refusal> {
    let kind = there.file_type();
    let path = path.to_owned();
    if kind.is_symlink() {
        if new.kind == FileKind::Symlink {
            return Ok(());
        }
        let leads_to = std::fs::read_link(&path).unwrap_or_default();
        return Err(Refusal::Link { path, leads_to });
    }
    if kind.is_dir() {
        return Err(Refusal::NotReplaced { path, kind: "directory" });
    }
    let Some(special) = special_kind(there) else { return Ok(()) };
    if new.kind == FileKind::Special && new.special_device == there.rdev() {
        return Ok(());
    }
    Err(Refusal::NotReplaced { path, kind: special })
}

fn special_kind(there: &Metadata) -> Option<&'static str> {
    let kind = there.file_type();
    match () {
        () if kind.is_block_device() => Some("block device"),
        () if kind.is_char_device() => Some("character device"),
        () if kind.is_fifo() => Some("FIFO"),
        () if kind.is_socket() => Some("socket"),
        () => None,
    }
}

/// Checks for immutable and append-only files and for mount points. Passes if the file system does not report
/// them.
fn check_attributes(path: &Path) -> Result<(), Refusal> {
    let Ok(found) = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::TYPE) else { return Ok(()) };
    let has = |attribute: StatxAttributes| found.stx_attributes.contains(attribute);
    for (attribute, flag, what) in
        [(StatxAttributes::IMMUTABLE, 'i', "immutable"), (StatxAttributes::APPEND, 'a', "append-only")]
    {
        if has(attribute) {
            return Err(Refusal::Protected { path: path.to_owned(), what, flag });
        }
    }
    if has(StatxAttributes::MOUNT_ROOT) && u32::from(found.stx_mode) & libc::S_IFMT != libc::S_IFDIR {
        return Err(Refusal::MountPoint { path: path.to_owned() });
    }
    Ok(())
}

/// In a sticky directory only the owner of the file or of the directory may rename or remove it.
fn check_sticky(path: &Path, there: &Metadata) -> Result<(), Refusal> {
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let Ok(directory) = std::fs::metadata(parent) else { return Ok(()) };
    let user = rustix::process::geteuid().as_raw();
    let is_sticky = directory.mode() & libc::S_ISVTX != 0;
    if is_sticky && user != 0 && ![there.uid(), directory.uid()].contains(&user) {
        return Err(Refusal::Sticky { path: path.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::files::stamp_of_link;
    use crate::made_up::made_up;

    fn refusal(destinations: &Destinations, path: &Path, new: &Path) -> Refusal {
        destinations.check_name(path, &stamp_of_link(new).unwrap()).unwrap_err()
    }

    /// `copy --overwrite FILE NODE` replaced device nodes, pipes and links by regular files, and said
    /// "copied, durable".
    #[test]
    fn a_link_or_a_node_is_replaced_by_its_like_and_by_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("new"), b"new").unwrap();
        fs::write(path("old"), b"old").unwrap();
        symlink("old", path("link")).unwrap();
        symlink("nowhere", path("dangling")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        let destinations = Destinations::new(&WriteConsent::none());
        for link in ["link", "dangling"] {
            assert!(matches!(refusal(&destinations, &path(link), &path("new")), Refusal::Link { .. }));
            destinations.check_name(&path(link), &stamp_of_link(&path("link")).unwrap()).unwrap();
        }
        assert!(matches!(
            refusal(&destinations, &path("socket"), &path("new")),
            Refusal::NotReplaced { kind: "socket", .. }
        ));
        destinations.check_name(&path("socket"), &stamp_of_link(&path("socket")).unwrap()).unwrap();
        destinations.check_name(&path("old"), &stamp_of_link(&path("new")).unwrap()).unwrap();
        destinations.check_name(&path("absent"), &stamp_of_link(&path("new")).unwrap()).unwrap();
    }

    #[test]
    fn a_file_of_a_database_goes_only_when_it_or_a_directory_above_it_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("base");
        fs::create_dir(&data).unwrap();
        fs::write(dir.path().join("PG_VERSION"), "15\n").unwrap();
        let file = data.join("16384");
        fs::write(&file, b"rows").unwrap();
        let new = stamp_of_link(&file).unwrap();
        let with = |words: &[&Path]| {
            let destroy_database = words.iter().map(|word| (*word).to_owned()).collect();
            Destinations::new(&WriteConsent { destroy_database, ..WriteConsent::none() })
                .check_name(&file, &new)
        };
        assert!(matches!(with(&[]), Err(Refusal::Database { .. })));
        assert!(matches!(with(&[&dir.path().join("other")]), Err(Refusal::Database { .. })));
        with(&[&file]).unwrap();
        with(&[dir.path()]).unwrap();
    }

    #[test]
    fn a_swap_file_and_one_behind_a_loop_device_keep_their_names() {
        let dir = tempfile::tempdir().unwrap();
        let (swap, image) = (dir.path().join("swap"), dir.path().join("image"));
        for path in [&swap, &image] {
            fs::write(path, b"x").unwrap();
        }
        let swaps = format!("Filename Type Size Used Priority\n{} file 4 0 -2\n", swap.display());
        let backing = format!("{}\n", image.display());
        let (_root, system) =
            made_up(&[("proc/swaps", &swaps), ("sys/block/loop7/loop/backing_file", &backing)]);
        let destinations = Destinations::on(&system, &WriteConsent::none());
        assert!(matches!(refusal(&destinations, &swap, &image), Refusal::Swap { .. }));
        assert!(matches!(
            refusal(&destinations, &image, &swap),
            Refusal::UnderLoop { loop_device, .. } if loop_device == "loop7"
        ));
    }

    /// `copy --delete` must not remove what `--overwrite` would not replace.
    #[test]
    fn a_database_goes_only_when_it_is_named_and_its_name_alone_may_go() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("base/16384");
        fs::create_dir(dir.path().join("base")).unwrap();
        fs::write(dir.path().join("PG_VERSION"), "15\n").unwrap();
        fs::write(&file, b"rows").unwrap();
        symlink("base/16384", dir.path().join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        let destinations = Destinations::new(&WriteConsent::none());
        let refusal = destinations.check_removal(&file, Removes::Content).unwrap_err();
        assert!(matches!(refusal, Refusal::Database { .. }), "{refusal}");
        destinations.check_removal(&file, Removes::NameOnly).unwrap();
        destinations.check_removal(&dir.path().join("link"), Removes::Content).unwrap();
        destinations.check_removal(dir.path(), Removes::Content).unwrap();
        let refusal = destinations.check_removal(&dir.path().join("socket"), Removes::Content).unwrap_err();
        assert!(matches!(refusal, Refusal::NotRemoved { kind: "socket", .. }), "{refusal}");
    }

    #[test]
    fn a_destination_that_is_no_directory_is_told_before_anything_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let destinations = Destinations::new(&WriteConsent::none());
        destinations.check_directory(dir.path()).unwrap();
        fs::write(dir.path().join("file"), b"x").unwrap();
        for name in ["absent", "file"] {
            let refusal = destinations.check_directory(&dir.path().join(name)).unwrap_err();
            assert!(matches!(refusal, Refusal::NoDirectory { .. }), "{refusal}");
        }
    }
}
