//! What a release or a permit changes in databases.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::change::{Change, ChangeKind};
use super::database::{Database, Wanted};
use super::policy::Policy;
use super::state::{PlacedSql, Shown, SqlStep, Undo};
use crate::release::{Object, ObjectKind, ObjectState, Release, SqlObject};
use crate::release_error::ReleaseError;

/// What is to run, and what is placed afterwards.
#[derive(Debug, Default)]
pub(super) struct SqlPlan {
    pub(super) changes: Vec<Change>,
    pub(super) steps: Vec<SqlStep>,
    pub(super) placed: Vec<PlacedSql>,
}

/// What `release` changes in databases; all of it was tried.
///
/// # Errors
/// If the policy forbids an object, a statement fails, or what undoes it does not.
pub(super) fn plan_sql(
    policy: &Policy,
    release: &Release<'_>,
    placed: &[PlacedSql],
) -> Result<SqlPlan, ReleaseError> {
    let mut by_source: BTreeMap<String, Vec<(&Object, String, Wanted)>> = BTreeMap::new();
    for (object, body) in release.objects() {
        if object.kind != ObjectKind::Sql || !policy.is_meant(object) {
            continue;
        }
        let invalid = |reason| ReleaseError::Object { object: object.to_string(), reason };
        let statements = SqlObject::parse(body).map_err(invalid)?;
        policy.database(&object.name, &statements)?;
        let earlier = placed.iter().find(|one| one.name == object.name && one.sha256 == object.sha256);
        let wanted = Wanted {
            name: object.to_string(),
            object: statements,
            placed: earlier.map(|earlier| earlier.value.clone()),
        };
        let text = String::from_utf8_lossy(body).into_owned();
        by_source.entry(wanted.object.source.clone()).or_default().push((object, text, wanted));
    }
    let mut plan = SqlPlan { placed: placed.to_vec(), ..SqlPlan::default() };
    for (source, objects) in by_source {
        plan.add(policy, &source, objects)?;
    }
    Ok(plan)
}

impl SqlPlan {
    fn add(
        &mut self,
        policy: &Policy,
        source: &str,
        objects: Vec<(&Object, String, Wanted)>,
    ) -> Result<(), ReleaseError> {
        let (mut named, mut wanted) = (Vec::new(), Vec::new());
        for (object, text, one) in objects {
            named.push((object, text));
            wanted.push(one);
        }
        let Some(address) = policy.source(source) else { return Ok(()) };
        let trials = Database::tried(address, &wanted)?;
        for (((object, text), wanted), trial) in named.into_iter().zip(wanted).zip(trials) {
            let before = self.placed.iter().position(|one| one.name == object.name);
            if let Some(placed) = &wanted.placed
                && *placed != trial.after
            {
                let reason = "apply does not bring back what it was when it was applied".to_owned();
                return Err(ReleaseError::Object { object: object.to_string(), reason });
            }
            let change = match before {
                _ if trial.before == trial.after => ChangeKind::Same,
                Some(_) => ChangeKind::Replace,
                None => ChangeKind::Add,
            };
            let path = PathBuf::from(address.to_string());
            self.changes.push(Change { object: object.to_string(), path, change });
            let now = PlacedSql {
                name: object.name.clone(),
                sha256: object.sha256.clone(),
                text: text.clone(),
                value: trial.after.clone(),
            };
            match before {
                Some(at) => self.placed[at] = now,
                None => self.placed.push(now),
            }
            if change != ChangeKind::Same {
                self.steps.push(SqlStep {
                    name: object.to_string(),
                    source: source.to_owned(),
                    text,
                    is_undo: false,
                    is_repair: wanted.placed.is_some(),
                    before: trial.before,
                    after: trial.after,
                });
            }
        }
        Ok(())
    }
}

/// What undoing a release changes in databases. Whether its statements do that is seen when they run.
///
/// # Errors
/// If the policy forbids it by now, or something was changed by hand.
pub(super) fn plan_sql_undo(policy: &Policy, undo: &Undo, version: u64) -> Result<SqlPlan, ReleaseError> {
    let mut plan = SqlPlan { placed: undo.sql.clone(), ..SqlPlan::default() };
    for step in undo.sql_steps.iter().rev() {
        let (object, name) = (step.object()?, step.name.trim_start_matches("sql/"));
        let address = policy.database(name, &object)?;
        let now = Database::look_at(address, &step.name, &object)?;
        if now == step.before {
            continue;
        }
        if now != step.after {
            let reason = format!("it was changed by hand since release {version}");
            return Err(ReleaseError::Place { path: PathBuf::from(&step.name), reason });
        }
        let is_kept = undo.sql.iter().any(|one| one.name == name);
        let change = if is_kept { ChangeKind::Replace } else { ChangeKind::Remove };
        let path = PathBuf::from(address.to_string());
        plan.changes.push(Change { object: step.name.clone(), path, change });
        plan.steps.push(step.inverse());
    }
    // Of one database together.
    plan.steps.sort_by(|one, next| one.source.cmp(&next.source));
    Ok(plan)
}

/// Every object in databases, as it is now: its own hash while its query gives what it gave when it was applied.
pub(super) fn sql_objects(policy: &Policy, placed: &[PlacedSql]) -> Vec<ObjectState> {
    let mut by_source: BTreeMap<String, Vec<(&PlacedSql, SqlObject)>> = BTreeMap::new();
    let mut found = Vec::new();
    for one in placed {
        match SqlObject::parse(one.text.as_bytes()) {
            Ok(object) => by_source.entry(object.source.clone()).or_default().push((one, object)),
            Err(_) => found.push(state(one, None)),
        }
    }
    for (source, objects) in by_source {
        let (placed, objects): (Vec<_>, Vec<_>) = objects.into_iter().unzip();
        let now = policy.source(&source).map(|address| Database::look(address, &objects));
        for (at, placed) in placed.into_iter().enumerate() {
            let now = now.as_ref().and_then(|now| now[at].clone());
            found.push(state(placed, now));
        }
    }
    found
}

fn state(placed: &PlacedSql, now: Option<Shown>) -> ObjectState {
    let sha256 = match now {
        Some(now) if now == placed.value => Some(placed.sha256.clone()),
        now => now.and_then(|now| now.0),
    };
    ObjectState { kind: ObjectKind::Sql, name: placed.name.clone(), sha256 }
}
