//! A report on all servers of a repository.

use iostall_model::Kind;
use iostall_stats::trend::{Rhythm, TimedValue, trend};
use iostall_store::{FleetServer, FleetSizes, FleetUse, History as _, PostgresHistory, StallDay};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::error::WatchError;

const FILES: [Kind; 4] = [Kind::SqlServerFile, Kind::MysqlFile, Kind::PostgresTable, Kind::PostgresIndex];
/// Fewer days have no trend.
const TREND_DAYS_MIN: usize = 21;
/// The largest slope of a trend's interval by the smallest: what spans more says nothing.
const TREND_SPAN_MAX: f64 = 3.0;
/// Of operations by the mean stall of their interval.
const STALL_SHARE: f64 = 0.95;
/// A server without a newer sample is late, or silent.
const LATE: SignedDuration = SignedDuration::from_hours(1);
const SILENT: SignedDuration = SignedDuration::from_hours(24);
/// A clock that is further off puts samples into the wrong minutes.
const CLOCK_MS_MAX: u64 = 5_000;

#[derive(Clone, Copy, Debug)]
pub struct FleetRequest {
    pub from: Timestamp,
    pub to: Timestamp,
    /// By which servers are late.
    pub now: Timestamp,
    /// Files, volumes and devices at most, the worst of each.
    pub top: u32,
    /// This iostall: an older one is old.
    pub version: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetReport {
    pub repository: String,
    pub from: Timestamp,
    pub to: Timestamp,
    pub servers: Vec<ServerState>,
    /// Sorted by time waited, longest first, like the lists below.
    pub files: Vec<FleetFile>,
    pub volumes: Vec<FleetLoad>,
    pub devices: Vec<FleetDevice>,
    /// What each source holds, those that grow most first.
    pub capacity: Vec<FleetCapacity>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerState {
    pub server: String,
    pub id: String,
    pub version: Option<String>,
    pub sources: u64,
    pub newest_sample: Option<Timestamp>,
    pub last_contact: Option<Timestamp>,
    pub clock_ahead_ms: Option<i64>,
    pub faults: Vec<ServerFault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerFault {
    /// No sample of the last 24 hours.
    Silent,
    /// None of the last hour.
    Late,
    /// Its iostall is older than the one that reports.
    Old,
    /// Its clock was off by more than five seconds.
    Clock,
    Cloned,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetLoad {
    pub server: String,
    pub source: String,
    /// Absent for a volume of a shared device.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scope: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    pub reads_per_s: Option<f64>,
    pub writes_per_s: Option<f64>,
    pub mib_per_s: f64,
    pub stall_ms_per_s: f64,
    /// `None` without reads and writes.
    pub stall_ms_per_io: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetFile {
    #[serde(flatten)]
    pub load: FleetLoad,
    /// Of the stall that 95 of 100 reads and writes of a day had at most in their interval: milliseconds a day.
    pub stall_ms_p95_trend: DailyTrend,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetDevice {
    pub kind: String,
    pub identity: String,
    pub model: Option<String>,
    pub volumes: Vec<FleetLoad>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetCapacity {
    pub server: String,
    pub source: String,
    pub first: Timestamp,
    pub last: Timestamp,
    pub bytes_first: f64,
    pub bytes_last: f64,
    pub trend: DailyTrend,
}

/// A trend of one value a day, or why none is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DailyTrend {
    pub days: usize,
    pub newest: Option<f64>,
    pub per_day: Option<f64>,
    /// Bounds of the 95 % confidence interval of `per_day`.
    pub per_day_min: Option<f64>,
    pub per_day_max: Option<f64>,
    pub refused: Option<String>,
}

pub fn fleet_report(repository: &PostgresHistory, request: &FleetRequest) -> Result<FleetReport, WatchError> {
    let window = (request.from, request.to);
    let seconds = (request.to.duration_since(request.from).as_secs_f64()).max(1.0);
    let files: Vec<&str> = FILES.iter().map(|kind| kind.name()).collect();
    let on_volumes: Vec<&str> = files.iter().copied().chain([Kind::LinuxDevice.name()]).collect();
    let read = || -> Result<FleetReport, WatchError> {
        let worst = repository.fleet_files(window, &files, request.top)?;
        let days = repository.fleet_days(window, &worst)?;
        let loads = |uses: Vec<FleetUse>| uses.into_iter().map(|one| load(one, seconds)).collect();
        let devices = repository.fleet_neighbours(window, &on_volumes, request.top)?;
        Ok(FleetReport {
            repository: repository.name().to_owned(),
            from: request.from,
            to: request.to,
            servers: repository.fleet_servers()?.into_iter().map(|one| state(one, request)).collect(),
            files: worst
                .into_iter()
                .zip(days)
                .map(|(one, days)| FleetFile {
                    load: load(one, seconds),
                    stall_ms_p95_trend: daily_trend(&stall_points(&days)),
                })
                .collect(),
            volumes: loads(repository.fleet_volumes(window, &on_volumes, request.top)?),
            devices: devices
                .into_iter()
                .map(|device| FleetDevice {
                    kind: device.kind,
                    identity: device.identity,
                    model: device.model,
                    volumes: loads(device.volumes),
                })
                .collect(),
            capacity: capacities(repository.fleet_sizes(window, &files)?, request.top),
        })
    };
    repository.frozen(read)?
}

fn state(server: FleetServer, request: &FleetRequest) -> ServerState {
    let age = server.newest_sample.map(|newest| request.now.duration_since(newest));
    let is_old = server.version.as_deref().is_some_and(|version| numbers(version) < numbers(request.version));
    let is_off = server.clock_ahead_ms.is_some_and(|ahead| ahead.unsigned_abs() > CLOCK_MS_MAX);
    let faults = [
        (ServerFault::Silent, age.is_none_or(|age| age > SILENT)),
        (ServerFault::Late, age.is_some_and(|age| age > LATE && age <= SILENT)),
        (ServerFault::Old, is_old),
        (ServerFault::Clock, is_off),
        (ServerFault::Cloned, server.clone_noticed.is_some_and(|at| at >= request.from)),
    ];
    ServerState {
        server: server.hostname.unwrap_or_else(|| server.id.clone()),
        id: server.id,
        version: server.version,
        sources: server.sources,
        newest_sample: server.newest_sample,
        last_contact: server.last_contact,
        clock_ahead_ms: server.clock_ahead_ms,
        faults: faults.into_iter().filter_map(|(fault, has_it)| has_it.then_some(fault)).collect(),
    }
}

/// The numbers of a version, for an order.
fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

fn load(used: FleetUse, seconds: f64) -> FleetLoad {
    let ops = used.reads.unwrap_or(0.0) + used.writes.unwrap_or(0.0);
    let stall_ms = used.stall_ns / 1e6;
    FleetLoad {
        server: used.server,
        source: used.source,
        kind: used.kind,
        scope: used.scope,
        name: used.name,
        volume: used.volume,
        reads_per_s: used.reads.map(|reads| reads / seconds),
        writes_per_s: used.writes.map(|writes| writes / seconds),
        mib_per_s: used.bytes / seconds / f64::from(1 << 20),
        stall_ms_per_s: stall_ms / seconds,
        stall_ms_per_io: (ops > 0.0).then(|| used.io_stall_ns / 1e6 / ops),
    }
}

fn day_of(at: Timestamp) -> f64 {
    at.as_second() as f64 / 86_400.0
}

fn stall_points(days: &[StallDay]) -> Vec<TimedValue> {
    let point = |(at, stalls): &StallDay| {
        let value = stalls.stall_ns_at(STALL_SHARE)? as f64 / 1e6;
        Some(TimedValue { day: day_of(*at), value })
    };
    days.iter().filter_map(point).collect()
}

fn capacities(sizes: Vec<FleetSizes>, top: u32) -> Vec<FleetCapacity> {
    let capacity = |of: FleetSizes| {
        let (first, last) = (*of.days.first()?, *of.days.last()?);
        let points: Vec<TimedValue> =
            of.days.iter().map(|(at, bytes)| TimedValue { day: day_of(*at), value: *bytes }).collect();
        Some(FleetCapacity {
            server: of.server,
            source: of.source,
            first: first.0,
            last: last.0,
            bytes_first: first.1,
            bytes_last: last.1,
            trend: daily_trend(&points),
        })
    };
    let mut all: Vec<FleetCapacity> = sizes.into_iter().filter_map(capacity).collect();
    let growth = |one: &FleetCapacity| one.bytes_last - one.bytes_first;
    all.sort_by(|one, other| growth(other).total_cmp(&growth(one)));
    all.truncate(top as usize);
    all
}

/// The trend of one value a day, with the rhythm of a week.
fn daily_trend(points: &[TimedValue]) -> DailyTrend {
    let known = DailyTrend {
        days: points.len(),
        newest: points.last().map(|point| point.value),
        ..Default::default()
    };
    let refused = |why: String| DailyTrend { refused: Some(why), ..known.clone() };
    if points.len() < TREND_DAYS_MIN {
        return refused(format!("{} days; a trend needs {TREND_DAYS_MIN}", points.len()));
    }
    let Some(found) = trend(points, Some(Rhythm::WEEK_OF_DAYS), 0.95) else {
        return refused("too few days of the same weekday".to_owned());
    };
    let (least, most) = (found.slope_per_day_min, found.slope_per_day_max);
    let (near, far) = (least.abs().min(most.abs()), least.abs().max(most.abs()));
    let is_flat = far <= 0.0;
    if !is_flat && (least * most <= 0.0 || far > near * TREND_SPAN_MAX) {
        return refused("the days differ too much to tell one".to_owned());
    }
    DailyTrend {
        per_day: Some(found.slope_per_day),
        per_day_min: Some(least),
        per_day_max: Some(most),
        ..known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(days: u32, value: impl Fn(f64) -> f64) -> Vec<TimedValue> {
        (0..days).map(|day| TimedValue { day: day.into(), value: value(day.into()) }).collect()
    }

    #[test]
    fn a_trend_is_told_only_where_the_days_are_many_and_agree() {
        let grows = |day: f64| 100.0 + 5.0 * day + (day * 2.1).sin();
        assert!(daily_trend(&points(20, grows)).refused.unwrap().contains("needs 21"));
        let found = daily_trend(&points(40, grows));
        assert!(found.per_day.is_some_and(|slope| (4.5..5.5).contains(&slope)), "{found:?}");
        let noise = |day: f64| (day * 12.9898).sin() * 43_758.5;
        let refused = daily_trend(&points(40, noise));
        assert!(refused.per_day.is_none() && refused.refused.unwrap().contains("differ too much"));
        let flat = daily_trend(&points(40, |_| 7.0));
        assert_eq!((flat.per_day, flat.refused), (Some(0.0), None));
    }

    #[test]
    fn a_server_is_silent_late_old_off_or_cloned() {
        let now: Timestamp = "2026-03-08T12:00:00Z".parse().unwrap();
        let request = FleetRequest {
            from: now - SignedDuration::from_hours(24),
            to: now,
            now,
            top: 5,
            version: "0.10.0",
        };
        let server = FleetServer {
            id: "i".into(),
            hostname: Some("db1".into()),
            version: Some("0.10.0".into()),
            last_contact: Some(now),
            clock_ahead_ms: Some(-20),
            clone_noticed: None,
            sources: 1,
            newest_sample: Some(now - SignedDuration::from_mins(5)),
        };
        assert_eq!(state(server.clone(), &request).faults, []);
        let odd = FleetServer {
            version: Some("0.9.4".into()),
            clock_ahead_ms: Some(-5_001),
            clone_noticed: Some(now),
            newest_sample: Some(now - SignedDuration::from_hours(2)),
            ..server.clone()
        };
        let all = [ServerFault::Late, ServerFault::Old, ServerFault::Clock, ServerFault::Cloned];
        assert_eq!(state(odd, &request).faults, all);
        let silent = FleetServer { newest_sample: None, hostname: None, ..server };
        let silent = state(silent, &request);
        assert_eq!((silent.faults.as_slice(), silent.server.as_str()), (&[ServerFault::Silent][..], "i"));
    }
}
