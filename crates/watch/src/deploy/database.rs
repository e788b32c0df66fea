//! Statements of objects in databases: tried first, then run, and put back.
//!
//! What an object is there is what its query gives, as a hash. PostgreSQL and SQL Server try all of it in a transaction that is rolled
//! back, with the way back, before anything is recorded; then the objects of a database are one transaction. MariaDB and MySQL commit
//! each statement by itself, so an object is one statement there.

use std::path::PathBuf;
use std::time::Duration;

use iostall_connect::{Address, ChangeError, ChangeSession, Secret};

use super::change::ApplyStep;
use super::policy::Policy;
use super::state::{Shown, SqlStep};
use crate::release::{SqlObject, sha256};
use crate::release_error::ReleaseError;

/// Of each statement.
const LIMIT: Duration = Duration::from_secs(60);
/// Of a connection that only looks.
const LOOK_LIMIT: Duration = Duration::from_secs(10);

/// An object that is to be applied.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Kind and name.
    pub(super) name: String,
    pub(super) object: SqlObject,
    /// What was there when this very object was applied earlier.
    pub(super) placed: Option<Shown>,
}

/// What is there, and what would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trial {
    pub(super) before: Shown,
    pub(super) after: Shown,
}

/// One that is going on.
struct Trying {
    before: Shown,
    /// `None` until it is known.
    after: Option<Shown>,
    /// There is nothing to do.
    is_there: bool,
}

/// One database.
pub(super) struct Database<'a> {
    session: ChangeSession,
    address: &'a Address,
}

impl<'a> Database<'a> {
    fn open(address: &'a Address, limit: Duration) -> Result<Self, ChangeError> {
        let secret = Secret::of(&address.password)?.unwrap_or_default();
        let mut session = ChangeSession::open(address, &secret, limit)?;
        session.begin()?;
        Ok(Self { session, address })
    }

    /// What the query of each object gives now; `None` where it fails.
    pub(super) fn look(address: &'a Address, objects: &[SqlObject]) -> Vec<Option<Shown>> {
        // What cannot be seen counts as missing, whyever.
        let look = |object| Self::open(address, LOOK_LIMIT)?.value(object);
        objects.iter().map(|object| look(object).ok()).collect()
    }

    /// What the query of an object gives now.
    ///
    /// # Errors
    /// If it fails.
    pub(super) fn look_at(
        address: &'a Address,
        name: &str,
        object: &SqlObject,
    ) -> Result<Shown, ReleaseError> {
        let now = Self::open(address, LOOK_LIMIT).and_then(|mut database| database.value(object));
        now.map_err(|error| failed(name, "verify", error))
    }

    /// Tries objects, and the way back from them. Nothing is changed.
    ///
    /// # Errors
    /// If a statement fails, or the way back leads elsewhere.
    pub(super) fn tried(address: &'a Address, wanted: &[Wanted]) -> Result<Vec<Trial>, ReleaseError> {
        let source = address.to_string();
        let mut database =
            Self::open(address, LIMIT).map_err(|error| failed(&source, "connecting", error))?;
        let tried = database.try_all(wanted);
        let _ = database.session.roll_back();
        tried
    }

    fn try_all(&mut self, wanted: &[Wanted]) -> Result<Vec<Trial>, ReleaseError> {
        let mut trials = Vec::with_capacity(wanted.len());
        for Wanted { name, object, placed } in wanted {
            let before = self.value(object).map_err(|error| failed(name, "verify", error))?;
            let expected = object.expect.as_ref().map(|value| Shown(Some(sha256(value.as_bytes()))));
            let is_there = [placed, &expected].iter().any(|one| one.as_ref() == Some(&before));
            // Where nothing can be tried, it counts what the release says.
            let after = if is_there { Some(before.clone()) } else { expected };
            trials.push(Trying { before, after, is_there });
        }
        if ChangeSession::is_transactional(self.address.engine) {
            self.try_changes(wanted, &mut trials)?;
        }
        let is_transactional = ChangeSession::is_transactional(self.address.engine);
        let mut tried = Vec::with_capacity(trials.len());
        for (Trying { before, after, .. }, Wanted { name, object, .. }) in trials.into_iter().zip(wanted) {
            let after = after.ok_or_else(|| {
                invalid(name, "this engine tries nothing beforehand: expect must say what verify gives")
            })?;
            if !is_transactional && (object.apply.len(), object.undo.len()) != (1, 1) {
                return Err(invalid(
                    name,
                    "this engine commits each statement by itself: write one for apply, one for undo, and more objects",
                ));
            }
            tried.push(Trial { before, after });
        }
        Ok(tried)
    }

    /// Runs what is not there yet, and undoes it again.
    fn try_changes(&mut self, wanted: &[Wanted], trials: &mut [Trying]) -> Result<(), ReleaseError> {
        let pairs = wanted.iter().zip(trials.iter());
        let missing: Vec<&Wanted> =
            pairs.filter(|(_, trial)| !trial.is_there).map(|(wanted, _)| wanted).collect();
        for Wanted { name, object, .. } in missing {
            self.run_all(name, "apply", &object.apply)?;
        }
        for (Wanted { name, object, .. }, trial) in wanted.iter().zip(trials.iter_mut()) {
            if trial.is_there {
                continue;
            }
            let after = self.value(object).map_err(|error| failed(name, "verify", error))?;
            if trial.after.as_ref().is_some_and(|expected| *expected != after) {
                return Err(invalid(name, "after apply, verify gives something else than expect says"));
            }
            trial.after = Some(after);
        }
        // What was changed by hand since it was applied does not come back like that.
        let is_new = |(wanted, trial): &(&Wanted, &Trying)| {
            wanted.placed.is_none() && trial.after.as_ref() != Some(&trial.before)
        };
        let new: Vec<(&Wanted, &Trying)> = wanted.iter().zip(trials.iter()).filter(is_new).collect();
        for (Wanted { name, object, .. }, _) in new.iter().rev() {
            self.run_all(name, "undo", &object.undo)?;
        }
        for (Wanted { name, object, .. }, trial) in new {
            let now = self.value(object).map_err(|error| failed(name, "verify", error))?;
            if now != trial.before {
                return Err(invalid(name, "after undo, verify gives something else than is there now"));
            }
        }
        Ok(())
    }

    fn value(&mut self, object: &SqlObject) -> Result<Shown, ChangeError> {
        Ok(Shown(self.session.value(&object.verify)?.map(|value| sha256(value.as_bytes()))))
    }

    fn run_all(&mut self, name: &str, list: &str, statements: &[String]) -> Result<(), ReleaseError> {
        for (number, statement) in (1..).zip(statements) {
            let what = || format!("statement {number} of {list}");
            self.session.run(statement).map_err(|error| failed(name, &what(), error))?;
        }
        Ok(())
    }
}

/// Does what was recorded, as far as it is not done: database after database.
///
/// # Errors
/// If a statement fails, or something else is there. The databases before that one are done.
pub(super) fn run_steps(
    policy: &Policy,
    steps: &[SqlStep],
    observe: &mut dyn FnMut(ApplyStep<'_>),
) -> Result<(), ReleaseError> {
    for group in steps.chunk_by(|one, next| one.source == next.source) {
        let source = &group[0].source;
        let gone = || invalid(&group[0].name, "the policy has no such source any more");
        let address = policy.source(source).ok_or_else(gone)?;
        let mut database =
            Database::open(address, LIMIT).map_err(|error| failed(source, "connecting", error))?;
        if ChangeSession::is_transactional(address.engine) {
            database.run_as_one(group, observe)?;
        } else {
            group.iter().try_for_each(|step| database.run_one(step, observe))?;
        }
    }
    Ok(())
}

/// Puts back what steps have done. What somebody has changed since stays.
///
/// # Errors
/// If a database cannot be asked, or a statement fails.
pub(super) fn put_back_steps(policy: &Policy, steps: &[SqlStep]) -> Result<(), ReleaseError> {
    // What was changed by hand before is not to be had again: then the release stays there.
    let back: Vec<SqlStep> =
        steps.iter().rev().filter(|step| !step.is_repair).map(SqlStep::inverse).collect();
    for group in back.chunk_by(|one, next| one.source == next.source) {
        match run_steps(policy, group, &mut |_| {}) {
            Err(ReleaseError::Interfered { .. }) | Ok(()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Database<'_> {
    fn run_as_one(
        &mut self,
        steps: &[SqlStep],
        observe: &mut dyn FnMut(ApplyStep<'_>),
    ) -> Result<(), ReleaseError> {
        let done = self.run_open(steps, observe);
        if !matches!(done, Ok(true)) {
            // If it is broken, the server does it.
            let _ = self.session.roll_back();
            return done.map(drop);
        }
        self.session.commit().map_err(|error| failed(&steps[0].source, "commit", error))?;
        observe(ApplyStep::Committed(&steps[0].source));
        Ok(())
    }

    /// Runs steps in a transaction, which stays open; whether there was something to do.
    fn run_open(
        &mut self,
        steps: &[SqlStep],
        observe: &mut dyn FnMut(ApplyStep<'_>),
    ) -> Result<bool, ReleaseError> {
        let objects = steps.iter().map(SqlStep::object).collect::<Result<Vec<_>, _>>()?;
        let mut is_done = true;
        for (step, object) in steps.iter().zip(&objects) {
            is_done &= self.now(step, object)? == step.after;
        }
        if is_done {
            return Ok(false);
        }
        for (step, object) in steps.iter().zip(&objects) {
            if self.now(step, object)? != step.before {
                return Err(step.interfered());
            }
        }
        for (step, object) in steps.iter().zip(&objects) {
            self.run_step(step, object)?;
            observe(ApplyStep::Ran(&step.name));
        }
        for (step, object) in steps.iter().zip(&objects) {
            if self.now(step, object)? != step.after {
                return Err(invalid(&step.name, "verify gives something else than before, or in the trial"));
            }
        }
        Ok(true)
    }

    /// Where each statement lasts.
    fn run_one(
        &mut self,
        step: &SqlStep,
        observe: &mut dyn FnMut(ApplyStep<'_>),
    ) -> Result<(), ReleaseError> {
        let object = step.object()?;
        let now = self.now(step, &object)?;
        if now == step.after {
            return Ok(());
        }
        if now != step.before {
            return Err(step.interfered());
        }
        let done = self.run_step(step, &object);
        observe(ApplyStep::Ran(&step.name));
        let now = self.now(step, &object)?;
        if now == step.after {
            observe(ApplyStep::Committed(&step.source));
            return Ok(());
        }
        if now != step.before {
            self.run_step(&step.inverse(), &object)?;
        }
        done?;
        Err(invalid(&step.name, "verify gives something else than expect says"))
    }

    fn now(&mut self, step: &SqlStep, object: &SqlObject) -> Result<Shown, ReleaseError> {
        self.value(object).map_err(|error| failed(&step.name, "verify", error))
    }

    fn run_step(&mut self, step: &SqlStep, object: &SqlObject) -> Result<(), ReleaseError> {
        let (list, statements) = if step.is_undo { ("undo", &object.undo) } else { ("apply", &object.apply) };
        self.run_all(&step.name, list, statements)
    }
}

impl SqlStep {
    /// What it runs.
    pub(super) fn object(&self) -> Result<SqlObject, ReleaseError> {
        SqlObject::parse(self.text.as_bytes()).map_err(|reason| invalid(&self.name, &reason))
    }

    /// The way back.
    pub(super) fn inverse(&self) -> Self {
        let (before, after) = (self.after.clone(), self.before.clone());
        Self { is_undo: !self.is_undo, before, after, ..self.clone() }
    }

    fn interfered(&self) -> ReleaseError {
        ReleaseError::Interfered { path: PathBuf::from(format!("{} in {}", self.name, self.source)) }
    }
}

fn failed(object: &str, what: &str, error: ChangeError) -> ReleaseError {
    ReleaseError::Database { object: object.to_owned(), what: what.to_owned(), error: Box::new(error) }
}

fn invalid(object: &str, reason: &str) -> ReleaseError {
    ReleaseError::Object { object: object.to_owned(), reason: reason.to_owned() }
}
