//! `iostall collect run --otlp`: a receiver that decodes with OpenTelemetry's own messages (PyPI opentelemetry-proto).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use iostall_measure::{Histogram, Percentile};
use iostall_report::exposition::metric_names;
use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;

use crate::support::{Workspace, skip, until};

const MESSAGES: &str = "opentelemetry-proto==1.45.2";

/// A Python that has them; `None` where it cannot be had.
fn python() -> Option<PathBuf> {
    Some(iostall_test_programs::python("otlp-1.45.2", &[MESSAGES])?.join("python"))
}

struct Receiver {
    process: Child,
    place: PathBuf,
    port: u16,
}

impl Receiver {
    fn start(here: &Workspace, kind: &str) -> Option<Self> {
        let Some(python) = python() else {
            skip("otlp", "opentelemetry-proto cannot be installed");
            return None;
        };
        let place = here.path(kind);
        fs::create_dir(&place).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec!["localhost".into()]).unwrap().self_signed(&key).unwrap();
        fs::write(place.join("cert.pem"), certificate.pem()).unwrap();
        fs::write(place.join("key.pem"), key.serialize_pem()).unwrap();
        let process = Command::new(python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/otlp_receiver.py"))
            .arg(kind)
            .arg(&place)
            .args(["hunter2", "1"])
            .stdin(Stdio::null())
            .stderr(fs::File::create(place.join("log")).unwrap())
            .spawn()
            .unwrap();
        let port = until("the receiver", || fs::read_to_string(place.join("port")).ok()?.parse().ok());
        Some(Self { process, place, port })
    }

    fn points(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.place.join("points")).unwrap_or_default();
        // The last line may be half written.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The receiver first does not take anything, and then nothing without the token.
fn check(scheme: &str) {
    let here = Workspace::new();
    let Some(receiver) = Receiver::start(&here, scheme) else { return };
    let token = here.secret("token", "hunter2\n").display().to_string();
    let certificate = receiver.place.join("cert.pem").display().to_string();
    let url = format!("{scheme}://localhost:{}", receiver.port);
    let mut collector = here.start(&[
        "collect",
        "run",
        "--interval",
        "1s",
        "--otlp",
        &url,
        "--push-token-file",
        &token,
        "--push-label",
        "site=zurich",
        "--push-certificate",
        &certificate,
        "linux:",
    ]);
    collector.wait_for("samples wait in the store");
    collector.wait_for("takes samples again");
    let is_count = |point: &Value| point["name"] == "iostall_source_samples_total";
    collector.wait_until("three samples", |_| {
        receiver.points().iter().filter(|point| is_count(point)).count() >= 3
    });
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    assert!(!ran.stderr.contains("hunter2") && !ran.stderr.contains("refuse"), "{}", ran.stderr);
    let points = receiver.points();
    let counts: Vec<f64> =
        points.iter().filter(|point| is_count(point)).map(|point| point["value"].as_f64().unwrap()).collect();
    let expected: Vec<f64> = (1..=counts.len()).map(|count| count as f64).collect();
    assert_eq!(counts, expected, "what was refused at first is there too");
    let known = metric_names();
    let (mut starts, mut kinds) = (BTreeMap::new(), BTreeSet::new());
    for point in &points {
        let name = point["name"].as_str().unwrap();
        assert!(known.contains(name), "{name}");
        assert_eq!(point["resource"]["service.name"], "iostall");
        assert_eq!(point["resource"]["site"], "zurich");
        assert_eq!(point["resource"]["host.name"], point["resource"]["service.instance.id"]);
        assert_eq!(point["attributes"]["source"], "linux:");
        assert_eq!((&point["scope"], point["flags"].as_u64()), (&Value::from("iostall"), Some(0)));
        kinds.insert(point["kind"].to_string());
        if name.ends_with("_total") {
            assert_eq!((point["temporality"].as_u64(), point["monotonic"].as_bool()), (Some(2), Some(true)));
            let (start, time) = (point["start"].as_u64().unwrap(), point["time"].as_u64().unwrap());
            assert!(0 < start && start <= time, "{point}");
            let series = format!("{name}{}", point["attributes"]);
            assert_eq!(*starts.entry(series).or_insert(start), start, "one start for all points: {point}");
        }
        let unit = if name.ends_with("_seconds_total") { "s" } else { "" };
        assert!(point["unit"] == unit || name.contains("_bytes") && point["unit"] == "By", "{point}");
    }
    assert_eq!(kinds.len(), 2, "sums and gauges: {kinds:?}");
}

/// The bucket of a decoded distribution that holds a percentile, seconds.
fn bucket_of(point: &Value, percentile: Percentile) -> (f64, f64) {
    let number = |name: &str| point[name].as_f64().unwrap();
    let base = 2_f64.powf(2_f64.powf(-number("scale")));
    let mut left = percentile.rank(point["count"].as_u64().unwrap()) - point["zero_count"].as_u64().unwrap();
    for (place, count) in point["counts"].as_array().unwrap().iter().enumerate() {
        let count = count.as_u64().unwrap();
        if left <= count {
            let index = number("offset") + place as f64;
            return (base.powf(index), base.powf(index + 1.0));
        }
        left -= count;
    }
    panic!("{point}");
}

/// The distributions that a receiver has got.
fn distributions(receiver: &Receiver) -> Vec<Value> {
    receiver.points().into_iter().filter(|point| point["kind"] == "exponential_histogram").collect()
}

/// The latencies of a run by role and operation.
fn latencies_in(run: &Value) -> BTreeMap<(String, String), Histogram> {
    let mut all: BTreeMap<(String, String), Histogram> = BTreeMap::new();
    for role in run["load"]["spans"][0]["roles"].as_array().unwrap() {
        for cell in role["cells"].as_array().unwrap() {
            let latencies: Histogram = serde_json::from_value(cell["service_ns"].clone()).unwrap();
            all.entry((text(&role["name"]), text(&cell["op"]))).or_default().merge(&latencies);
        }
    }
    all.retain(|_, latencies| !latencies.is_empty());
    all
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Whether a decoded distribution has what `latencies` has.
fn assert_same(point: &Value, latencies: &Histogram) {
    let (count, sum) = (point["count"].as_u64().unwrap(), point["sum"].as_f64().unwrap());
    let in_buckets: u64 =
        point["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!((count, in_buckets + point["zero_count"].as_u64().unwrap()), (latencies.count(), count));
    assert!((sum * 1e9 / latencies.sum() as f64 - 1.0).abs() < 1e-9);
    for (name, value) in [("min", latencies.min()), ("max", latencies.max())] {
        let sent_ns = point[name].as_f64().unwrap() * 1e9;
        assert!((sent_ns - value.unwrap() as f64).abs() < 1.0, "{name}: {point}");
    }
    for percentile in [Percentile::P50, Percentile::P95, Percentile::P99] {
        let value = latencies.value_at(percentile).unwrap() as f64 / 1e9;
        let (low, high) = bucket_of(point, percentile);
        assert!(low * 0.999_999 <= value && value <= high * 1.000_001, "{low} {value} {high}");
    }
}

/// What a load test stored is what a decoder of others makes of what was sent: once, and nothing of tests from before.
#[test]
fn latencies_of_a_load_test_arrive_once_as_an_exponential_histogram() {
    let here = Workspace::new();
    let Some(receiver) = Receiver::start(&here, "http") else { return };
    let load = |name: &str| {
        let line = ["load", "--warmup", "0", "--duration", "1s", "--engine", "null", "--json", "load.json"];
        here.run(&[&line[..], &["--name", name]].concat()).expect_status(0);
        here.json("load.json")
    };
    load("before");
    let token = here.secret("token", "hunter2\n").display().to_string();
    let url = format!("http://localhost:{}", receiver.port);
    let line = ["collect", "run", "--interval", "1s", "--otlp", &url, "--push-token-file", &token];
    let line = [&line[..], &["--push-runs", "linux:"]].concat();
    let mut collector = here.start(&line);
    collector.wait_for("takes samples again");
    let run = load("after");
    collector.wait_until("the distributions", |_| !distributions(&receiver).is_empty());
    collector.signal("INT");
    collector.ended().expect_status(0);
    // Another collector sends nothing twice.
    let mut collector = here.start(&line);
    let before = receiver.points().len();
    collector.wait_until("more points", |_| receiver.points().len() > before + 20);
    collector.signal("INT");
    collector.ended().expect_status(0);
    let wanted = latencies_in(&run);
    let mut found = distributions(&receiver);
    found.retain(|point| point["name"] == "iostall_run_service_seconds");
    assert!(!wanted.is_empty() && found.len() == wanted.len(), "{found:?}");
    for point in &found {
        let attributes = &point["attributes"];
        assert_eq!((&attributes["iostall.run.name"], &attributes["span"]), (&"after".into(), &"1".into()));
        assert_eq!((&point["unit"], point["temporality"].as_u64()), (&"s".into(), Some(1)));
        assert_same(point, &wanted[&(text(&attributes["role"]), text(&attributes["operation"]))]);
    }
}

#[test]
fn opentelemetry_takes_samples_over_http() {
    check("http");
}

#[test]
fn opentelemetry_takes_samples_over_tls() {
    check("https");
}
