//! Latency and interval statistics. DiskSpd writes `Stdev` in one place and `StdDev` in another, and so do
//! we.

use std::fmt::Display;

use iostall_measure::{Histogram, Percentile};

use crate::report::input::IntervalBucket;
use crate::report::iops;
use crate::xml::XmlWriter;

fn millis(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

/// Mean and deviation of `histogram` under two names; nothing if it is empty.
fn write_pair(xml: &mut XmlWriter, names: [&str; 2], histogram: &Histogram) {
    if let (Some(mean), Some(stdev)) = (histogram.mean(), histogram.stdev()) {
        xml.leaf(names[0], millis(mean));
        xml.leaf(names[1], millis(stdev));
    }
}

fn both(read: &Histogram, write: &Histogram) -> Histogram {
    let mut total = read.clone();
    total.merge(write);
    total
}

/// For one target of one thread.
pub(super) fn write_target_latency(xml: &mut XmlWriter, read: &Histogram, write: &Histogram) {
    write_pair(xml, ["AverageReadLatencyMilliseconds", "ReadLatencyStdev"], read);
    write_pair(xml, ["AverageWriteLatencyMilliseconds", "WriteLatencyStdev"], write);
    write_pair(xml, ["AverageLatencyMilliseconds", "LatencyStdev"], &both(read, write));
}

/// For a whole time span, with its 108 percentiles.
pub(super) fn write_total_latency(xml: &mut XmlWriter, read: &Histogram, write: &Histogram) {
    let total = both(read, write);
    let filled = |histogram: &Histogram| histogram.filled().count();
    xml.open(
        "Latency",
        &[
            ("ReadHistoBuckets", &filled(read)),
            ("WriteHistoBuckets", &filled(write)),
            ("TotalHistoBuckets", &filled(&total)),
        ],
    );
    write_pair(xml, ["AverageReadMilliseconds", "ReadLatencyStdev"], read);
    write_pair(xml, ["AverageWriteMilliseconds", "WriteLatencyStdev"], write);
    write_pair(xml, ["AverageTotalMilliseconds", "LatencyStdev"], &total);
    let nines = [99.9, 99.99, 99.999, 99.9999, 99.99999, 99.999_999, 99.999_999_9];
    for percent in (0..100).map(f64::from).chain(nines).chain([100.0]) {
        xml.open("Bucket", &[]);
        xml.leaf("Percentile", percent);
        for (name, histogram) in
            [("ReadMilliseconds", read), ("WriteMilliseconds", write), ("TotalMilliseconds", &total)]
        {
            if let Some(ns) = at(histogram, percent) {
                xml.leaf(name, millis(ns as f64));
            }
        }
        xml.close();
    }
    xml.close();
}

/// 0 is the minimum and 100 the maximum, both exact.
fn at(histogram: &Histogram, percent: f64) -> Option<u64> {
    if percent <= 0.0 {
        return histogram.min();
    }
    histogram.value_at(Percentile::new(percent)?)
}

/// Deviations, then the series. A missing figure is left out.
pub(super) fn write_iops(
    xml: &mut XmlWriter,
    reads: &[IntervalBucket],
    writes: &[IntervalBucket],
    bucket_ms: u32,
) {
    let total = iops::merge(reads, writes);
    xml.open("Iops", &[]);
    for (name, series) in
        [("ReadIopsStdDev", reads), ("WriteIopsStdDev", writes), ("IopsStdDev", total.as_slice())]
    {
        if let Some(stdev) = iops::stdev(series, bucket_ms) {
            xml.leaf(name, format!("{stdev:.3}"));
        }
    }
    for (place, all) in (1_u64..).zip(&total) {
        let of = |series: &[IntervalBucket]| {
            usize::try_from(place - 1).ok().and_then(|place| series.get(place)).copied().unwrap_or_default()
        };
        let rate = |bucket: &IntervalBucket| format!("{:.0}", iops::rate(bucket.count, bucket_ms));
        let (read, write) = (of(reads), of(writes));
        let mut attributes = vec![
            ("SampleMillisecond", (place * u64::from(bucket_ms)).to_string()),
            ("Read", rate(&read)),
            ("Write", rate(&write)),
            ("Total", rate(all)),
        ];
        attributes.extend(latency_attributes("Read", &read));
        attributes.extend(latency_attributes("Write", &write));
        let shown: Vec<(&str, &dyn Display)> =
            attributes.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
        xml.empty("Bucket", &shown);
    }
    xml.close();
}

fn latency_attributes(
    kind: &str,
    bucket: &IntervalBucket,
) -> impl Iterator<Item = (&'static str, String)> + use<> {
    let names = if kind == "Read" {
        [
            "ReadMinLatencyMilliseconds",
            "ReadMaxLatencyMilliseconds",
            "ReadAvgLatencyMilliseconds",
            "ReadLatencyStdDev",
        ]
    } else {
        [
            "WriteMinLatencyMilliseconds",
            "WriteMaxLatencyMilliseconds",
            "WriteAvgLatencyMilliseconds",
            "WriteLatencyStdDev",
        ]
    };
    let values = [
        bucket.latency_ns_min.map(|ns| ns as f64),
        bucket.latency_ns_max.map(|ns| ns as f64),
        bucket.latency_ns_mean(),
        bucket.latency_ns_stdev(),
    ];
    names.into_iter().zip(values).filter_map(|(name, value)| Some((name, millis(value?))))
}
