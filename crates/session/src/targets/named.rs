//! Which targets a request and a profile name, and what is done to each.

use std::path::{Path, PathBuf};

use iostall_engine::guard::WriteConsent;
use iostall_measure::{ByteCount, Caching};
use iostall_model::{Profile, RoleProfile};

use crate::error::SessionError;

pub(super) struct Named {
    pub(super) name: Option<String>,
    pub(super) path: PathBuf,
    pub(super) own: Option<OwnSize>,
    pub(super) roles_write: bool,
    pub(super) buffered: bool,
    /// Unnamed: created for this run and removed after it.
    pub(super) is_scratch: bool,
}

pub(super) fn name_targets(request: &TargetRequest, profile: &Profile) -> Result<Vec<Named>, SessionError> {
    let roles: Vec<&RoleProfile> = profile.spans.iter().flat_map(|span| &span.roles).collect();
    let names: Vec<&String> = request.bindings.iter().map(|binding| &binding.name).collect();
    for binding in &request.bindings {
        if !roles.iter().any(|role| role.targets.contains(&binding.name)) {
            let known = roles.iter().flat_map(|role| &role.targets).cloned().collect();
            let (profile, name) = (profile.name.clone(), binding.name.clone());
            return Err(SessionError::NotAskedFor { profile, name, known });
        }
    }
    let of = |name: Option<&String>, path: &Path| {
        let works_here = |role: &&&RoleProfile| match name {
            Some(name) => role.targets.contains(name),
            None => !role.targets.iter().any(|wanted| names.contains(&wanted)),
        };
        let here: Vec<_> = roles.iter().filter(works_here).collect();
        Named {
            name: name.cloned(),
            path: path.to_owned(),
            own: request.sizes.iter().find(|(sized, _)| sized.as_ref() == name).map(|(_, own)| own.clone()),
            roles_write: here.iter().any(|role| role.writes()),
            buffered: !here.is_empty() && here.iter().all(|role| role.caching == Caching::Buffered),
            is_scratch: false,
        }
    };
    let mut all: Vec<Named> = request.paths.iter().map(|path| of(None, path)).collect();
    all.extend(request.bindings.iter().map(|binding| of(Some(&binding.name), &binding.path)));
    if all.is_empty() {
        all.push(Named { is_scratch: true, ..of(None, Path::new(SCRATCH_NAME)) });
    }
    Ok(all)
}

pub const SCRATCH_NAME: &str = "iostall-scratch.dat";

/// The paths to load: `paths`, or else the scratch file.
pub fn named_or_scratch(paths: &[PathBuf]) -> Vec<PathBuf> {
    if paths.is_empty() { vec![PathBuf::from(SCRATCH_NAME)] } else { paths.to_vec() }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetBinding {
    pub name: String,
    pub path: PathBuf,
}

#[derive(Clone, Debug)]
pub struct TargetRequest {
    /// Files and devices without a name. Without these and bindings: a scratch file in the working directory.
    pub paths: Vec<PathBuf>,
    pub bindings: Vec<TargetBinding>,
    /// By the name of a binding; without one those of `paths`.
    pub sizes: Vec<(Option<String>, OwnSize)>,
    /// Size of a new file; of an existing target, how much of it is used.
    pub size: Option<ByteCount>,
    pub consent: WriteConsent,
}

impl TargetRequest {
    pub fn of_paths(paths: Vec<PathBuf>, size: Option<ByteCount>, consent: WriteConsent) -> Self {
        Self { paths, bindings: Vec::new(), sizes: Vec::new(), size, consent }
    }
}

#[derive(Clone, Debug, Default)]
pub struct OwnSize {
    /// A file is created with this size, or one of ours extended to it.
    pub made: Option<ByteCount>,
    /// How much of it each span uses; `None`: all of it. Later spans use all.
    pub in_spans: Vec<Option<ByteCount>>,
}
