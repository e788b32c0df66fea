//! Remote write 1.0, which Prometheus defined and nearly every store of time series takes.

use std::collections::BTreeMap;

use super::protobuf::Message;
use super::series::{Series, Value};

pub(super) const HEADERS: [(&str, &str); 3] = [
    ("Content-Type", "application/x-protobuf"),
    ("Content-Encoding", "snappy"),
    ("X-Prometheus-Remote-Write-Version", "0.1.0"),
];
/// The number by which the protocol marks the end of a series.
const STALE: u64 = 0x7ff0_0000_0000_0002;

/// The bodies of requests, none much longer than `bytes_max` before compression. `labels` are added to every series.
pub(super) fn requests(
    series: &[Series],
    labels: &BTreeMap<String, String>,
    bytes_max: usize,
) -> Vec<Vec<u8>> {
    let (mut bodies, mut request) = (Vec::new(), Message::new());
    for one in series {
        request.message(1, &time_series(one, labels));
        if request.len() >= bytes_max {
            bodies.extend(compressed(&std::mem::take(&mut request)));
        }
    }
    if request.len() > 0 {
        bodies.extend(compressed(&request));
    }
    bodies
}

/// A request far below four gigabytes is never too long for the format.
fn compressed(request: &Message) -> Option<Vec<u8>> {
    snap::raw::Encoder::new().compress_vec(request.as_bytes()).ok()
}

fn time_series(series: &Series, labels: &BTreeMap<String, String>) -> Message {
    // Names in order, as the protocol demands. Those of the series come last, and count.
    let mut all: BTreeMap<&str, &str> =
        labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for (name, value) in series.labels.iter().chain([("__name__", series.metric.name.as_str())]) {
        all.insert(name, value);
    }
    let mut message = Message::new();
    // An empty value is the same as no label.
    for (name, value) in all.into_iter().filter(|(_, value)| !value.is_empty()) {
        let mut label = Message::new();
        label.bytes(1, name.as_bytes());
        label.bytes(2, value.as_bytes());
        message.message(1, &label);
    }
    for point in &series.points {
        let value = match point.value {
            Value::Number(number) => number,
            Value::Gone => f64::from_bits(STALE),
        };
        let mut sample = Message::new();
        sample.double(1, value);
        sample.integer(2, point.at.as_millisecond());
        message.message(2, &sample);
    }
    message
}
