//! What is done at the centre: plan a push, begin it, undo it, end it, or skip a server that does not answer.

use std::collections::BTreeMap;

use iostall_store::{NewPush, PostgresHistory, PushServer, UnreachedServer};
use serde::Serialize;

use super::rings::{FailedMax, Rings};
use super::serve::advance;
use crate::centre_protocol::PART_BYTES;
use crate::error::RolloutError;
use crate::release::{Object, ObjectState, Opened, ReleaseInfo};

#[derive(Debug)]
pub struct PushRequest<'a> {
    pub file: &'a [u8],
    /// Servers with all of these; without any, all servers.
    pub labels: BTreeMap<String, String>,
    pub rings: Rings,
    pub failed_max: FailedMax,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PushPlan {
    pub version: u64,
    pub release: String,
    pub servers: Vec<PlannedServer>,
    /// Nothing of it reaches these, whatever their labels.
    pub unreached: Vec<Unreached>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreached {
    pub server: String,
    /// `no-agent`.
    pub reason: &'static str,
}

/// What it would do on a server, by what that last said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedServer {
    pub server: String,
    /// From 1 on.
    pub ring: u32,
    /// Objects that are not there, or not as they are in the release.
    pub changes: Vec<String>,
    pub same: usize,
}

/// Labels from texts such as `role=standby`.
pub fn chosen_by(texts: &[String]) -> Result<BTreeMap<String, String>, RolloutError> {
    let label = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| RolloutError::Label { text: text.clone() })?;
        Ok((name.to_owned(), value.to_owned()))
    };
    texts.iter().map(label).collect()
}

pub(super) fn labels_of(server: &PushServer) -> BTreeMap<String, String> {
    serde_json::from_str(&server.labels).unwrap_or_default()
}

pub(super) fn objects_of(server: &PushServer) -> Vec<ObjectState> {
    serde_json::from_str(&server.objects).unwrap_or_default()
}

fn chosen(
    repository: &PostgresHistory,
    request: &PushRequest<'_>,
) -> Result<Vec<(PushServer, u32)>, RolloutError> {
    let has_all = |server: &PushServer| {
        let has = labels_of(server);
        request.labels.iter().all(|(name, value)| has.get(name) == Some(value))
    };
    let servers: Vec<PushServer> = repository.push_agents()?.into_iter().filter(has_all).collect();
    if servers.is_empty() {
        return Err(RolloutError::NoServers);
    }
    let rings = request.rings.of(servers.len());
    Ok(servers.into_iter().zip(rings).collect())
}

/// The release in a file that may still be applied.
fn described(file: &[u8]) -> Result<ReleaseInfo, RolloutError> {
    let info = Opened::describe(file)?;
    let opened = Opened::verify(file, &[info.key], "itself")?;
    opened.check_time()?;
    Ok(info)
}

pub fn plan(repository: &PostgresHistory, request: &PushRequest<'_>) -> Result<PushPlan, RolloutError> {
    let info = described(request.file)?;
    let planned = |(server, ring): (PushServer, u32)| {
        let (labels, there) = (labels_of(&server), objects_of(&server));
        let is_there = |object: &&Object| {
            there.iter().any(|now| {
                now.kind == object.kind
                    && now.name == object.name
                    && now.sha256.as_ref() == Some(&object.sha256)
            })
        };
        let meant = info.objects.iter().filter(|object| object.is_for(&labels));
        let (same, changes): (Vec<&Object>, Vec<&Object>) = meant.partition(is_there);
        let changes = changes.iter().map(ToString::to_string).collect();
        PlannedServer { server: server.name.clone(), ring, changes, same: same.len() }
    };
    let servers = chosen(repository, request)?.into_iter().map(planned).collect();
    let unreached = unreached(repository)?;
    Ok(PushPlan { version: info.version, release: info.id, servers, unreached })
}

pub fn unreached(repository: &PostgresHistory) -> Result<Vec<Unreached>, RolloutError> {
    let server = |UnreachedServer { name }| Unreached { server: name, reason: "no-agent" };
    Ok(repository.unreached_servers()?.into_iter().map(server).collect())
}

/// Begins a push, and returns its number. The servers of the first ring are asked from now on.
pub fn begin(repository: &PostgresHistory, request: &PushRequest<'_>) -> Result<u64, RolloutError> {
    let info = described(request.file)?;
    let parts: Vec<&[u8]> = request.file.chunks(PART_BYTES).collect();
    let objects = serde_json::to_string(&info.objects).unwrap_or_default();
    repository.change_pushes(|repository| {
        let servers: Vec<_> =
            chosen(repository, request)?.into_iter().map(|(server, ring)| (server.store, ring)).collect();
        if let Some(server) = repository.busy_server(&servers)? {
            return Err(RolloutError::Busy { server });
        }
        repository.add_release(&info.id, info.version, &objects, &parts)?;
        let rings = servers.last().map_or(1, |(_, ring)| *ring);
        Ok(repository.add_push(&NewPush {
            release: &info.id,
            failed_max: &request.failed_max.to_string(),
            servers: &servers,
            rings,
        })?)
    })
}

/// Has every server that `push` may have reached put back what was there before it.
pub fn undo(repository: &PostgresHistory, push: u64, permit: &[u8]) -> Result<(), RolloutError> {
    let info = described(permit)?;
    let text = std::str::from_utf8(permit).map_err(|_| RolloutError::OtherPermit { push })?;
    repository.change_pushes(|repository| {
        let found = repository.pushes(Some(push))?.pop().ok_or(RolloutError::NoPush { push })?;
        if info.kind != "undo" || info.id != found.release {
            return Err(RolloutError::OtherPermit { push });
        }
        if found.state == "undone" && found.counts.undo_failed == 0 {
            return Err(RolloutError::NotUndone { push, state: found.state });
        }
        repository.begin_undo(&found, text)?;
        super::serve::advance(repository, push)
    })
}

/// No ring of `push` waits for `server` any more. When it comes back it takes the release, unless the push was halted, ended or undone by
/// then, or a newer one has reached it; until then it counts as drifted.
pub fn skip(repository: &PostgresHistory, push: u64, server: &str) -> Result<(), RolloutError> {
    repository.change_pushes(|repository| {
        repository.pushes(Some(push))?.pop().ok_or(RolloutError::NoPush { push })?;
        if !repository.skip_server(push, server)? {
            return Err(RolloutError::NotAwaited { push, server: server.to_owned() });
        }
        advance(repository, push)
    })
}

/// No further server is asked for `push`; of one that is being undone, those that have not answered count as not undone. Who has begun
/// still answers.
pub fn end(repository: &PostgresHistory, push: u64) -> Result<(), RolloutError> {
    repository.change_pushes(|repository| {
        let found = repository.pushes(Some(push))?.pop().ok_or(RolloutError::NoPush { push })?;
        match found.state.as_str() {
            "running" => {
                repository.put_push_state(push, "ended", found.ring)?;
                Ok(repository.leave_servers(push)?)
            }
            "undoing" => {
                repository.skip_undo(push)?;
                advance(repository, push)
            }
            state => Err(RolloutError::NotRunning { push, state: state.to_owned() }),
        }
    })
}
