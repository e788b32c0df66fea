//! Who pushes: keys with roles, actions that they sign, and the log of these.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use iostall_measure::clock::utc_now;
use iostall_store::{History as _, PostgresHistory, PushLogEntry, StoreId, StoredOperator};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::release::{PublicKey, ReleaseError, Sealed, SigningKey, sealed, sha256};
use crate::rollout_error::RolloutError;

const ACTION: &str = "iostall-action 1";
/// Before the first one.
const NO_ACTION: &str = "none";

/// What an operator may do; each role may do what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Nothing any more.
    None,
    /// Reads.
    Viewer,
    /// Pushes and undoes.
    Operator,
    /// Makes operators, too.
    Admin,
}

impl Role {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::None, Self::Viewer, Self::Operator, Self::Admin];
        let wrong = || "write viewer, operator, admin, or none".to_owned();
        all.into_iter().find(|role| role.name() == text).ok_or_else(wrong)
    }
}

/// An operator with a key and a role that suffices.
#[derive(Debug)]
pub struct Operator {
    key: SigningKey,
    pub(super) name: String,
}

/// An action as it is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Action {
    repository: StoreId,
    at: Timestamp,
    /// The hash of the action before it.
    previous: String,
    pub(super) what: What,
}

/// What an operator does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum What {
    /// Makes an operator.
    Operator { key: PublicKey, name: String, role: Role },
    /// Pushes a release.
    Push {
        release: String,
        version: u64,
        labels: BTreeMap<String, String>,
        servers: usize,
        rings: String,
        failed_max: String,
    },
    /// Undoes a push.
    Undo { push: u64, release: String },
    /// Waits no longer for a server.
    Skip { push: u64, server: String },
    /// Asks no further servers.
    End { push: u64 },
}

impl What {
    fn text(&self) -> String {
        match self {
            Self::Operator { name, role, key } => format!("made {name} ({key}) {}", role.name()),
            Self::Push { version, servers, rings, failed_max, .. } => {
                format!(
                    "pushed release {version} to {servers} servers in rings {rings}, of which {failed_max} may fail"
                )
            }
            Self::Undo { push, .. } => format!("undid push {push}"),
            Self::Skip { push, server } => format!("skipped {server} in push {push}"),
            Self::End { push } => format!("ended push {push}"),
        }
    }
}

impl Operator {
    /// The operator with the key in a file, who must have this role or more.
    ///
    /// # Errors
    /// If the key is that of nobody, or of somebody with less.
    pub fn open(repository: &PostgresHistory, key: &Path, needed: Role) -> Result<Self, RolloutError> {
        let key = SigningKey::read(key)?;
        let public = key.public().to_string();
        let found = repository.operators()?.into_iter().find(|operator| operator.key == public);
        let StoredOperator { name, role, .. } = found.ok_or(RolloutError::NoOperator { key: public })?;
        if role.parse::<Role>().unwrap_or(Role::None) < needed {
            return Err(RolloutError::Role { name, role, needed: needed.name() });
        }
        Ok(Self { key, name })
    }

    /// Signs an action and adds it to the log. Only within [`PostgresHistory::change_pushes`], which lets nobody in between.
    pub(super) fn act(&self, repository: &PostgresHistory, what: What) -> Result<String, RolloutError> {
        let previous = repository
            .last_push_action()?
            .map_or_else(|| NO_ACTION.to_owned(), |text| sha256(text.as_bytes()));
        let text = what.text();
        let action = Action { repository: repository.id(), at: utc_now(), previous, what };
        let document = serde_json::to_string(&action).unwrap_or_default();
        let signed = String::from_utf8(sealed(ACTION, &document, &self.key)).unwrap_or_default();
        repository.add_push_log(Some(&self.name), &text, Some(&signed))?;
        Ok(signed)
    }
}

/// Gives `key` a role under `name`. The first operator of a repository makes itself an admin.
///
/// # Errors
/// If the key in `by` is none of an admin, or no admin would be left.
pub fn put_operator(
    repository: &PostgresHistory,
    by: &Path,
    name: &str,
    key: PublicKey,
    role: Role,
) -> Result<(), RolloutError> {
    repository.change_pushes(|repository| {
        let mut operators = repository.operators()?;
        let admin = if operators.is_empty() && role == Role::Admin && SigningKey::read(by)?.public() == key {
            Operator { key: SigningKey::read(by)?, name: name.to_owned() }
        } else {
            Operator::open(repository, by, Role::Admin)?
        };
        let operator =
            StoredOperator { key: key.to_string(), name: name.to_owned(), role: role.name().to_owned() };
        operators.retain(|other| other.key != operator.key);
        if role != Role::Admin && !operators.iter().any(|other| other.role == Role::Admin.name()) {
            return Err(RolloutError::LastAdmin);
        }
        admin.act(repository, What::Operator { key, name: name.to_owned(), role })?;
        repository.put_operator(&operator)?;
        Ok(())
    })
}

/// The action in `signed`, if somebody who may push has signed it for this repository.
pub(super) fn action_of(repository: &PostgresHistory, signed: &str) -> Result<What, RolloutError> {
    let may_push =
        |operator: &StoredOperator| operator.role.parse::<Role>().unwrap_or(Role::None) >= Role::Operator;
    let operators = repository.operators()?;
    let keys: Vec<PublicKey> =
        operators.iter().filter(|one| may_push(one)).filter_map(|one| one.key.parse().ok()).collect();
    let action = read(signed, &keys)?;
    if action.repository == repository.id() {
        Ok(action.what)
    } else {
        Err(ReleaseError::Form("it is an action of another repository".to_owned()).into())
    }
}

fn read(signed: &str, keys: &[PublicKey]) -> Result<Action, ReleaseError> {
    let head = Sealed::split(signed.as_bytes())?;
    let document = head.verified(keys, "the operators of this repository")?;
    if head.what != ACTION || !head.rest.is_empty() {
        return Err(ReleaseError::Form("it is no action".to_owned()));
    }
    serde_json::from_str(document).map_err(|error| ReleaseError::Form(error.to_string()))
}

/// The log, if every action in it is as its operator signed it, who was one then, and none is missing between two others.
///
/// # Errors
/// The first entry that is not.
pub(super) fn check_log(repository: &PostgresHistory) -> Result<Vec<PushLogEntry>, RolloutError> {
    let (id, log) = (repository.id(), repository.push_log()?);
    let (mut previous, mut roles) = (NO_ACTION.to_owned(), BTreeMap::<PublicKey, Role>::new());
    for entry in &log {
        let Some(signed) = &entry.signed else { continue };
        let wrong = |reason: &str| RolloutError::Log { number: entry.number, reason: reason.to_owned() };
        let mut keys: Vec<PublicKey> = roles.keys().copied().collect();
        if roles.is_empty() {
            keys.extend(Sealed::split(signed.as_bytes()).map(|head| head.key));
        }
        let action = read(signed, &keys).map_err(|error| wrong(&error.to_string()))?;
        if action.repository != id || action.previous != previous {
            return Err(wrong("it does not follow the one before"));
        }
        let by = Sealed::split(signed.as_bytes())?.key;
        let role = roles.get(&by).copied();
        let (needed, first) = match &action.what {
            What::Operator { key, role, .. } => (Role::Admin, (*key == by).then_some(*role)),
            What::Push { .. } | What::Undo { .. } | What::Skip { .. } | What::End { .. } => {
                (Role::Operator, None)
            }
        };
        let has = if roles.is_empty() { first } else { role };
        if has.unwrap_or(Role::None) < needed {
            return Err(wrong("its operator was not allowed to"));
        }
        if let What::Operator { key, role, .. } = action.what {
            roles.insert(key, role);
        }
        previous = sha256(signed.as_bytes());
    }
    Ok(log)
}
