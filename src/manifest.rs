//! The manifest of a copy: which checksum it has, where it may be written, and that the list of an unfinished copy does not take
//! the place of a whole one.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use iostall_model::transfer::HashKind;
use iostall_transfer::CopyLog;
use iostall_transfer::manifest::{
    Manifest, ManifestFile, begins_manifest, hash_for, is_json, parse, partial_path, write_json, write_sums,
};

use crate::cli::CopyArgs;
use crate::failure::hinted;
use crate::output;

/// What is read of a file to see whether it is a manifest, bytes: a name may be 4 KiB long.
const MANIFEST_HEAD_BYTES: u64 = 16 << 10;

/// The checksum of a copy: what was asked for, or what the name of its manifest says.
pub(crate) fn hash(args: &CopyArgs) -> anyhow::Result<HashKind> {
    let Some(path) = &args.manifest else { return Ok(args.hash.unwrap_or_default()) };
    hash_for(path, args.hash).map_err(|error| {
        let error = anyhow::Error::new(error).context(format!("--manifest {}", path.display()));
        hinted(error, "leave --hash out, or give the list a name that says nothing else; nothing was copied")
    })
}

/// Refuses a manifest that could not be written afterwards, or in whose place something else is: a word in the wrong
/// place must not cost a file.
pub(crate) fn check(args: &CopyArgs) -> anyhow::Result<()> {
    let Some(path) = &args.manifest else { return Ok(()) };
    let shown = path.display();
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !directory.is_dir() {
        let error = anyhow::anyhow!("--manifest {shown}: there is no directory {}", directory.display());
        return Err(hinted(error, "make the directory first; nothing was copied"));
    }
    check_place(path, args.overwrite)?;
    check_place(&partial_path(path), args.overwrite)
}

fn check_place(path: &Path, may_replace: bool) -> anyhow::Result<()> {
    let shown = path.display();
    let Ok(there) = path.symlink_metadata() else { return Ok(()) };
    let mut head = Vec::new();
    if there.is_file() {
        let read = File::open(path).and_then(|file| file.take(MANIFEST_HEAD_BYTES).read_to_end(&mut head));
        read.with_context(|| format!("cannot read what is at --manifest {shown}"))?;
    }
    if there.is_file() && (may_replace || begins_manifest(&head)) {
        return Ok(());
    }
    let error = anyhow::anyhow!("--manifest {shown} is there, and is no manifest");
    Err(hinted(error, "name another file; a file that is there is replaced with --overwrite"))
}

/// Writes what was copied. Of a copy that is not whole the list goes beside the name, which may be that of the last whole
/// one; answers where, if so.
pub(crate) fn write(path: &Path, log: &CopyLog, is_whole: bool) -> anyhow::Result<Option<PathBuf>> {
    let files: Vec<ManifestFile> = log.files.iter().filter_map(Option::<ManifestFile>::from).collect();
    let manifest = Manifest { files, is_partial: !is_whole };
    let beside = partial_path(path);
    let place = if is_whole { path } else { &beside };
    let written = output::to_file(place, &|mut out| {
        if is_json(path) {
            write_json(&manifest, &mut out)?;
        } else {
            write_sums(&manifest, &mut out)?;
        }
        Ok(())
    });
    let durable = written.and_then(|()| Ok(File::open(place)?.sync_all()?));
    durable.with_context(|| format!("cannot write the manifest {}", place.display()))?;
    if is_whole {
        remove_partial(&beside);
        return Ok(None);
    }
    Ok(Some(beside))
}

/// The list of an earlier try says less than the whole one that is there now.
fn remove_partial(path: &Path) {
    let is_ours =
        std::fs::read(path).is_ok_and(|text| parse(&text, path, None).is_ok_and(|list| list.is_partial));
    if is_ours {
        // One that stays says in its name what it is.
        let _ = std::fs::remove_file(path);
    }
}
