//! Which targets a request and a profile name, and what is done to each.

use std::path::{Path, PathBuf};

use iostall_measure::Caching;
use iostall_model::{Profile, RoleProfile};

use super::request::{OwnSize, SCRATCH_NAME, TargetRequest};
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
            own: name.and_then(|name| {
                request.sizes.iter().find(|(sized, _)| sized == name).map(|(_, own)| own.clone())
            }),
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
