//! What the kinds of run that consist of settings share.

use iostall_model::Point;
use iostall_model::part::{Part, PartName};

pub(super) fn of_point(point: &Point, name: PartName, label: Option<String>) -> Part {
    Part {
        name,
        label,
        iops: point.iops(),
        bytes_per_s: point.mib_per_s().map(|mib| mib * 1_048_576.0),
        latency_ns: Some(point.latency_ns.clone()),
        failed: Some(point.failed()),
        ..Part::default()
    }
}
