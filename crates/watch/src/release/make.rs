//! Makes releases and permits, where the key is.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use iostall_engine::Input;
use iostall_engine::files::{FileKind, create_new, rename_new, stamp_of_link, sync_directory};
use iostall_measure::ByteCount;
use iostall_measure::clock::utc_now;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::file::{Opened, PERMIT, Permit, RELEASE, RELEASE_BYTES_MAX, ReleaseInfo, sha256};
use super::key::SigningKey;
use super::manifest::{Manifest, Object, ObjectKind};
use super::sealed::sealed;
use crate::release_error::ReleaseError;

/// Says for which servers objects are, in the directory of a release.
const LABELS_NAME: &str = "release.toml";
const LABELS: Input = Input { what: "file of labels", limit: ByteCount(1 << 20) };
const OBJECT: Input = Input { what: "object of a release", limit: ByteCount(RELEASE_BYTES_MAX) };
const FILE: Input = Input { what: "release", limit: ByteCount(RELEASE_BYTES_MAX) };
const MODE: u32 = 0o644;
const DRAFT_SUFFIX: &str = ".iostall-partial";

#[derive(Debug)]
pub struct MakeRelease<'a> {
    /// Has a directory for each kind, and objects in them.
    pub from: &'a Path,
    /// Higher than that of all releases before.
    pub version: u64,
    pub note: Option<&'a str>,
    pub valid: Duration,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// By object, such as `settings/collect.toml`.
    #[serde(default)]
    labels: BTreeMap<String, BTreeMap<String, String>>,
}

pub fn make_release(request: &MakeRelease<'_>, key: &SigningKey) -> Result<Vec<u8>, ReleaseError> {
    let labels_path = request.from.join(LABELS_NAME);
    let mut written = Written::default();
    if labels_path.symlink_metadata().is_ok() {
        let text = LABELS.text(&labels_path)?;
        let wrong = |error: toml::de::Error| refused(&labels_path, error.to_string());
        written = toml::from_str(&text).map_err(wrong)?;
    }
    let (mut objects, mut bodies) = (Vec::new(), Vec::new());
    for name in names_in(request.from)? {
        let path = request.from.join(&name);
        if name == LABELS_NAME {
            continue;
        }
        let no_kind = || refused(&path, "its name is that of no kind of objects".to_owned());
        let kind: ObjectKind = name.parse().map_err(|()| no_kind())?;
        for name in names_in(&path)? {
            let path = path.join(&name);
            if stamp_of_link(&path).map_err(|source| unreadable(&path, source))?.kind != FileKind::Regular {
                return Err(refused(&path, "it is no file".to_owned()));
            }
            let body = OBJECT.read(&path)?;
            let named = format!("{}/{name}", kind.name());
            let labels = written.labels.remove(&named).unwrap_or_default();
            let (bytes, sha256) = (body.len() as u64, sha256(&body));
            objects.push((Object { kind, name, labels, bytes, sha256 }, body));
        }
    }
    if let Some(name) = written.labels.keys().next() {
        return Err(refused(&labels_path, format!("there is no object {name}")));
    }
    if objects.is_empty() {
        return Err(ReleaseError::Empty { path: request.from.to_owned() });
    }
    objects.sort_by(|(one, _), (other, _)| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    let (made, expires) = times(request.valid);
    let mut manifest = Manifest {
        version: request.version,
        made,
        expires,
        note: request.note.map(str::to_owned),
        objects: Vec::new(),
    };
    for (object, body) in objects {
        manifest.objects.push(object);
        bodies.extend_from_slice(&body);
    }
    manifest.check()?;
    let mut file = sealed(RELEASE, &manifest.text(), key);
    file.extend_from_slice(&bodies);
    // What was made is what will be read.
    Opened::verify(&file, &[key.public()], "its own key")?;
    Ok(file)
}

/// A signed permit to undo the release in `release`, which the same key has signed.
pub fn make_permit(release: &[u8], valid: Duration, key: &SigningKey) -> Result<Vec<u8>, ReleaseError> {
    let Opened::Release(release) = Opened::verify(release, &[key.public()], "--key")? else {
        return Err(ReleaseError::Form("a permit is not undone".to_owned()));
    };
    let (made, expires) = times(valid);
    let permit = Permit { release: release.id, version: release.manifest.version, made, expires };
    Ok(sealed(PERMIT, &serde_json::to_string(&permit).unwrap_or_default(), key))
}

/// Reads a release or a permit. Nothing in it was verified.
pub fn read_release(path: &Path) -> Result<Vec<u8>, ReleaseError> {
    Ok(FILE.read(path)?)
}

/// Writes what was made to a new file, and says what it is.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<ReleaseInfo, ReleaseError> {
    let info = Opened::describe(bytes)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = &path.with_file_name(format!(".{name}{DRAFT_SUFFIX}"));
    let write = || -> io::Result<()> {
        // An earlier draft is that of a process that was killed.
        match std::fs::remove_file(draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = create_new(draft, MODE)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        rename_new(draft, path)?;
        sync_directory(path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new(".")))
    };
    let written = write();
    if written.is_err() {
        // What is left of it is only in the way.
        let _ = std::fs::remove_file(draft);
    }
    written.map_err(|source| ReleaseError::Write { path: path.to_owned(), source })?;
    Ok(info)
}

fn times(valid: Duration) -> (Timestamp, Timestamp) {
    let made = utc_now();
    let valid = SignedDuration::try_from(valid).unwrap_or(SignedDuration::MAX);
    (made, made.saturating_add(valid).unwrap_or(Timestamp::MAX))
}

fn names_in(directory: &Path) -> Result<Vec<String>, ReleaseError> {
    let unreadable = |source| unreadable(directory, source);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let wrong = |_| refused(&directory.join("…"), "a name there is no UTF-8".to_owned());
        names.push(name.into_string().map_err(wrong)?);
    }
    names.sort_unstable();
    Ok(names)
}

fn refused(path: &Path, reason: String) -> ReleaseError {
    ReleaseError::Source { path: path.to_owned(), reason }
}

fn unreadable(path: &Path, source: io::Error) -> ReleaseError {
    ReleaseError::System { path: path.to_owned(), source }
}
