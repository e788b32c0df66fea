//! The sets that an increment is based on.

use std::path::{Path, PathBuf};

use iostall_engine::files::path_from_bytes;
use iostall_model::backup::{BaseRecord, Manifest};
use iostall_remote::is_object;

use super::damage::{Damage, entry_of};
use super::digests::pieces;
use super::error::ReadError;
use super::find::{directory_of, is_manifest_name};
use super::medium::{HEAD_BYTES, read_start};
use super::set::{Chain, OpenSet, OpenStripe, open_alone};
use crate::backup::codec::Unlock;
use crate::backup::format::{PieceRecord, set_in_head};
use crate::backup::places::paths_in;

/// Opens the set of the manifest or stripes in `paths`, and what it is based on.
/// What is damaged or missing is in the result and no error.
pub fn open(paths: &[PathBuf], unlock: Option<&Unlock>) -> Result<OpenSet, ReadError> {
    open_with(paths, &[], unlock)
}

/// The same; what it is based on may also be in `places`: directories, manifests or stripes.
pub fn open_with(
    paths: &[PathBuf],
    places: &[PathBuf],
    unlock: Option<&Unlock>,
) -> Result<OpenSet, ReadError> {
    let set = open_alone(paths, unlock)?;
    let mut directories: Vec<PathBuf> = Vec::new();
    for directory in paths.iter().map(|path| directory_of(path)) {
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    let chain = chain_of(&set, &directories, places, unlock)?;
    Ok(OpenSet { chain, ..set })
}

/// Opens what `set` is based on. A set lies beside it, in `places`, or where it was when the increment was made.
fn chain_of(
    set: &OpenSet,
    directories: &[PathBuf],
    places: &[PathBuf],
    unlock: Option<&Unlock>,
) -> Result<Chain, ReadError> {
    let records = &set.manifest.bases;
    if records.is_empty() {
        return Ok(Chain::default());
    }
    let mut chain = Chain { pieces: pieces(set)?, ..Chain::default() };
    chain.pieces.retain(|piece| piece.set > 0);
    chain.pieces.sort_unstable_by_key(|piece| (piece.set, piece.sequence, piece.held_file, piece.offset));
    let of_set = |message: String| Damage::of_file(None, &set.manifest_path, message);
    if chain.pieces.last().is_some_and(|piece| usize::from(piece.set) > records.len()) {
        chain.damage.push(of_set("the digests name a set that the manifest does not".to_owned()));
    }
    let places: Vec<PathBuf> = directories.iter().chain(places).cloned().collect();
    // The server has left out what it had sent before, up to the last set that is whole.
    let mut above = link_of(&set.manifest);
    for (number, record) in (1..).zip(records) {
        let is_needed = above.is_some() || chain.pieces.iter().any(|piece| usize::from(piece.set) == number);
        let found = if is_needed { find(record, &places, unlock)? } else { Ok(None) };
        let base = found.unwrap_or_else(|Lost { message, is_missing }| {
            chain.damage.push(Damage { is_missing, ..of_set(message).in_base(record.set) });
            None
        });
        if let (Some(base), Some(above)) = (&base, &above)
            && let Some(message) = above.contradiction(&base.manifest)
        {
            chain.damage.push(of_set(message).in_base(record.set));
        }
        above = above.and_then(|_| link_of(&base.as_ref()?.manifest));
        if let Some(base) = &base {
            let of_stripes = base.damage.iter().filter(|damage| damage.stripe.is_some());
            chain.damage.extend(of_stripes.map(|damage| damage.clone().in_base(record.set)));
        }
        chain.bases.push(base);
    }
    if chain.damage.is_empty() {
        chain.damage = lost_frames(&chain, &set.manifest);
    }
    Ok(chain)
}

/// What an increment that the server has made continues.
struct Link {
    system_identifier: u64,
    from_lsn: String,
}

fn link_of(manifest: &Manifest) -> Option<Link> {
    manifest.postgres().find_map(|record| {
        let (from_lsn, system_identifier) = (record.increment_from.clone()?, record.system_identifier);
        Some(Link { system_identifier, from_lsn })
    })
}

impl Link {
    fn contradiction(&self, base: &Manifest) -> Option<String> {
        let record = base.postgres().next()?;
        let is_it = record.system_identifier == self.system_identifier && record.start_lsn == self.from_lsn;
        (!is_it).then(|| {
            let (set, start, from) = (base.set, &record.start_lsn, &self.from_lsn);
            format!("set {set} begins at {start} in the log, and the increment on it continues one of {from}")
        })
    }
}

/// Each piece must be in the frame that it names.
fn lost_frames(chain: &Chain, manifest: &Manifest) -> Vec<Damage> {
    let mut found = Vec::new();
    for (number, base) in chain.there() {
        let mut there: Vec<u64> =
            base.stripes.iter().flat_map(OpenStripe::records).map(|record| record.sequence).collect();
        there.sort_unstable();
        let of_base = |piece: &&PieceRecord| usize::from(piece.set) == number;
        let is_missing = |piece: &&PieceRecord| there.binary_search(&piece.sequence).is_err();
        for piece in chain.pieces.iter().filter(of_base).filter(is_missing).take(1) {
            let name = entry_of(manifest, piece.file).map(|file| file.name.to_string());
            let message = format!(
                "the set has no frame {}, which set {} needs for {}",
                piece.sequence,
                manifest.set,
                name.unwrap_or_default()
            );
            found.push(Damage::of_file(None, &base.manifest_path, message).in_base(base.manifest.set));
        }
    }
    found
}

/// Why what a set is based on cannot be used.
struct Lost {
    message: String,
    /// It may be somewhere else.
    is_missing: bool,
}

fn find(
    record: &BaseRecord,
    places: &[PathBuf],
    unlock: Option<&Unlock>,
) -> Result<Result<Option<OpenSet>, Lost>, ReadError> {
    let hint = path_from_bytes(record.manifest.0.clone());
    let mut looked: Vec<PathBuf> = Vec::new();
    for place in places {
        if !looked.contains(place) {
            looked.push(place.clone());
        }
    }
    let mut files: Vec<PathBuf> = looked.iter().flat_map(|place| files_of(record, place)).collect();
    let is_manifest = |path: &PathBuf| is_manifest_name(path);
    if !files.iter().any(is_manifest) {
        let place = directory_of(&hint);
        files.extend(files_of(record, &place));
        if !looked.contains(&place) {
            looked.push(place);
        }
    }
    let named = format!("set {} of {:.0}, which it is based on,", record.set, record.started_utc);
    if files.is_empty() {
        let looked: Vec<_> = looked.iter().map(|path| path.display().to_string()).collect();
        let looked = looked.join(", ");
        let message = format!("{named} is missing: it is not in {looked}; name its directory with --base");
        return Ok(Err(Lost { message, is_missing: true }));
    }
    let unusable = |message: String| Ok(Err(Lost { message, is_missing: false }));
    let base = match open_alone(&files, unlock) {
        Ok(base) => base,
        Err(ReadError::Damaged(damage)) => {
            let first = damage.first().map(|one| format!("{}: {}", one.path.display(), one.message));
            return unusable(format!("{named} cannot be read: {}", first.unwrap_or_default()));
        }
        Err(error) => return Err(error),
    };
    let ends = base.manifest.stripes.iter().map(|stripe| stripe.end_digest);
    if base.manifest.set != record.set || !ends.eq(record.end_digests.iter().copied()) {
        let path = base.manifest_path.display();
        return unusable(format!("{named} is not what it was: {path} is of other stripes with the same id"));
    }
    Ok(Ok(Some(base)))
}

/// The files of the set at `place`, a directory or one of them. In a store stripes are found by their names.
fn files_of(record: &BaseRecord, place: &Path) -> Vec<PathBuf> {
    if !is_object(place) && !place.is_dir() {
        return if is_of(record, place) { vec![place.to_owned()] } else { Vec::new() };
    }
    let mut all = paths_in(place).unwrap_or_default();
    all.retain(|path| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        // What begins with a dot is not whole yet, or is being deleted.
        !name.starts_with(b".") && (!is_object(path) || is_manifest_name(path)) && is_of(record, path)
    });
    all.sort();
    all
}

fn is_of(record: &BaseRecord, path: &Path) -> bool {
    let is_file = is_object(path) || path.is_file();
    is_file && read_start(path, HEAD_BYTES).is_ok_and(|head| set_in_head(&head) == Some(record.set))
}
