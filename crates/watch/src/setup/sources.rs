//! The `[[source]]` tables, and what a file of sources is for.

use std::collections::BTreeSet;
use std::time::Duration;

use iostall_collect::address::PasswordFrom;
use iostall_collect::{Address, Engine, Filter, Secret};
use iostall_host::machine_name;
use iostall_measure::Nanos;
use iostall_model::alert::RuleSource;
use iostall_store::Retention;
use jiff::SignedDuration;
use serde::Deserialize;

/// Drives count their percentages once an hour at most.
const DRIVE_INTERVAL: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug, PartialEq)]
pub struct WatchedSource {
    pub name: String,
    pub address: Address,
    pub secret: Option<Secret>,
    pub tags: Vec<String>,
    pub interval: Duration,
    pub timeout: Duration,
    pub filter: Filter,
    /// The server that it counts for in a repository, where that is not its host.
    pub server: Option<String>,
}

impl WatchedSource {
    pub fn server(&self) -> String {
        let host = || if self.address.is_socket() { machine_name() } else { self.address.host.clone() };
        self.server.clone().unwrap_or_else(host)
    }

    /// What answers for it: several sources may have the same.
    pub(crate) fn endpoint(&self) -> String {
        let Address { engine, host, port, instance, .. } = &self.address;
        format!("{}://{host}:{port}/{}", engine.scheme(), instance.as_deref().unwrap_or_default())
    }

    pub(crate) fn for_rules(&self) -> RuleSource {
        let interval_ns = u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX);
        RuleSource { name: self.name.clone(), tags: self.tags.clone(), interval_ns }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Written {
    url: String,
    name: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    interval: Option<Nanos>,
    timeout: Option<Nanos>,
    #[serde(default)]
    databases: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    without_catalogs: bool,
    server: Option<String>,
}

pub(super) struct Defaults {
    pub(super) interval: Duration,
    pub(super) timeout: Duration,
}

/// The interval of a source without one of its own: drives are asked no more often than they count.
pub(super) fn usual_interval(engine: Engine, interval: Duration) -> Duration {
    if engine == Engine::Smart { interval.max(DRIVE_INTERVAL) } else { interval }
}

pub(super) fn checked(
    written: Vec<Written>,
    defaults: &Defaults,
    purpose: Purpose,
) -> Result<Vec<WatchedSource>, Wrong> {
    let (mut sources, mut names) = (Vec::new(), BTreeSet::new());
    for (place, one) in written.into_iter().enumerate() {
        // An invalid address may contain a password, so the label does not show it.
        let label =
            one.name.clone().map_or(format!("source {}", place + 1), |name| format!("source {name:?}"));
        let source = source(one, defaults).and_then(|source| fit_for(purpose, source));
        let source = source.map_err(|reason| (label.clone(), reason))?;
        if !names.insert(source.name.clone()) {
            return Err((label, format!("{:?} is there twice: its samples would mix", source.name)));
        }
        sources.push(source);
    }
    Ok(sources)
}

fn fit_for(purpose: Purpose, source: WatchedSource) -> Result<WatchedSource, String> {
    let is_of_host = matches!(source.address.engine, Engine::Linux | Engine::Smart);
    match purpose {
        Purpose::Collect if source.server.is_some() => {
            Err("server is for `iostall fleet pull`: a collector samples for its own host".into())
        }
        Purpose::Pull if is_of_host => {
            Err("it can only be read on its own host: let `iostall collect run` and \
             `iostall fleet send` run there"
                .into())
        }
        _ => Ok(source),
    }
}

fn source(written: Written, defaults: &Defaults) -> Result<WatchedSource, String> {
    let address: Address = written
        .url
        .parse()
        .map_err(|error: iostall_collect::AddressError| format!("{error}: {}", error.hint()))?;
    if address.password == PasswordFrom::Prompt {
        return Err("nobody can be asked for a password here: write ?password-file=PATH".into());
    }
    let name = written.name.unwrap_or_else(|| address.to_string());
    if name.trim().is_empty() || name.contains(['\n', '\r']) {
        return Err("the name must be a line with something in it".into());
    }
    if written.server.as_ref().is_some_and(|name| name.trim().is_empty() || name.contains(['\n', '\r'])) {
        return Err("the server must be a line with something in it".into());
    }
    if written.tags.iter().any(|tag| tag.trim().is_empty()) {
        return Err("a tag must have a letter in it".into());
    }
    let longer = |(key, reason): Wrong| format!("{key} {reason}");
    let interval = length("interval", written.interval, usual_interval(address.engine, defaults.interval))
        .map_err(longer)?;
    if interval < Duration::from_secs(1) {
        return Err("the shortest interval is 1s".into());
    }
    let filter = Filter {
        databases: written.databases,
        names: written.files,
        is_without_catalogs: written.without_catalogs,
        kinds: Vec::new(),
    };
    if let Some(what) = filter.unread(&[address.engine]) {
        return Err(format!(
            "only {what} is to be sampled, which a source of {} does not have",
            address.engine.scheme()
        ));
    }
    Ok(WatchedSource {
        name,
        address,
        secret: None,
        tags: written.tags,
        interval,
        timeout: length("timeout", written.timeout, defaults.timeout).map_err(longer)?,
        filter,
        server: written.server,
    })
}

/// A place in the file, and the error there.
pub(super) type Wrong = (String, String);

/// A positive duration.
pub(super) fn length(key: &str, written: Option<Nanos>, default: Duration) -> Result<Duration, Wrong> {
    match written.map(Nanos::nanos) {
        None => Ok(default),
        Some(0) => Err((key.to_owned(), "must be longer than nothing".into())),
        Some(nanos) => Ok(Duration::from_nanos(nanos)),
    }
}

/// How long samples are kept that the repository has: a connection that is lost just then must not cost them.
const KEEP_PULLED: Duration = Duration::from_secs(3600);
/// Roll-ups of what the repository has, which makes its own.
const KEEP_PULLED_ROLLUPS: SignedDuration = SignedDuration::from_hours(48);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The history stays in the store.
    Collect,
    /// It is sent to a repository, and belongs to the servers of the sources.
    Pull,
}

impl Purpose {
    /// How long raw samples are kept where the file does not say it; `usual` for a collector.
    pub(super) fn keep_raw(self, usual: Duration) -> Duration {
        match self {
            Self::Collect => usual,
            Self::Pull => KEEP_PULLED,
        }
    }

    /// How long everything is kept, if raw samples are kept for so long.
    pub(crate) fn retention(self, keep_raw: Duration) -> Retention {
        let raw = SignedDuration::try_from(keep_raw).unwrap_or(SignedDuration::MAX);
        match self {
            Self::Collect => Retention { raw, ..Retention::default() },
            Self::Pull => {
                let rollups = KEEP_PULLED_ROLLUPS.max(raw);
                Retention { raw, hours: rollups, days: Some(rollups) }
            }
        }
    }
}
