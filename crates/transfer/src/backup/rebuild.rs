//! Makes a lost manifest again, from all stripes of a set.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use iostall_engine::files;
use iostall_measure::clock::utc_now;
use iostall_model::backup::{
    BaseRecord, Digest32, FileEntry, Manifest, ObjectLock, Protection, SetId, StoredName, StripeRecord,
    Totals,
};
use iostall_remote::{Object, is_object};
use jiff::Timestamp;

use super::codec::{Decoder, SetKeys, Unlock, unwrap};
use super::create::remove_dead;
use super::format::{FormatError, FrameKind, StripeHeader, WrappedKeys, entry_lines, pieces_of};
use super::manifest_file;
use super::places::is_there;
use super::read::{self, Damage, Fault, ReadError, Stripe};

#[derive(Debug)]
pub struct Rebuilt {
    pub manifest: Manifest,
    /// Where it was written: beside each stripe that has a directory of its own and no manifest yet.
    pub paths: Vec<PathBuf>,
}

/// Makes the manifest of the set of all stripes at `paths`, beside the first one, or at `to`.
/// Refuses if no manifest is missing.
pub fn rebuild(
    paths: &[PathBuf],
    unlock: Option<&Unlock>,
    to: Option<&Path>,
    tool_version: &str,
) -> Result<Rebuilt, ReadError> {
    let stripes = open_all(paths)?;
    let Some(first) = stripes.first() else {
        return Err(ReadError::Damaged(vec![Damage::of_file(None, Path::new("."), "no stripe was named")]));
    };
    let (set, wrapped) = (first.header.set, first.header.keys.clone());
    let keys = wrapped.as_ref().map(|wrapped| unwrap(wrapped, set, unlock)).transpose()?;
    let mut decoder = Decoder::new(set, keys.as_ref())?;
    let mut found = Found::default();
    for stripe in &stripes {
        found.take(stripe, &mut decoder).map_err(|fault| ReadError::Damaged(vec![stripe.damage(fault)]))?;
    }
    let manifest = found.into_manifest(&first.header, tool_version);
    let places = places(&stripes, to);
    let (there, missing): (Vec<_>, Vec<_>) = places.into_iter().partition(|place| is_there(place));
    let copy = copy_of(set, &there, unlock).filter(|_| !missing.is_empty());
    let (manifest, content) = if let Some(copy) = copy {
        copy
    } else if let Some(there) = there.first() {
        return Err(ReadError::ManifestExists { path: there.clone() });
    } else {
        let content = encode(&manifest, keys.as_ref().zip(wrapped.as_ref()), &missing)?;
        (manifest, content)
    };
    let lock = manifest.object_lock.filter(|lock| lock.until_utc > utc_now());
    write(set, &content, &missing, lock.as_ref())?;
    Ok(Rebuilt { manifest, paths: missing })
}

fn open_all(paths: &[PathBuf]) -> Result<Vec<Stripe>, ReadError> {
    let mut all: BTreeMap<u16, Stripe> = BTreeMap::new();
    let refuse =
        |path: &Path, message: String| Err(ReadError::Damaged(vec![Damage::of_file(None, path, message)]));
    for path in paths {
        let stripe = match Stripe::open(path)? {
            Ok(stripe) => stripe,
            Err(error) => return refuse(path, error.to_string()),
        };
        if let Some(other) = all.values().find(|other| other.header.set != stripe.header.set) {
            return Err(ReadError::TwoSets { one: other.path.clone(), other: path.clone() });
        }
        let number = stripe.number();
        if let Some(other) = all.insert(number, stripe) {
            return refuse(path, format!("this and {} are both stripe {}", other.path.display(), number + 1));
        }
    }
    if let Some((_, first)) = all.first_key_value() {
        let stripes = first.header.stripes;
        if let Some(missing) = (0..stripes).find(|number| !all.contains_key(number)) {
            return refuse(
                &first.path,
                format!("stripe {} of {stripes} of its set was not named", missing + 1),
            );
        }
    }
    Ok(all.into_values().collect())
}

#[derive(Default)]
struct Found {
    records: Vec<StripeRecord>,
    files: BTreeMap<u64, FileEntry>,
    bases: Vec<BaseRecord>,
    source_bytes: u64,
    base_bytes: u64,
    compressed_bytes: u64,
    protection: Protection,
}

impl Found {
    fn take(&mut self, stripe: &Stripe, decoder: &mut Decoder) -> Result<(), Fault> {
        let (end, digest) = stripe.end(decoder)?;
        let index = stripe.index(&end, decoder)?;
        let mut plain = vec![0; stripe.header.frame_bytes as usize];
        for record in &index.records {
            self.compressed_bytes += u64::from(record.stored_length);
            if !matches!(record.kind, FrameKind::Entries | FrameKind::Digests | FrameKind::Bases) {
                continue;
            }
            let mut frame = stripe.frame(record)?;
            let wrong = |error: &dyn ToString| Fault { offset: record.position, message: error.to_string() };
            let (_, plain) =
                decoder.decode(&mut frame, stripe.number(), &mut plain).map_err(|error| wrong(&error))?;
            self.read(record.kind, plain).map_err(|error| wrong(&error))?;
        }
        self.source_bytes += end.source_bytes;
        self.protection = self.protection.and(stripe.protection());
        let stored = |path: &Path| StoredName(files::path_bytes(path).to_vec());
        let place = if is_object(&stripe.path) {
            Some(stripe.path.clone())
        } else {
            std::fs::canonicalize(&stripe.path).ok()
        };
        self.records.push(StripeRecord {
            number: stripe.number(),
            name: stored(Path::new(stripe.path.file_name().unwrap_or_default())),
            directory: place.as_deref().and_then(Path::parent).map(stored),
            bytes: stripe.bytes,
            frames: end.frames,
            end_digest: Digest32(digest),
        });
        Ok(())
    }

    fn read(&mut self, kind: FrameKind, plain: &[u8]) -> Result<(), FormatError> {
        match kind {
            FrameKind::Digests => {
                let in_bases = pieces_of(plain)?.into_iter().filter(|piece| piece.set > 0);
                self.base_bytes += in_bases.map(|piece| u64::from(piece.length)).sum::<u64>();
            }
            FrameKind::Bases => {
                self.bases.extend(entry_lines::<BaseRecord>(plain).collect::<Result<Vec<_>, _>>()?);
            }
            _ => {
                for entry in entry_lines::<FileEntry>(plain) {
                    let entry = entry?;
                    self.files.insert(entry.number, entry);
                }
            }
        }
        Ok(())
    }

    fn into_manifest(self, header: &StripeHeader, tool_version: &str) -> Manifest {
        // Their frames may be on any stripe; each is older than the one before it.
        let mut bases = self.bases;
        bases.sort_by_key(|base| std::cmp::Reverse(base.started_utc));
        let started_utc = Timestamp::from_nanosecond(header.created_unix_ns.into()).unwrap_or_default();
        let files: Vec<_> = self.files.into_values().collect();
        let bytes = files.iter().map(|file| file.size_bytes).sum();
        let data_bytes: u64 = files.iter().map(|file| file.data_bytes).sum();
        Manifest {
            set: header.set,
            tool_version: tool_version.to_owned(),
            host: String::new(),
            started_utc,
            ended_utc: started_utc,
            settings: header.settings(),
            object_lock: self.protection.lock,
            sources: Vec::new(),
            totals: Totals {
                files: files.len() as u64,
                bytes,
                hole_bytes: u64::saturating_sub(bytes, data_bytes),
                source_bytes: self.source_bytes + self.base_bytes,
                base_bytes: self.base_bytes,
                compressed_bytes: self.compressed_bytes,
                stored_bytes: self.records.iter().map(|record| record.bytes).sum(),
            },
            bases,
            stripes: self.records,
            content_warnings: None,
            warnings: vec![format!(
                "the manifest was made again from the stripes on {:.0}: what was backed up, and when the backup ended, is not known",
                utc_now()
            )],
            files,
        }
    }
}

/// One manifest in each directory that has a stripe, under the name of the first stripe; the one beside that stripe comes last.
fn places(stripes: &[Stripe], to: Option<&Path>) -> Vec<PathBuf> {
    if let Some(to) = to {
        return vec![to.to_owned()];
    }
    let Some(first) = stripes.first() else { return Vec::new() };
    let mut name = OsString::from(first.path.file_name().unwrap_or_default());
    name.push(".manifest");
    let mut all: Vec<PathBuf> = Vec::new();
    for stripe in stripes.iter().rev() {
        let place = stripe.path.with_file_name(&name);
        all.retain(|other| *other != place);
        all.push(place);
    }
    all
}

/// A backup that was killed at its end may have left one of its manifests: it says more than what can be made again. All that
/// are there must be good and of this set.
fn copy_of(set: SetId, there: &[PathBuf], unlock: Option<&Unlock>) -> Option<(Manifest, Vec<u8>)> {
    let read = |path: &PathBuf| {
        let file = read::manifest_bytes(path).ok()?;
        let opened = manifest_file::decode(file.clone(), unlock).ok()?;
        (opened.manifest.set == set).then_some((opened.manifest, file))
    };
    there.iter().map(read).collect::<Option<Vec<_>>>()?.into_iter().next()
}

fn encode(
    manifest: &Manifest,
    keys: Option<(&SetKeys, &WrappedKeys)>,
    places: &[PathBuf],
) -> Result<Vec<u8>, ReadError> {
    manifest_file::encode(manifest, keys).map_err(|error| match error {
        manifest_file::ManifestError::Keys(error) => ReadError::Keys(error),
        other => ReadError::System {
            verb: "make",
            path: places.first().cloned().unwrap_or_default(),
            source: io::Error::other(other.to_string()),
        },
    })
}

/// In a store as long locked as the stripes are.
fn write(set: SetId, content: &[u8], places: &[PathBuf], lock: Option<&ObjectLock>) -> Result<(), ReadError> {
    for place in places {
        if is_object(place) {
            let put = Object::at(place).and_then(|object| {
                object.put_new(content, lock)?;
                lock.map_or(Ok(()), |lock| object.lock(lock))
            });
            put.map_err(ReadError::system("write", place))?;
            continue;
        }
        let mut temporary = OsString::from(".");
        temporary.push(place.file_name().unwrap_or_default());
        temporary.push(format!(".{set}.partial"));
        let temporary = place.with_file_name(temporary);
        // A backup that was killed while it wrote its manifest has left it; if it cannot go, making another one says why.
        let _ = remove_dead(&temporary);
        let written = || -> io::Result<()> {
            let mut file = files::create_new_private(&temporary)?;
            file.write_all(content)?;
            file.sync_all()?;
            files::rename_new(&temporary, place)?;
            let parent = place.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
            files::sync_directory(parent)
        };
        written().map_err(|source| {
            // The error says why it is there, if it is.
            let _ = std::fs::remove_file(&temporary);
            ReadError::System { verb: "write", path: place.clone(), source }
        })?;
    }
    Ok(())
}
