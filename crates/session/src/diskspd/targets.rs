//! The targets of a DiskSpd run, by DiskSpd's rules for creating and requiring files.

use std::path::{Path, PathBuf};

use iostall_diskspd::{FilePlan, MappedProfile, Unsupported};
use iostall_measure::ByteCount;
use thiserror::Error;

use crate::names::is_named;
use crate::targets::{OwnSize, TargetBinding, TargetRequest, WriteConsent, made_by_iostall};

#[derive(Debug, Error)]
pub enum DiskspdTargetError {
    #[error("{0}")]
    OfWindows(Unsupported),
    #[error("Error opening file: {path} is not there")]
    NotThere {
        path: String,
        /// Whether a later time span makes it.
        is_made_later: bool,
    },
    #[error("-c would replace {path}, which iostall did not make")]
    WouldReplace { path: String },
}

impl DiskspdTargetError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::OfWindows(_) => None,
            Self::NotThere { is_made_later: false, .. } => Some("-c<size> makes it: -c4G".to_owned()),
            Self::NotThere { .. } => Some(
                "a time span works on it before another makes it: give that one a <FileSize> too, or \
                 <PrecreateFiles>UseMaxSize</PrecreateFiles>"
                    .to_owned(),
            ),
            Self::WouldReplace { path } => {
                Some(format!("leave -c out to use the file as it is, or add --overwrite {path}"))
            }
        }
    }
}

/// The targets, under the names that the mapped roles use. By DiskSpd's rules, missing files are created only
/// with `-c`, and `-c` does nothing on a device, which is reported in `note`. Unlike DiskSpd, `-c` replaces
/// only files created by iostall or allowed by the user.
pub fn target_request(
    mapped: &MappedProfile,
    consent: &WriteConsent,
    note: &dyn Fn(&str),
) -> Result<TargetRequest, DiskspdTargetError> {
    let mut request = TargetRequest::of_paths(Vec::new(), None, consent.clone());
    for target in &mapped.targets {
        let (file, path) = (&target.file, PathBuf::from(&target.file.path));
        request.bindings.push(TargetBinding { name: target.name.clone(), path: path.clone() });
        if path.exists() && !path.is_file() {
            if file.made_bytes.is_some() {
                note(&format!("-c: {} is no file, so it is used as it is", file.path));
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

fn check_file(file: &FilePlan, path: &Path, consent: &WriteConsent) -> Result<(), DiskspdTargetError> {
    if !path.exists() && file.must_exist {
        let (path, is_made_later) = (file.path.clone(), file.made_bytes.is_some());
        return Err(match Unsupported::windows_path(&file.path) {
            Some(foreign) => DiskspdTargetError::OfWindows(foreign),
            None => DiskspdTargetError::NotThere { path, is_made_later },
        });
    }
    let replaces = path.exists() && file.made_bytes.is_some() && !made_by_iostall(path).unwrap_or(false);
    if replaces && !is_named(path, &consent.overwrite) {
        return Err(DiskspdTargetError::WouldReplace { path: file.path.clone() });
    }
    Ok(())
}
