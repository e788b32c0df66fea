//! The targets of a DiskSpd run, by DiskSpd's own rules of what is made and what must be there.

use std::path::{Path, PathBuf};

use iostall_diskspd::{FilePlan, MappedProfile, Unsupported};
use iostall_measure::ByteCount;
use iostall_session::names::is_named;
use iostall_session::targets::{OwnSize, TargetBinding, TargetRequest, WriteConsent, made_by_iostall};

use crate::failure::hinted;
use crate::printer::Printer;

/// The targets by the names that the mapped roles use, with DiskSpd's own rules: what is not there is made only
/// with `-c`, what `-c` would replace must be ours or be named, and on a device `-c` does nothing.
pub(super) fn target_request(
    mapped: &MappedProfile,
    consent: &WriteConsent,
    printer: &Printer,
) -> anyhow::Result<TargetRequest> {
    let mut request = TargetRequest::of_paths(Vec::new(), None, consent.clone());
    for target in &mapped.targets {
        let (file, path) = (&target.file, PathBuf::from(&target.file.path));
        request.bindings.push(TargetBinding { name: target.name.clone(), path: path.clone() });
        if path.exists() && !path.is_file() {
            if file.made_bytes.is_some() {
                printer.note(&format!("WARNING: -c: {} is no file, so it is used as it is", file.path));
            }
            continue;
        }
        check_file(file, &path, consent)?;
        let own = OwnSize {
            made: file.made_bytes.map(ByteCount),
            in_spans: file.bytes_in_spans.iter().map(|bytes| bytes.map(ByteCount)).collect(),
        };
        request.sizes.push((target.name.clone(), own));
    }
    Ok(request)
}

/// Refuses a file that should be there and is not, and one that is there and should be replaced.
fn check_file(file: &FilePlan, path: &Path, consent: &WriteConsent) -> anyhow::Result<()> {
    if !path.exists() && file.must_exist {
        if let Some(foreign) = Unsupported::windows_device(&file.path) {
            return Err(anyhow::Error::msg(foreign));
        }
        let error = anyhow::anyhow!("Error opening file: {} is not there", file.path);
        let hint = match file.made_bytes {
            None => "-c<size> makes it: -c4G",
            Some(_) => {
                "a time span works on it before another makes it: give that one a <FileSize> too, or \
                 <PrecreateFiles>UseMaxSize</PrecreateFiles>"
            }
        };
        return Err(hinted(error, hint));
    }
    let replaces = path.exists() && file.made_bytes.is_some() && !made_by_iostall(path).unwrap_or(false);
    if replaces && !is_named(path, &consent.overwrite) {
        let error = anyhow::anyhow!("-c would replace {}, which iostall did not make", file.path);
        let hint = format!("leave -c out to use the file as it is, or add --overwrite {}", file.path);
        return Err(hinted(error, hint));
    }
    Ok(())
}
