//! Finds the manifest of a set, and the files of its stripes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use iostall_engine::files::path_from_bytes;
use iostall_engine::{Input, InputError};
use iostall_measure::ByteCount;
use iostall_model::backup::{Manifest, SetId, StripeRecord};
use iostall_remote::is_object;

use super::damage::Damage;
use super::error::ReadError;
use super::medium::read_start;
use super::stripe::Stripe;
use crate::backup::codec::Unlock;
use crate::backup::format::{FormatError, MANIFEST_HEADER_BYTES};
use crate::backup::manifest_file::{ManifestError, OpenedManifest, decode};
use crate::backup::places::{is_same_place, is_there, paths_in, whole_object};

/// Manifests of ten million files are smaller.
const MANIFEST: Input = Input { what: "manifest", limit: ByteCount(1 << 30) };
const SUFFIX: &str = "manifest";
const MANIFEST_MARK: &[u8] = b"IOSMANIF";
const STRIPE_MARK: &[u8] = b"IOSTRIPE";
const SET_AT: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) manifests: Vec<PathBuf>,
    pub(super) stripes: Vec<PathBuf>,
}

impl Named {
    /// A file that is neither may be a damaged one of them: then its name, or a manifest beside it, says so.
    pub(super) fn sort(paths: &[PathBuf]) -> Result<Self, ReadError> {
        let mut named = Self::default();
        for path in paths {
            let mark = read_start(path, STRIPE_MARK.len())?;
            if mark == MANIFEST_MARK || is_manifest_name(path) {
                named.manifests.push(path.clone());
            } else if mark == STRIPE_MARK || !manifests_beside(path).is_empty() {
                named.stripes.push(path.clone());
            } else {
                return Err(ReadError::Neither { path: path.clone() });
            }
        }
        Ok(named)
    }

    pub(super) fn directories(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = Vec::new();
        for path in self.manifests.iter().chain(&self.stripes) {
            let directory = directory_of(path);
            if !all.contains(&directory) {
                all.push(directory);
            }
        }
        all
    }
}

pub(super) fn is_manifest_name(path: &Path) -> bool {
    path.extension() == Some(OsStr::new(SUFFIX))
}

pub(super) fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The one with the stripe's own name first. What is no file, such as a pipe or a link that leads nowhere, is none.
fn manifests_beside(stripe: &Path) -> Vec<PathBuf> {
    let Ok(mut all) = paths_in(&directory_of(stripe)) else { return Vec::new() };
    let is_file = |path: &Path| is_object(path) || path.metadata().is_ok_and(|found| found.is_file());
    all.retain(|path| is_manifest_name(path) && is_file(path));
    let mut own = OsString::from(stripe.file_name().unwrap_or_default());
    own.push(".manifest");
    all.sort_by_key(|path| (path.file_name() != Some(&own), path.clone()));
    all
}

/// The set that a manifest says it is of, without checking the manifest.
pub(super) fn set_of(path: &Path) -> Option<SetId> {
    let head = read_start(path, MANIFEST_HEADER_BYTES).ok()?;
    let set = head.get(SET_AT..SET_AT + 16)?;
    head.starts_with(MANIFEST_MARK).then(|| set.try_into().map(SetId).ok())?
}

/// The manifest of what was named, where it is, and what is wrong with other copies of it.
pub(super) fn manifest(
    named: &Named,
    unlock: Option<&Unlock>,
) -> Result<(OpenedManifest, PathBuf, Vec<Damage>), ReadError> {
    let mut paths = named.manifests.clone();
    for stripe in &named.stripes {
        let set = Stripe::open(stripe)?.ok().map(|stripe| stripe.header.set);
        let beside = manifests_beside(stripe).into_iter();
        paths.extend(
            beside.filter(|path| set.is_none() || set_of(path).is_none_or(|found| Some(found) == set)),
        );
    }
    paths.dedup();
    let mut damage = Vec::new();
    let mut found = None;
    let mut unreadable = None;
    for path in paths {
        let is_named = named.manifests.contains(&path);
        match load(&path, unlock) {
            Ok(opened) if found.is_none() && is_of(&opened.manifest, named) => {
                found = Some((opened, path));
                // What else lies there is of no concern.
                if named.manifests.is_empty() {
                    break;
                }
            }
            Ok(_) => {}
            Err(Failed::Read(error)) if is_named => return Err(error),
            // It may be another backup's, and another account's.
            Err(Failed::Read(error)) => unreadable = unreadable.or(Some(error)),
            Err(Failed::Manifest(ManifestError::Keys(error))) => return Err(error.into()),
            Err(Failed::Manifest(error)) => damage.push(Damage::of_file(None, &path, error.to_string())),
        }
    }
    if let Some((opened, path)) = found {
        return Ok((opened, path, damage));
    }
    if let Some(error) = unreadable {
        return Err(error);
    }
    if damage.is_empty() {
        let path = named.stripes.first().cloned().unwrap_or_default();
        damage.push(Damage::of_file(
            None,
            &path,
            "no manifest of its set lies beside it: the backup was not completed, or its manifest is lost; \
             `iostall backup rebuild` makes another from all stripes",
        ));
    }
    Err(ReadError::Damaged(damage))
}

fn is_of(manifest: &Manifest, named: &Named) -> bool {
    !named.manifests.is_empty()
        || named.stripes.iter().any(|stripe| {
            let name =
                stripe.file_name().map(|name| iostall_engine::files::path_bytes(Path::new(name)).to_vec());
            let by_name = manifest.stripes.iter().any(|record| Some(&record.name.0) == name.as_ref());
            by_name || matches!(Stripe::open(stripe), Ok(Ok(found)) if found.header.set == manifest.set)
        })
}

enum Failed {
    Read(ReadError),
    Manifest(ManifestError),
}

fn load(path: &Path, unlock: Option<&Unlock>) -> Result<OpenedManifest, Failed> {
    let file = manifest_bytes(path).map_err(|error| match error {
        ReadError::Damaged(_) => {
            let cause = FormatError::Value { part: "the manifest", field: "its length", value: u64::MAX };
            Failed::Manifest(ManifestError::Format(cause))
        }
        other => Failed::Read(other),
    })?;
    decode(file, unlock).map_err(Failed::Manifest)
}

pub(crate) fn manifest_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    let too_long =
        || ReadError::Damaged(vec![Damage::of_file(None, path, "the manifest is longer than any manifest")]);
    if is_object(path) {
        let whole = whole_object(path, MANIFEST.limit.bytes()).map_err(ReadError::system("read", path))?;
        return whole.ok_or_else(too_long);
    }
    MANIFEST.read(path).map_err(|error| match error {
        InputError::System { path, source, .. } => ReadError::System { verb: "read", path, source },
        InputError::TooLong { .. } => too_long(),
        other => ReadError::System {
            verb: "read",
            path: path.to_owned(),
            source: std::io::Error::other(other.to_string()),
        },
    })
}

/// Where to look for each stripe of a set, by number, or what is wrong instead.
pub(super) fn stripes(manifest: &Manifest, named: &Named) -> BTreeMap<u16, Result<Stripe, Box<Damage>>> {
    let by_hand = if named.stripes.len() >= manifest.stripes.len() {
        by_number(manifest, named)
    } else {
        BTreeMap::new()
    };
    let mut found = by_hand;
    let directories = named.directories();
    for record in &manifest.stripes {
        if matches!(found.get(&record.number), Some(Ok(_))) {
            continue;
        }
        let name = path_from_bytes(record.name.0.clone());
        let hinted = record.directory.iter().map(|hint| path_from_bytes(hint.0.clone()));
        let mut first_problem = None;
        let mut looked: Vec<PathBuf> = Vec::new();
        for directory in directories.iter().cloned().chain(hinted) {
            if looked.contains(&directory) {
                continue;
            }
            match candidate(manifest, record, &directory.join(&name)) {
                Some(Ok(stripe)) => {
                    first_problem = Some(Ok(stripe));
                    break;
                }
                Some(Err(damage)) => {
                    first_problem.get_or_insert(Err(damage));
                }
                None => {}
            }
            looked.push(directory);
        }
        let missing = || {
            let looked: Vec<_> = looked.iter().map(|path| path.display().to_string()).collect();
            let message = format!("the stripe is missing: it is not in {}", looked.join(", "));
            Box::new(Damage { is_missing: true, ..Damage::of_file(Some(record.number), &name, message) })
        };
        found.insert(record.number, first_problem.unwrap_or_else(|| Err(missing())));
    }
    found
}

/// Stripes that were all named by hand may have other names than they had.
fn by_number(manifest: &Manifest, named: &Named) -> BTreeMap<u16, Result<Stripe, Box<Damage>>> {
    let opened = named.stripes.iter().filter_map(|path| Stripe::open(path).ok()?.ok());
    let ours = opened.filter(|stripe| stripe.header.set == manifest.set);
    ours.map(|stripe| (stripe.number(), Ok(stripe))).collect()
}

/// The file at `path` as the stripe of `record`; `None` if there is no file, or if it is another stripe of the set that may have
/// the same name, since stripes in several directories often have one.
fn candidate(manifest: &Manifest, record: &StripeRecord, path: &Path) -> Option<Result<Stripe, Box<Damage>>> {
    let number = record.number;
    if !is_there(path) {
        return None;
    }
    let wrong = |message: String| Some(Err(Box::new(Damage::of_file(Some(number), path, message))));
    let stripe = match Stripe::open(path) {
        Err(error) => return wrong(error.to_string()),
        Ok(Err(error)) => return wrong(error.to_string()),
        Ok(Ok(stripe)) => stripe,
    };
    if stripe.header.set != manifest.set {
        return wrong(format!(
            "this is a stripe of another set, {}, not of {}",
            stripe.header.set, manifest.set
        ));
    }
    if stripe.number() != number {
        let of_found = manifest.stripes.get(usize::from(stripe.number()));
        let is_its_place = record
            .directory
            .iter()
            .any(|hint| is_same_place(&path_from_bytes(hint.0.clone()), &directory_of(path)));
        if !is_its_place && of_found.is_some_and(|found| found.name == record.name) {
            return None;
        }
        let (found, wanted) = (stripe.number() + 1, number + 1);
        return wrong(format!(
            "this is stripe {found}, and stripe {wanted} should have this name: they were exchanged"
        ));
    }
    Some(Ok(stripe))
}
