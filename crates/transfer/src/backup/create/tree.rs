//! Finds what to back up: files, trees, block devices, standard input.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use iostall_engine::files::{self, FileKind, FileStamp, path_bytes};
use iostall_engine::{Access, OpenError, OpenOptions, open_target};
use iostall_measure::clock::utc_now;
use iostall_model::backup::{FileMetadata, SourceKind, SourceRecord, StoredName};

use super::error::CreateError;
use super::item::{Item, PreparedSource, What, metadata_of};
use crate::progress::Progress;

const STDIN_NAME: &str = "stdin";

pub enum SourceRequest {
    Path(PathBuf),
    /// Standard input, or any other stream, with the name for messages.
    Stream {
        named: String,
        stream: Box<dyn Read + Send>,
    },
    /// A source whose items someone else has found, such as a database.
    Prepared(Box<PreparedSource>),
}

/// Finds the items of all sources. The sources are not changed, and nothing is written; `targets` must lie outside of them.
/// A large tree takes minutes, in which `progress` may be cancelled.
pub fn prepare(
    requests: Vec<SourceRequest>,
    targets: &[PathBuf],
    progress: &Progress,
) -> Result<Vec<PreparedSource>, CreateError> {
    let is_alone = requests.len() == 1;
    let mut sources = Vec::with_capacity(requests.len());
    for request in requests {
        let mut source = match request {
            SourceRequest::Path(path) => of_path(&path, targets, progress)?,
            SourceRequest::Stream { named, stream } => of_stream(named, stream),
            SourceRequest::Prepared(source) => *source,
        };
        if is_alone {
            source.record.prefix = StoredName::default();
        }
        sources.push(source);
    }
    refuse_same_names(&sources)?;
    Ok(sources)
}

fn of_stream(named: String, stream: Box<dyn Read + Send>) -> PreparedSource {
    let metadata = FileMetadata {
        mode: 0o600,
        uid: files::effective_user(),
        gid: files::effective_group(),
        modified_ns: 0,
    };
    let item = Item::new(STDIN_NAME.into(), What::Stream(stream), metadata);
    source(named, StoredName::default(), SourceKind::Stream, vec![item])
}

fn source(named: String, prefix: StoredName, kind: SourceKind, items: Vec<Item>) -> PreparedSource {
    PreparedSource {
        record: SourceRecord { named, identity: None, prefix, kind, read_until_utc: utc_now() },
        items,
        last: Vec::new(),
        live: None,
        page_bytes: None,
        skipped_specials: 0,
        content_warnings: Vec::new(),
    }
}

/// A link that is named is followed, as with `cp -H`.
fn of_path(named: &Path, targets: &[PathBuf], progress: &Progress) -> Result<PreparedSource, CreateError> {
    let path = fs::canonicalize(named).map_err(CreateError::system("find", named))?;
    let stamp = files::stamp_of_path(&path).map_err(CreateError::system("look at", named))?;
    let shown = named.display().to_string();
    let base = StoredName(path_bytes(Path::new(path.file_name().unwrap_or_default())).to_vec());
    match stamp.kind {
        FileKind::Regular => {
            let item = Item::file(base, path.clone(), &stamp).attributes_of(&path);
            Ok(source(shown, StoredName::default(), SourceKind::File, vec![item]))
        }
        FileKind::Directory => {
            for target in targets {
                refuse_inside(target, named, &path)?;
            }
            let mut walk = Walk { progress, items: Vec::new(), skipped_specials: 0, names: HashMap::new() };
            let root = Item::new(StoredName::default(), What::Directory, metadata_of(&stamp));
            walk.items.push(root.attributes_of(&path));
            walk.directory(&path, &[])?;
            let found = source(shown, base, SourceKind::Directory, walk.items);
            Ok(PreparedSource { skipped_specials: walk.skipped_specials, ..found })
        }
        _ if files::is_block_device(&path) => {
            let what = What::BlockDevice { size_bytes: device_bytes(named, &path)?, path };
            let metadata = FileMetadata { mode: 0o600, ..metadata_of(&stamp) };
            let items = vec![Item::new(base, what, metadata)];
            Ok(source(shown, StoredName::default(), SourceKind::BlockDevice, items))
        }
        FileKind::Symlink | FileKind::Special => Err(CreateError::Special { path: named.to_owned() }),
    }
}

/// Size of a device that nothing else uses: the image of a mounted one would mix states.
fn device_bytes(named: &Path, path: &Path) -> Result<u64, CreateError> {
    let options = OpenOptions { access: Access::Read, exclusive: true, ..OpenOptions::default() };
    match open_target(path, &options) {
        Ok(open) => Ok(open.size_bytes),
        Err(OpenError::Refused { source, .. }) if source.kind() == io::ErrorKind::ResourceBusy => {
            Err(CreateError::Held { path: named.to_owned() })
        }
        Err(error) => Err(error.into()),
    }
}

fn refuse_inside(target: &Path, named: &Path, source: &Path) -> Result<(), CreateError> {
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::canonicalize(parent) {
        Ok(parent) if parent.starts_with(source) => {
            Err(CreateError::IntoItself { target: target.to_owned(), source_path: named.to_owned() })
        }
        // A directory that is not there is refused by the checks of targets, in their words.
        _ => Ok(()),
    }
}

fn refuse_same_names(sources: &[PreparedSource]) -> Result<(), CreateError> {
    if sources.len() < 2 {
        return Ok(());
    }
    let mut roots: Vec<StoredName> = Vec::new();
    for source in sources {
        let root = match (&source.record.prefix, source.items.first()) {
            (prefix, Some(item)) if prefix.as_bytes().is_empty() => item.name.clone(),
            (prefix, _) => prefix.clone(),
        };
        if root.as_bytes().is_empty() || roots.contains(&root) {
            return Err(CreateError::SameName { name: root.to_string() });
        }
        roots.push(root);
    }
    Ok(())
}

struct Walk<'p> {
    progress: &'p Progress,
    items: Vec<Item>,
    skipped_specials: u64,
    names: HashMap<(u64, u64), StoredName>,
}

impl Walk<'_> {
    /// Adds what is in a directory, sorted by name, so that the order does not depend on the file system.
    fn directory(&mut self, path: &Path, name: &[u8]) -> Result<(), CreateError> {
        let listed = match fs::read_dir(path) {
            // It was there a moment ago: a server removes its temporary directories.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(CreateError::system("read the directory", path))?,
        };
        let mut found = Vec::new();
        for entry in listed {
            self.go_on()?;
            found.push(entry.map_err(CreateError::system("read the directory", path))?.file_name());
        }
        found.sort_unstable();
        for entry in found {
            self.go_on()?;
            let below = path.join(&entry);
            let mut stored = name.to_vec();
            if !stored.is_empty() {
                stored.push(b'/');
            }
            stored.extend_from_slice(path_bytes(Path::new(&entry)));
            match files::stamp_of_link(&below) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(CreateError::system("look at", &below)(error)),
                Ok(stamp) => self.entry(&below, stored, &stamp)?,
            }
        }
        Ok(())
    }

    fn go_on(&self) -> Result<(), CreateError> {
        if self.progress.is_cancelled() { Err(CreateError::Cancelled) } else { Ok(()) }
    }

    fn entry(&mut self, path: &Path, name: Vec<u8>, stamp: &FileStamp) -> Result<(), CreateError> {
        let stored = StoredName(name);
        match stamp.kind {
            FileKind::Directory => {
                let item = Item::new(stored.clone(), What::Directory, metadata_of(stamp));
                self.items.push(item.attributes_of(path));
                return self.directory(path, stored.as_bytes());
            }
            FileKind::Symlink => {
                let to = fs::read_link(path).map_err(CreateError::system("read the link", path))?;
                let to = StoredName(path_bytes(&to).to_vec());
                self.items.push(Item::new(stored, What::Symlink { to }, metadata_of(stamp)));
            }
            FileKind::Regular => {
                let first = (stamp.links > 1).then(|| self.names.get(&(stamp.device, stamp.inode))).flatten();
                if let Some(first) = first {
                    let what = What::HardLink { to: first.clone() };
                    self.items.push(Item::new(stored, what, metadata_of(stamp)));
                } else {
                    if stamp.links > 1 {
                        self.names.insert((stamp.device, stamp.inode), stored.clone());
                    }
                    self.items.push(Item::file(stored, path.to_owned(), stamp).attributes_of(path));
                }
            }
            FileKind::Special => self.skipped_specials += 1,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn of(paths: &[&Path], targets: &[PathBuf]) -> Result<Vec<PreparedSource>, CreateError> {
        let requests = paths.iter().map(|path| SourceRequest::Path((*path).to_owned()));
        prepare(requests.collect(), targets, &Progress::default())
    }

    fn names(source: &PreparedSource) -> Vec<String> {
        source.items.iter().map(|item| item.name.to_string()).collect()
    }

    #[test]
    fn a_tree_is_listed_parents_first_with_its_links_and_without_its_sockets() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("data/base/1")).unwrap();
        fs::write(path("data/base/1/1259"), b"rows").unwrap();
        fs::hard_link(path("data/base/1/1259"), path("data/base/1/again")).unwrap();
        symlink("/nowhere", path("data/pg_wal")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("data/socket")).unwrap();
        let sources = of(&[&path("data")], &[]).unwrap();
        assert_eq!(names(&sources[0]), ["", "base", "base/1", "base/1/1259", "base/1/again", "pg_wal"]);
        assert_eq!(sources[0].skipped_specials, 1);
        assert_eq!(sources[0].record.prefix, StoredName::default());
        let items = &sources[0].items;
        assert!(matches!(&items[3].what, What::File { size_bytes: 4, .. }));
        assert!(matches!(&items[4].what, What::HardLink { to } if *to == "base/1/1259".into()));
        assert!(matches!(&items[5].what, What::Symlink { to } if *to == "/nowhere".into()));
        // Beside another source its names begin with its own.
        fs::write(path("more"), b"x").unwrap();
        let sources = of(&[&path("data"), &path("more")], &[]).unwrap();
        assert_eq!(sources[0].record.prefix, "data".into());
        assert_eq!(names(&sources[1]), ["more"]);
    }

    /// The story: Ctrl-C was pressed while a tree of ten million files was listed, and the listing went on for minutes.
    #[test]
    fn a_tree_is_listed_no_further_once_the_backup_is_cancelled() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), b"rows").unwrap();
        let progress = Progress::default();
        progress.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
        let error = prepare(vec![SourceRequest::Path(dir.path().to_owned())], &[], &progress).err().unwrap();
        assert!(error.is_cancelled(), "{error}");
    }

    #[test]
    fn what_cannot_be_backed_up_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("a/same")).unwrap();
        fs::create_dir_all(path("b/same")).unwrap();
        let error = of(&[&path("a/same"), &path("b/same")], &[]).err().unwrap();
        assert!(matches!(error, CreateError::SameName { .. }), "{error}");
        symlink(path("a/same"), path("link")).unwrap();
        for target in [path("a/x.iob"), path("a/same/x.iob"), path("link/x.iob")] {
            let error = of(&[&path("a")], &[target]).err().unwrap();
            assert!(matches!(error, CreateError::IntoItself { .. }), "{error}");
        }
        of(&[&path("a")], &[path("b/x.iob")]).unwrap();
        assert!(matches!(of(&[&path("absent")], &[]), Err(CreateError::System { verb: "find", .. })));
        assert!(matches!(of(&[Path::new("/dev/null")], &[]), Err(CreateError::Special { .. })));
    }
}
