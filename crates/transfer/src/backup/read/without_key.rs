//! Opens an encrypted set without its key, as far as its headers go.

use std::path::{Path, PathBuf};

use iostall_model::backup::{Manifest, Totals};
use jiff::Timestamp;

use super::damage::Damage;
use super::error::ReadError;
use super::find::{self, Named};
use super::set::{Chain, OpenSet, OpenStripe};
use super::stripe::Stripe;
use crate::backup::catalog::{FoundSet, scan};
use crate::backup::format::{ManifestHeader, StripeHeader};

/// Opens the set of the manifest or stripes in `paths`. What its checksums say can then be checked, and nothing of what is in it.
pub fn open_without_key(paths: &[PathBuf]) -> Result<OpenSet, ReadError> {
    let named = Named::sort(paths)?;
    let directories = named.directories();
    let found = scan(&directories, None).map_err(ReadError::scan)?;
    let of_manifest = named.manifests.iter().find_map(|path| find::set_of(path));
    let of_stripe = || named.stripes.iter().find_map(|path| Some(Stripe::open(path).ok()?.ok()?.header.set));
    let set = of_manifest.or_else(of_stripe);
    let found = set.and_then(|set| found.into_iter().find(|found| found.set == set));
    let found =
        found.ok_or_else(|| ReadError::Neither { path: paths.first().cloned().unwrap_or_default() })?;
    let (stripes, mut damage) = stripes(&found, &directories)?;
    let Some(first) = stripes.first().map(|open| open.stripe.header.clone()) else {
        return Err(ReadError::Damaged(damage));
    };
    let (manifest_path, of_manifests) = manifests(&found, &first)?;
    damage.extend(of_manifests);
    Ok(OpenSet {
        manifest: stand_in(&first),
        manifest_path,
        keys: None,
        stripes,
        damage,
        is_without_key: true,
        chain: Chain::default(),
    })
}

fn stripes(found: &FoundSet, directories: &[PathBuf]) -> Result<(Vec<OpenStripe>, Vec<Damage>), ReadError> {
    let (mut open, mut damage) = (Vec::new(), Vec::new());
    let looked: Vec<_> = directories.iter().map(|path| path.display().to_string()).collect();
    let looked = looked.join(", ");
    let directory = directories.first().map_or(Path::new("."), PathBuf::as_path);
    if found.stripes.is_empty() {
        let message = format!("no stripe of the set is in {looked}");
        damage.push(Damage::of_file(None, directory, message));
    }
    for number in 0..found.stripe_count.unwrap_or_default() {
        let path = found.stripes.iter().find(|stripe| stripe.number == number && !stripe.is_unfinished);
        match path.map(|stripe| Stripe::open(&stripe.path)).transpose()? {
            Some(Ok(stripe)) => open.push(OpenStripe { stripe, end: None, index: None }),
            Some(Err(error)) => damage.push(Damage::of_file(Some(number), directory, error.to_string())),
            None => {
                let message =
                    format!("the stripe is missing, or its header is damaged: it is not in {looked}");
                damage.push(Damage::of_file(Some(number), directory, message));
            }
        }
    }
    Ok((open, damage))
}

/// What can be said of the manifests without the key: that they are there, as long as they should be, and of this set.
fn manifests(found: &FoundSet, stripe: &StripeHeader) -> Result<(PathBuf, Vec<Damage>), ReadError> {
    let mut damage = Vec::new();
    for path in &found.manifests {
        let file = find::manifest_bytes(path)?;
        let message = match ManifestHeader::decode(&file) {
            Err(error) => error.to_string(),
            Ok(header) if header.keys != stripe.keys => {
                "the manifest has another wrapped key than the stripes".to_owned()
            }
            Ok(_) => continue,
        };
        damage.push(Damage::of_file(None, path, message));
    }
    let path = found.manifests.first().cloned().unwrap_or_default();
    if found.manifests.is_empty() {
        let message =
            "no manifest of its set lies beside it: the backup was not completed, or its manifest is lost";
        damage.push(Damage::of_file(None, &path, message));
    }
    Ok((path, damage))
}

/// In place of the manifest, which cannot be read: what the headers of the stripes say.
fn stand_in(header: &StripeHeader) -> Manifest {
    let at = Timestamp::from_nanosecond(header.created_unix_ns.into()).unwrap_or_default();
    Manifest {
        set: header.set,
        tool_version: String::new(),
        host: String::new(),
        started_utc: at,
        ended_utc: at,
        settings: header.settings(),
        object_lock: None,
        sources: Vec::new(),
        stripes: Vec::new(),
        totals: Totals::default(),
        bases: Vec::new(),
        warnings: Vec::new(),
        content_warnings: None,
        files: Vec::new(),
    }
}
