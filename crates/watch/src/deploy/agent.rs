//! The agent of a server: takes releases from anybody, and does what its policy allows.

use std::borrow::Cow;
use std::collections::BTreeSet;

use iostall_notify::AlertFile;

use super::carry_out::{Applied, ApplyStep, Change, ChangeKind, FileChange, carry_out, finish, kept_content};
use super::place::{Form, check_directory, present};
use super::policy::{Destination, Policy};
use super::state::{AppliedRelease, JournalStep, Placed, State, StateDirectory, Undo, UndoStep};
use crate::release::{Object, ObjectKind, ObjectState, Opened, Permit, Release};
use crate::release_error::ReleaseError;

const FILE_MODE: u32 = 0o644;

/// See the module. Only one at a time works with a state.
#[derive(Debug)]
pub struct PushAgent {
    policy: Policy,
    directory: StateDirectory,
    state: State,
}

#[derive(Debug)]
pub enum Recovered {
    Finished,
    /// It could not be finished, and everything was put back as far as nobody has changed it since.
    PutBack(ReleaseError),
    /// It could neither be finished nor put back now.
    Waits(ReleaseError),
}

struct Plan<'a> {
    applied: Applied,
    /// Where copies go, named by the release.
    release: String,
    files: Vec<FileChange<'a>>,
    next: State,
}

impl PushAgent {
    /// An agent that obeys `policy`, and what it had to finish first.
    pub fn open(policy: Policy) -> Result<(Self, Option<Recovered>), ReleaseError> {
        let directory = StateDirectory::open(&policy.state)?;
        let state = directory.state()?;
        let mut agent = Self { policy, directory, state };
        let recovered = match agent.recover() {
            Err(error @ ReleaseError::Pending { .. }) => Some(Recovered::Waits(error)),
            recovered => recovered?,
        };
        Ok((agent, recovered))
    }

    pub fn recover(&mut self) -> Result<Option<Recovered>, ReleaseError> {
        let Some(journal) = self.directory.journal()? else { return Ok(None) };
        let recovered = match finish(&self.directory, journal, &mut |_| {}) {
            Ok(_) => Recovered::Finished,
            Err(error @ ReleaseError::Pending { .. }) => return Err(error),
            Err(error) => Recovered::PutBack(error),
        };
        self.state = self.directory.state()?;
        Ok(Some(recovered))
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    pub fn version(&self) -> Option<u64> {
        self.state.applied.as_ref().map(|applied| applied.version)
    }

    pub fn release(&self) -> Option<&str> {
        self.state.applied.as_ref().map(|applied| applied.id.as_str())
    }

    pub fn objects(&self) -> Vec<ObjectState> {
        let now = |placed: &Placed| ObjectState {
            kind: placed.kind,
            name: placed.name.clone(),
            sha256: present(&placed.path).ok().flatten().map(|present| present.sha256),
        };
        self.state.objects.iter().map(now).collect()
    }

    pub fn plan(&self, bytes: &[u8]) -> Result<Applied, ReleaseError> {
        if self.directory.journal()?.is_some() {
            return Err(ReleaseError::Pending { reason: "it is not finished yet".to_owned() });
        }
        self.plan_of(bytes).map(|plan| plan.applied)
    }

    /// Does what the release or permit in `bytes` asks for, as a whole or not at all.
    pub fn apply(
        &mut self,
        bytes: &[u8],
        observe: &mut dyn FnMut(ApplyStep<'_>),
    ) -> Result<Applied, ReleaseError> {
        self.recover()?;
        let Plan { applied, release, files, next } = self.plan_of(bytes)?;
        let kept_in = self.directory.earlier(&release)?;
        let is_again = self.state.undo.as_ref().is_some_and(|undo| undo.release == release);
        let before = &self.state;
        let record = |steps: &[JournalStep]| {
            let mut next = next;
            if !applied.is_undo && !is_again {
                next.undo = Some(undo_of(release, before, &applied.changes, steps));
            }
            next
        };
        let done = carry_out(&self.directory, &kept_in, &files, record, observe)?;
        self.state = done;
        Ok(applied)
    }

    fn plan_of<'a>(&self, bytes: &'a [u8]) -> Result<Plan<'a>, ReleaseError> {
        let opened = Opened::verify(bytes, &self.policy.keys, &self.policy.name())?;
        opened.check_time()?;
        match opened {
            Opened::Release(release) => self.plan_release(&release),
            Opened::Permit(permit) => self.plan_undo(&permit),
        }
    }

    fn check_version(&self, release: &Release<'_>) -> Result<(), ReleaseError> {
        let (version, highest) = (release.manifest.version, self.state.highest);
        if version < self.policy.lowest_version {
            return Err(ReleaseError::TooOld { version, lowest: self.policy.lowest_version });
        }
        // The same once more repairs what was changed since.
        let is_applied = self.release() == Some(&release.id);
        if version > highest || (version == highest && is_applied) {
            return Ok(());
        }
        let is_other = version == highest && self.version() == Some(version);
        Err(if is_other {
            ReleaseError::OtherRelease { version }
        } else {
            ReleaseError::NotNewer { version, highest }
        })
    }

    fn plan_release<'a>(&self, release: &Release<'a>) -> Result<Plan<'a>, ReleaseError> {
        self.check_version(release)?;
        let (mut changes, mut files, mut taken) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut objects = self.state.objects.clone();
        for (object, body) in release.objects().filter(|(object, _)| object.is_for(self.policy.labels())) {
            let destination = self.policy.destination(object.kind, &object.name)?;
            check_content(object, body, &destination)?;
            if !taken.insert(destination.path.clone()) {
                let reason = format!("another object goes to {}, too", destination.path.display());
                return Err(ReleaseError::Object { object: object.to_string(), reason });
            }
            check_directory(&destination.path)?;
            let before = present(&destination.path)?;
            let change = match &before {
                None => ChangeKind::Add,
                Some(before) if before.sha256 == object.sha256 => ChangeKind::Same,
                Some(_) => ChangeKind::Replace,
            };
            let is_placed = self.state.objects.iter().any(|placed| placed.path == destination.path);
            if change == ChangeKind::Replace && !destination.is_named && !is_placed {
                let reason = format!(
                    "no release has put it there, and the policy names it by a pattern alone ({object})"
                );
                return Err(ReleaseError::Place { path: destination.path, reason });
            }
            let path = destination.path;
            changes.push(Change { object: object.to_string(), path: path.clone(), change });
            objects.retain(|placed| placed.path != path);
            let (kind, name, sha256) = (object.kind, object.name.clone(), object.sha256.clone());
            objects.push(Placed { kind, name, path: path.clone(), sha256: sha256.clone() });
            if change != ChangeKind::Same {
                let form = form_of(before.as_ref().map(|before| before.stamp));
                let content = Some((Cow::Borrowed(body), sha256, form));
                files.push(FileChange { path, before, content });
            }
        }
        let (version, id) = (release.manifest.version, release.id.clone());
        let applied = Some(AppliedRelease { version, id: id.clone() });
        let next = State { highest: version, applied, objects, ..self.state.clone() };
        let applied = Applied { version, is_undo: false, changes };
        Ok(Plan { applied, release: id, files, next })
    }

    fn plan_undo<'a>(&self, permit: &Permit) -> Result<Plan<'a>, ReleaseError> {
        let version = permit.version;
        let undo = self.state.undo.as_ref().filter(|undo| undo.release == permit.release);
        let undo = undo.ok_or(ReleaseError::NothingToUndo { version })?;
        let (mut changes, mut files) = (Vec::new(), Vec::new());
        for step in &undo.steps {
            self.check_undo(step)?;
            check_directory(&step.path)?;
            let before = present(&step.path)?;
            let there = before.as_ref().map(|before| &before.sha256);
            if there == step.earlier.as_ref().map(|kept| &kept.sha256) {
                continue;
            }
            if there.is_some_and(|there| *there != step.sha256) {
                let reason = format!("it was changed by hand since release {version}");
                return Err(ReleaseError::Place { path: step.path.clone(), reason });
            }
            let change = if step.earlier.is_some() { ChangeKind::Replace } else { ChangeKind::Remove };
            changes.push(Change { object: step.object.clone(), path: step.path.clone(), change });
            let content = |kept| -> Result<_, ReleaseError> {
                Ok((Cow::Owned(kept_content(kept)?), kept.sha256.clone(), kept.form()))
            };
            let content = step.earlier.as_ref().map(content).transpose()?;
            files.push(FileChange { path: step.path.clone(), before, content });
        }
        let (applied, objects) = (undo.applied.clone(), undo.objects.clone());
        let next = State { applied, objects, undo: None, ..self.state.clone() };
        let applied = Applied { version, is_undo: true, changes };
        let release = permit.release.clone();
        Ok(Plan { applied, release, files, next })
    }
}

impl PushAgent {
    /// What was allowed when it was done may not be any more.
    fn check_undo(&self, step: &UndoStep) -> Result<(), ReleaseError> {
        let placed = self.state.objects.iter().find(|placed| placed.path == step.path);
        let not_there = || ReleaseError::Place {
            path: step.path.clone(),
            reason: "no release has put it there".to_owned(),
        };
        let Placed { kind, name, path, .. } = placed.ok_or_else(not_there)?;
        let allowed = self.policy.destination(*kind, name)?.path;
        if allowed == *path {
            return Ok(());
        }
        let reason = format!("the policy sends {} to {} now", step.object, allowed.display());
        Err(ReleaseError::Place { path: path.clone(), reason })
    }
}

fn undo_of(release: String, before: &State, changes: &[Change], steps: &[JournalStep]) -> Undo {
    let step = |step: &JournalStep| {
        let object =
            changes.iter().find(|change| change.path == step.path).map(|change| change.object.clone());
        UndoStep {
            object: object.unwrap_or_default(),
            path: step.path.clone(),
            sha256: step.sha256.clone().unwrap_or_default(),
            earlier: step.earlier.clone(),
        }
    };
    let State { applied, objects, .. } = before.clone();
    Undo { release, applied, objects, steps: steps.iter().map(step).collect() }
}

/// As the earlier file was, whoever reads it.
fn form_of(before: Option<iostall_engine::files::FileStamp>) -> Form {
    Form {
        mode: before.map_or(FILE_MODE, |stamp| stamp.mode & 0o777),
        owner: before.map(|stamp| (stamp.uid, stamp.gid)),
    }
}

fn check_content(object: &Object, body: &[u8], destination: &Destination) -> Result<(), ReleaseError> {
    let invalid = |reason: String| ReleaseError::Object { object: object.to_string(), reason };
    let text = std::str::from_utf8(body).map_err(|_| invalid("it is no UTF-8 text".to_owned()))?;
    if object.kind == ObjectKind::Alerts {
        return AlertFile::parse(text, &destination.path)
            .map(drop)
            .map_err(|error| invalid(error.to_string()));
    }
    text.parse::<toml::Table>().map(drop).map_err(|error| invalid(error.to_string().trim_end().to_owned()))
}
