//! A row for each interval of each probe, for spreadsheets, and the figures for scripts.

use iostall_model::limits::{FirstReads, LimitsProbe, ReadAll, VolumeLogs};
use iostall_model::volume_log::VolumeLog;
use iostall_model::{LimitsOutcome, Run};
use iostall_session::analysis::first_reads::{Filling, filling};
use iostall_session::analysis::limits::{Accounting, Bucket, Ceiling, Counted, Credit, Sharing, found};
use serde::Serialize;

use super::super::points::PointsSummary;
use crate::report::{Field, Series};

const HEADER: [&str; 6] = ["probe", "step", "block_size", "second", "iops", "mib_per_s"];

pub(super) fn series(outcome: &LimitsOutcome) -> Series<'_> {
    let probes = (1_u64..).zip(&outcome.probes);
    let rows = probes.flat_map(|(number, probe)| {
        probe.counts.iter().enumerate().map(move |(index, count)| row(number, probe, index, *count))
    });
    Series { header: &HEADER, rows: Box::new(rows) }
}

fn row<'a>(number: u64, probe: &LimitsProbe, index: usize, count: u64) -> Vec<Field<'a>> {
    let iops = count as f64 / probe.interval_s();
    let step = serde_json::to_value(probe.step).ok().and_then(|step| step.as_str().map(str::to_owned));
    vec![
        number.into(),
        step.into(),
        probe.block_size.to_string().into(),
        (probe.start_ns as f64 / 1e9 + index as f64 * probe.interval_s()).into(),
        iops.into(),
        (iops * f64::from(probe.block_size.bytes()) / 1_048_576.0).into(),
    ]
}

#[derive(Serialize)]
pub(super) struct LimitsSummary {
    #[serde(flatten)]
    points: PointsSummary,
    /// `bucket`, `unconfirmed`, `fall`, `none` or `not-measured`.
    credit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket: Option<BucketSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iops: Option<CeilingSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_s: Option<CeilingSummary>,
    /// `each`, `units`, `bytes` or `unknown`.
    accounting: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit_bytes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sharing_iops: Option<SharingSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sharing_bytes: Option<SharingSummary>,
    moved_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_reads: Option<FirstReadsSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_all: Option<ReadAllSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volume_log: Option<VolumeLog>,
}

#[derive(Serialize)]
struct FirstReadsSummary {
    /// `filling`, `fast`, `cached`, `unclear` or `not-measured`.
    state: &'static str,
    /// How many times as long as a second read a slow first one takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    again_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow_share: Option<f64>,
}

#[derive(Serialize)]
struct ReadAllSummary {
    is_whole: bool,
    to_bytes: u64,
    whole_bytes: u64,
    bytes_per_s: Option<f64>,
    failed: u64,
}

impl FirstReadsSummary {
    fn of(reads: &FirstReads) -> Self {
        let (state, slow) = match filling(reads) {
            Filling::Yes(slow) => ("filling", Some(slow)),
            Filling::No => ("fast", None),
            Filling::Cached(slow) => ("cached", Some(slow)),
            Filling::Unclear(slow) => ("unclear", Some(slow)),
            Filling::NotMeasured => ("not-measured", None),
        };
        Self {
            state,
            times: slow.map(|slow| slow.times()),
            first_ns: slow.map(|slow| slow.first_ns),
            again_ns: slow.map(|slow| slow.again_ns),
            slow_share: slow.map(|slow| slow.share),
        }
    }
}

impl ReadAllSummary {
    fn of(read: &ReadAll) -> Self {
        Self {
            is_whole: read.is_whole(),
            to_bytes: read.to_bytes,
            whole_bytes: read.whole_bytes,
            bytes_per_s: read.bytes_per_s(),
            failed: read.failed,
        }
    }
}

#[derive(Serialize)]
struct BucketSummary {
    /// `requests` or `bytes`.
    counted: &'static str,
    size: f64,
    burst_per_s: f64,
    refill_per_s: f64,
    lasted_s: f64,
    earned_per_s: Option<f64>,
}

#[derive(Serialize)]
struct CeilingSummary {
    per_s: f64,
    variation: Option<f64>,
    is_held: bool,
}

#[derive(Serialize)]
struct SharingSummary {
    /// `own`, `shared` or `unclear`.
    limit: &'static str,
    alone_per_s: f64,
    together_per_s: f64,
}

impl LimitsSummary {
    pub(super) fn of(run: &Run, outcome: &LimitsOutcome) -> Self {
        let found = found(outcome);
        let (credit, bucket) = match &found.credit {
            Credit::Bucket(bucket) => ("bucket", Some(bucket)),
            Credit::Unconfirmed(bucket) => ("unconfirmed", Some(bucket)),
            Credit::Fall { .. } => ("fall", None),
            Credit::None { .. } => ("none", None),
            Credit::NotMeasured => ("not-measured", None),
        };
        let (accounting, unit_bytes) = match found.accounting {
            Accounting::Each { .. } => ("each", None),
            Accounting::Units { unit_bytes } => ("units", Some(unit_bytes)),
            Accounting::Bytes => ("bytes", None),
            Accounting::Unknown => ("unknown", None),
        };
        Self {
            points: PointsSummary::of(run, &outcome.points),
            credit,
            bucket: bucket.map(BucketSummary::of),
            iops: found.iops.map(CeilingSummary::of),
            bytes_per_s: found.bytes.map(CeilingSummary::of),
            accounting,
            unit_bytes,
            sharing_iops: found.sharing_iops.map(SharingSummary::of),
            sharing_bytes: found.sharing_bytes.map(SharingSummary::of),
            moved_bytes: outcome.moved_bytes(),
            first_reads: outcome.first_reads.as_ref().map(FirstReadsSummary::of),
            read_all: outcome.read_all.as_ref().map(ReadAllSummary::of),
            volume_log: outcome.volume_logs.as_ref().and_then(VolumeLogs::counted),
        }
    }
}

impl BucketSummary {
    fn of(bucket: &Bucket) -> Self {
        let counted = match bucket.counted {
            Counted::Requests => "requests",
            Counted::Bytes => "bytes",
        };
        let Bucket { size, burst_per_s, refill_per_s, lasted_s, earned_per_s, .. } = *bucket;
        Self { counted, size, burst_per_s, refill_per_s, lasted_s, earned_per_s }
    }
}

impl CeilingSummary {
    fn of(ceiling: Ceiling) -> Self {
        let Ceiling { per_s, variation, is_held } = ceiling;
        Self { per_s, variation, is_held }
    }
}

impl SharingSummary {
    fn of(sharing: Sharing) -> Self {
        let (limit, alone_per_s, together_per_s) = match sharing {
            Sharing::Own { alone_per_s, together_per_s } => ("own", alone_per_s, together_per_s),
            Sharing::Shared { alone_per_s, together_per_s } => ("shared", alone_per_s, together_per_s),
            Sharing::Unclear { alone_per_s, together_per_s } => ("unclear", alone_per_s, together_per_s),
        };
        Self { limit, alone_per_s, together_per_s }
    }
}
