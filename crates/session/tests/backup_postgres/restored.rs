//! Copies what a backup consists of into a directory, as a restore does.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use iostall_engine::files::path_from_bytes;
use iostall_model::backup::{PostgresRecord, SourceKind};
use iostall_transfer::backup::create::{Item, OnChange, PagesSeen, PreparedSource, What};

use crate::servers::chown_to_nobody;

/// What a restore has found out.
pub(crate) struct Restored {
    pub(crate) record: PostgresRecord,
    /// `None` for a cluster without page checksums.
    pub(crate) pages: Option<PagesSeen>,
}

/// Copies `source` into `data`, with `between` run in the middle and `before_end` just before the end.
pub(crate) fn restore(
    mut source: PreparedSource,
    data: &Path,
    mut between: impl FnMut(),
    mut before_end: impl FnMut(),
) -> Restored {
    let middle = source.items.len() / 2;
    for (number, item) in source.items.iter().enumerate() {
        if number == middle {
            between();
        }
        put(item, data);
    }
    assert!(source.last.is_empty());
    before_end();
    let mut live = source.live.take().unwrap();
    let end = live.end().unwrap_or_else(|error| panic!("{error}"));
    for item in &end.items {
        put(item, data);
    }
    let pages = live.pages();
    drop(live);
    let SourceKind::Postgresql(record) = end.kind else { panic!("another kind of source") };
    Restored { record, pages }
}

/// Copies into a directory that takes part in the test and vanishes with it.
fn put(item: &Item, data: &Path) {
    let path = if item.name.as_bytes().is_empty() {
        data.to_owned()
    } else {
        data.join(path_from_bytes(item.name.as_bytes().to_vec()))
    };
    match &item.what {
        What::Directory => make(&path),
        What::Symlink { to } => symlink(path_from_bytes(to.as_bytes().to_vec()), &path).unwrap(),
        What::Generated(bytes) => fs::write(&path, bytes).unwrap(),
        What::File { path: from, size_bytes } => {
            let Some(bytes) = read(item, from, *size_bytes) else { return };
            if let Some(inspect) = &item.inspect {
                // In pieces that end in the middle of pages.
                for (number, piece) in (0..).zip(bytes.chunks(20 * 4096)) {
                    inspect.inspect(&item.name, number * 20 * 4096, piece);
                }
            }
            fs::write(&path, bytes).unwrap();
        }
        _ => panic!("{} is nothing that a server has", item.name),
    }
    if !path.is_symlink() {
        fs::set_permissions(&path, fs::Permissions::from_mode(item.metadata.mode)).unwrap();
        chown_to_nobody(&path);
    }
}

fn make(path: &PathBuf) {
    if !path.exists() {
        fs::create_dir(path).unwrap();
    }
}

/// Shorter: what there is; vanished: nothing; longer: as it was found.
fn read(item: &Item, from: &Path, size_bytes: u64) -> Option<Vec<u8>> {
    assert_eq!(item.on_change, OnChange::Expected, "{}", item.name);
    let mut bytes = Vec::new();
    match fs::File::open(from) {
        Ok(file) => file.take(size_bytes).read_to_end(&mut bytes).unwrap(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("{}: {error}", from.display()),
    };
    Some(bytes)
}
