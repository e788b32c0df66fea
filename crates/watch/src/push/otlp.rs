//! The metrics of OpenTelemetry's protocol.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::distribution::Distribution;
use super::protobuf::{Message, first_bytes, first_integer};
use super::series::{Point, Series, Value};
use super::source::PushSource;

pub(super) const HEADERS: [(&str, &str); 1] = [("Content-Type", "application/x-protobuf")];
pub(super) const PATH: &str = "/v1/metrics";

const CUMULATIVE: i64 = 2;
/// Each point is of its own time: a run is not counted on by the next one.
const DELTA: i64 = 1;
/// A point without a value: the series ends here.
const NO_VALUE: i64 = 1;

pub(super) struct Resource<'a> {
    pub(super) source: &'a PushSource,
    pub(super) labels: &'a BTreeMap<String, String>,
}

pub(super) fn requests(series: &[Series], resource: &Resource<'_>, bytes_max: usize) -> Vec<Vec<u8>> {
    let head = resource_message(resource);
    let (mut bodies, mut metrics, mut length) = (Vec::new(), BTreeMap::new(), 0);
    for one in series {
        let points = metrics.entry(one.metric.name.as_str()).or_insert_with(|| (one, Message::new()));
        let before = points.1.len();
        for point in &one.points {
            points.1.message(1, &data_point(one, point));
        }
        length += points.1.len() - before;
        if length >= bytes_max {
            bodies.push(request(&head, &std::mem::take(&mut metrics)));
            length = 0;
        }
    }
    if !metrics.is_empty() {
        bodies.push(request(&head, &metrics));
    }
    bodies
}

pub(super) struct Latencies {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) attributes: Vec<(&'static str, String)>,
    pub(super) distribution: Distribution,
}

pub(super) fn distributions(
    all: &[Latencies],
    (start, end): (Timestamp, Timestamp),
    resource: &Resource<'_>,
) -> Vec<u8> {
    let mut of_scope = scope_message();
    for one in all {
        let mut data = Message::new();
        data.message(1, &distribution_point(one, start, end));
        data.integer(2, DELTA);
        let mut metric = Message::new();
        metric.bytes(1, one.name.as_bytes());
        metric.bytes(2, one.help.as_bytes());
        metric.bytes(3, b"s");
        metric.message(10, &data);
        of_scope.message(2, &metric);
    }
    whole_request(&resource_message(resource), &of_scope)
}

fn distribution_point(one: &Latencies, start: Timestamp, end: Timestamp) -> Message {
    let Distribution { count, sum_s, min_s, max_s, scale, zero_count, offset, counts } = &one.distribution;
    let mut buckets = Message::new();
    buckets.signed(1, *offset);
    buckets.integers(2, counts);
    let mut message = Message::new();
    for (name, value) in &one.attributes {
        message.message(1, &attribute(name, value));
    }
    message.fixed(2, nanoseconds(start));
    message.fixed(3, nanoseconds(end));
    message.fixed(4, *count);
    message.double(5, *sum_s);
    message.signed(6, i64::from(*scale));
    message.fixed(7, *zero_count);
    message.message(8, &buckets);
    message.double(12, *min_s);
    message.double(13, *max_s);
    message
}

/// How many points the receiver did not take of a request that it took, and why.
pub(super) fn partly_refused(answer: &[u8]) -> Option<String> {
    let partial = first_bytes(answer, 1)?;
    let count = first_integer(partial, 1).filter(|count| *count > 0)?;
    let text = String::from_utf8_lossy(first_bytes(partial, 2).unwrap_or_default()).into_owned();
    Some(format!("{count} values: {text}"))
}

fn request(resource: &Message, metrics: &BTreeMap<&str, (&Series, Message)>) -> Vec<u8> {
    let mut of_scope = scope_message();
    for (series, points) in metrics.values() {
        of_scope.message(2, &metric(series, points));
    }
    whole_request(resource, &of_scope)
}

fn scope_message() -> Message {
    let mut scope = Message::new();
    scope.bytes(1, b"iostall");
    scope.bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
    let mut of_scope = Message::new();
    of_scope.message(1, &scope);
    of_scope
}

fn whole_request(resource: &Message, of_scope: &Message) -> Vec<u8> {
    let mut of_resource = Message::new();
    of_resource.message(1, resource);
    of_resource.message(2, of_scope);
    let mut request = Message::new();
    request.message(1, &of_resource);
    request.as_bytes().to_vec()
}

fn resource_message(resource: &Resource<'_>) -> Message {
    let mut message = Message::new();
    let of_source = resource.source.attributes.iter().map(|(name, value)| (*name, value));
    // What Prometheus makes of these two attributes, the other way round.
    let name_of = |label: &'_ str| match label {
        "job" => "service.name".to_owned(),
        "instance" => "service.instance.id".to_owned(),
        other => other.to_owned(),
    };
    let mut all: BTreeMap<String, &String> =
        of_source.map(|(name, value)| (name.to_owned(), value)).collect();
    all.extend(resource.labels.iter().map(|(label, value)| (name_of(label), value)));
    for (name, value) in all {
        message.message(1, &attribute(&name, value));
    }
    message.message(1, &attribute("service.version", env!("CARGO_PKG_VERSION")));
    message
}

fn attribute(name: &str, value: &str) -> Message {
    let mut text = Message::new();
    text.bytes(1, value.as_bytes());
    let mut message = Message::new();
    message.bytes(1, name.as_bytes());
    message.message(2, &text);
    message
}

fn metric(series: &Series, points: &Message) -> Message {
    let metric = &series.metric;
    let mut message = Message::new();
    message.bytes(1, metric.name.as_bytes());
    message.bytes(2, metric.help.as_bytes());
    // Without "1" for counts: receivers would add "_ratio" to their names.
    if metric.is_time {
        message.bytes(3, b"s");
    } else if metric.name.contains("_bytes") {
        message.bytes(3, b"By");
    }
    let mut data = points.clone();
    if metric.is_counter {
        data.integer(2, CUMULATIVE);
        data.integer(3, 1);
        message.message(7, &data);
    } else {
        message.message(5, &data);
    }
    message
}

fn data_point(series: &Series, point: &Point) -> Message {
    let mut message = Message::new();
    for (name, value) in series.labels.iter() {
        message.message(7, &attribute(name, value));
    }
    if series.metric.is_counter {
        message.fixed(2, nanoseconds(point.since));
    }
    message.fixed(3, nanoseconds(point.at));
    match point.value {
        Value::Number(number) => message.double(4, number),
        Value::Gone => message.integer(8, NO_VALUE),
    }
    message
}

fn nanoseconds(at: Timestamp) -> u64 {
    u64::try_from(at.as_nanosecond()).unwrap_or(0)
}
