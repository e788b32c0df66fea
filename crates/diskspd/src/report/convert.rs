//! Converts a run to a DiskSpd report.

use iostall_measure::Op;
use iostall_measure::platform::Host;
use iostall_model::outcome::{Cell, CellInterval, IntervalPoint, SpanOutcome};
use iostall_model::{AskedFormat, AskedProfile, LoadOutcome, Run};
use thiserror::Error;

use super::input::{
    CpuTopology, DiskspdReport, IntervalBucket, OpResult, PowerScheme, Processor, TargetResult, ThreadResult,
    TimeSpanResult,
};
use super::text::write_text;
use super::xml::write_xml;
use crate::xml::{ProfileError, read_profile, write_profile};
use crate::{DiskspdProfile, DiskspdTarget, DiskspdTimeSpan, ResultFormats};

/// The report of `run`, which was started from `profile`; `None` if the run is no load.
///
/// It has all threads of the profile, whether or not they completed anything.
pub fn from_run(run: &Run, profile: DiskspdProfile) -> Option<DiskspdReport> {
    let outcome = run.body.as_kind::<LoadOutcome>()?;
    let spans = profile.time_spans.iter().zip(&outcome.spans);
    let time_spans = spans.map(|(asked, measured)| convert_span(run, asked, measured)).collect();
    let host = &run.host;
    Some(DiskspdReport {
        command_line: run.command_line.join(" "),
        computer_name: host.hostname.clone(),
        started_utc: run.started_utc,
        topology: topology(host),
        power_scheme: PowerScheme::governor(host.cpu_governor.as_deref()),
        profile,
        time_spans,
    })
}

/// Linux has a single processor group.
fn topology(host: &Host) -> CpuTopology {
    let processors: Vec<Processor> = host
        .processors
        .iter()
        .map(|it| Processor {
            id: it.id,
            socket: it.socket,
            node: it.node,
            group: 0,
            core: it.core,
            efficiency_class: it.class,
        })
        .collect();
    // The table has one row per online processor, even if this process may use only some.
    let count = u32::try_from(processors.len()).ok().filter(|count| *count > 0);
    let cpu_count = count.unwrap_or(host.cpu_count);
    CpuTopology {
        cpu_count,
        core_count: host.core_count.unwrap_or(cpu_count),
        group_count: 1,
        node_count: host.node_count.unwrap_or(1),
        socket_count: host.socket_count.unwrap_or(1),
        processors,
    }
}

fn convert_span(run: &Run, asked: &DiskspdTimeSpan, measured: &SpanOutcome) -> TimeSpanResult {
    let cells: Vec<&Cell> = measured.roles.iter().flat_map(|role| &role.cells).collect();
    let points: Vec<&[IntervalPoint]> = measured.roles.iter().map(|role| role.series.as_slice()).collect();
    let read_buckets = convert_series(&points, Op::Read, asked.bucket_ms);
    let write_buckets = convert_series(&points, Op::Write, asked.bucket_ms);
    let whole = measured.measured_ns / (u64::from(asked.bucket_ms).max(1) * 1_000_000);
    let whole = usize::try_from(whole).unwrap_or(0);
    let threads = place_threads(asked)
        .into_iter()
        .zip(0..)
        .map(|(targets, id)| {
            let convert = |target| convert_target(run, measured, (target, id), &cells, whole);
            ThreadResult { id, targets: targets.into_iter().map(convert).collect() }
        })
        .collect::<Vec<_>>();
    TimeSpanResult {
        measured_ns: measured.measured_ns,
        cpus: measured.cpus.clone(),
        threads,
        bucket_ms: asked.bucket_ms,
        read_buckets,
        write_buckets,
    }
}

/// The targets of each thread: all of them in a pool, otherwise the thread's own.
fn place_threads(span: &DiskspdTimeSpan) -> Vec<Vec<&DiskspdTarget>> {
    if span.thread_count > 0 {
        return (0..span.thread_count).map(|_| span.targets.iter().collect()).collect();
    }
    let own = |target| std::iter::repeat_n(vec![target], target_threads(target));
    span.targets.iter().flat_map(own).collect()
}

fn target_threads(target: &DiskspdTarget) -> usize {
    usize::try_from(target.threads_per_file).unwrap_or(usize::MAX)
}

/// `whole` is the number of complete intervals of the measured part.
fn convert_target(
    run: &Run,
    measured: &SpanOutcome,
    (target, thread): (&DiskspdTarget, u32),
    cells: &[&Cell],
    whole: usize,
) -> TargetResult {
    let known = run.targets.iter().position(|known| known.path.to_string_lossy() == target.path);
    // The size used by the time span, which is less than the file if another one uses more.
    let size_bytes = known.map_or(0, |index| {
        measured.target_bytes.get(index).copied().unwrap_or(run.targets[index].size_bytes)
    });
    let of = |op: Op| {
        let mine = cells.iter().filter(|cell| {
            cell.worker == thread && cell.op == op && usize::try_from(cell.target).ok() == known
        });
        let mut sum =
            OpResult { buckets: Some(vec![IntervalBucket::default(); whole]), ..OpResult::default() };
        for cell in mine {
            let latency_ns = cell.response_ns.as_ref().unwrap_or(&cell.service_ns);
            sum.count += cell.service_ns.count();
            sum.bytes += cell.bytes;
            sum.latency_ns.merge(latency_ns);
            let buckets: Vec<IntervalBucket> =
                cell.intervals.iter().take(whole).map(convert_interval).collect();
            sum.buckets = sum.buckets.map(|mine| super::iops::merge(&mine, &buckets));
        }
        sum
    };
    TargetResult {
        path: target.path.clone(),
        file_size_bytes: size_bytes,
        read: of(Op::Read),
        write: of(Op::Write),
        distribution: target.effective_ranges(size_bytes),
    }
}

fn convert_interval(interval: &CellInterval) -> IntervalBucket {
    IntervalBucket {
        count: interval.count,
        latency_ns_sum: interval.latency_ns_sum,
        latency_ns_sum_of_squares: Some(interval.latency_ns_sum_of_squares),
        latency_ns_min: interval.latency_ns_min,
        latency_ns_max: interval.latency_ns_max,
    }
}

/// Sums the roles' seconds into intervals of `bucket_ms`. Empty if that is not a whole number of seconds; an
/// incomplete last interval is left out because it has no valid rate.
fn convert_series(roles: &[&[IntervalPoint]], op: Op, bucket_ms: u32) -> Vec<IntervalBucket> {
    let width_ns = u64::from(bucket_ms) * 1_000_000;
    let point_ns = roles.iter().filter_map(|points| points.first()).map(|point| point.length_ns).max();
    let Some(point_ns) = point_ns.filter(|point_ns| *point_ns > 0 && width_ns.is_multiple_of(*point_ns))
    else {
        return Vec::new();
    };
    let covered_ns =
        roles.iter().filter_map(|points| points.last()).map(|point| point.start_ns + point.length_ns);
    let whole = covered_ns.max().unwrap_or(0) / width_ns;
    let mut buckets = vec![IntervalBucket::default(); usize::try_from(whole).unwrap_or(0)];
    for point in roles.iter().copied().flatten().filter(|point| point.length_ns == point_ns) {
        let place = usize::try_from(point.start_ns / width_ns).unwrap_or(usize::MAX);
        let Some(bucket) = buckets.get_mut(place) else { continue };
        for done in point.ops.iter().filter(|done| done.op == op) {
            bucket.count += done.count;
            bucket.latency_ns_sum += done.latency_ns_mean * done.count as f64;
            bucket.latency_ns_max = bucket.latency_ns_max.max(Some(done.latency_ns_max));
        }
    }
    buckets
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AskedError {
    /// The run has no DiskSpd profile.
    #[error("the run has no report of DiskSpd's: it was not asked for in DiskSpd's words")]
    OtherWords,
    #[error("the profile that is kept with the run cannot be read: {0}")]
    Profile(#[from] ProfileError),
}

impl AskedError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::OtherWords => {
                "without --diskspd the run is shown as all others; those of `iostall diskspd` keep DiskSpd's words from this \
                 version on"
            }
            Self::Profile(_) => "without --diskspd the run is shown as all others",
        }
    }
}

/// `profile` in the format stored with its run.
pub fn asked(profile: &DiskspdProfile) -> AskedProfile {
    AskedProfile { format: AskedFormat::DiskspdXml, document: write_profile(profile) }
}

pub fn profile_of(run: &Run) -> Result<DiskspdProfile, AskedError> {
    let asked = run.body.as_kind::<LoadOutcome>().and_then(|outcome| outcome.asked.as_ref());
    match asked {
        Some(AskedProfile { format: AskedFormat::DiskspdXml, document }) => {
            Ok(read_profile(document.as_bytes())?)
        }
        None => Err(AskedError::OtherWords),
    }
}

/// The report of `run` in `formats`, text first; `None` if it is not a load.
pub fn report_of(run: &Run, profile: &DiskspdProfile, formats: ResultFormats) -> Option<String> {
    let report = from_run(run, profile.clone())?;
    let mut text = String::new();
    if formats.text {
        text.push_str(&write_text(&report));
    }
    if formats.xml {
        text.push_str(&write_xml(&report));
        text.push('\n');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostall_model::outcome::IntervalOp;

    fn point(second: u64, length_ns: u64, count: u64) -> IntervalPoint {
        let op = IntervalOp {
            op: Op::Read,
            count,
            bytes: 0,
            latency_ns_mean: 100.0,
            latency_ns_p50: 100,
            latency_ns_p99: 100,
            latency_ns_max: 100 + second,
        };
        IntervalPoint { start_ns: second * 1_000_000_000, length_ns, ops: vec![op] }
    }

    #[test]
    fn seconds_become_intervals_and_the_short_last_one_is_left_out() {
        let second = 1_000_000_000;
        let points = [point(0, second, 10), point(1, second, 20), point(2, second / 2, 5)];
        let counts = |bucket_ms| {
            let series = convert_series(&[&points, &points], Op::Read, bucket_ms);
            series.iter().map(|bucket| bucket.count).collect::<Vec<_>>()
        };
        assert_eq!(counts(1000), [20, 40]);
        assert_eq!(counts(2000), [60]);
        assert!(counts(250).is_empty(), "a second cannot be cut");
        assert!(convert_series(&[&points], Op::Write, 1000).iter().all(|bucket| bucket.count == 0));
    }

    /// The list of processors in reports was always empty.
    #[test]
    fn the_processors_of_the_host_are_those_of_the_report() {
        use iostall_measure::platform::Processor;
        let place = |id, socket, core| Processor { id, socket, node: socket, core, class: 0 };
        let processors = vec![place(0, 0, 0), place(1, 1, 1), place(2, 0, 0), place(3, 1, 1)];
        let (cores, sockets) = (Some(2), Some(2));
        let host = Host {
            cpu_count: 1,
            core_count: cores,
            socket_count: sockets,
            node_count: sockets,
            processors,
            ..Host::default()
        };
        let topology = topology(&host);
        assert_eq!((topology.cpu_count, topology.core_count, topology.socket_count), (4, 2, 2));
        assert_eq!(topology.processor(3).map(|it| (it.socket, it.node, it.core)), Some((1, 1, 1)));
        assert!(!topology.is_heterogeneous());
        let older = super::topology(&Host { cpu_count: 8, ..Host::default() });
        assert_eq!((older.cpu_count, older.processors.len()), (8, 0), "runs that were kept without them");
    }

    #[test]
    fn threads_are_counted_over_the_targets_and_a_pool_thread_has_them_all() {
        let targets = vec![DiskspdTarget::new("a"), DiskspdTarget::new("b")];
        let mut span = DiskspdTimeSpan { targets, ..DiskspdTimeSpan::default() };
        span.targets[0].threads_per_file = 2;
        let paths = |span: &DiskspdTimeSpan| -> Vec<String> {
            let joined = |targets: &Vec<&DiskspdTarget>| targets.iter().map(|it| it.path.as_str()).collect();
            place_threads(span).iter().map(joined).collect()
        };
        assert_eq!(paths(&span), ["a", "a", "b"]);
        span.thread_count = 2;
        assert_eq!(paths(&span), ["ab", "ab"]);
    }
}
