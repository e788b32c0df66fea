//! Open loop: what a stall does to response times, which a closed loop hides (coordinated omission).

use iostall_measure::{Clock, MonotonicClock};
use serde_json::Value;

use crate::support::{Workspace, signal};

fn percentile_ms(histogram: &Value, percent: f64) -> f64 {
    let histogram: iostall_measure::Histogram = serde_json::from_value(histogram.clone()).unwrap();
    let percentile = iostall_measure::Percentile::new(percent).unwrap();
    histogram.value_at(percentile).unwrap() as f64 / 1e6
}

#[test]
fn half_a_second_of_standstill_shows_in_response_times_and_not_in_service_times() {
    // The story: fio at 1000 IOPS for 2 s, stopped for 0.5 s, reports a p99 of a few milliseconds and a rate of
    // 1000. A user would have waited up to half a second: a quarter of all arrivals fell into the stop.
    let here = Workspace::new();
    here.run(&["load", "--size", "64MiB", "--duration", "100ms", "--warmup", "0", "data.dat"])
        .expect_status(0);
    let mut child = here.start(&[
        "load",
        "--preset",
        "random-read",
        "--rate",
        "1000",
        "--queue-depth",
        "1",
        "--workers",
        "1",
        "--duration",
        "2s",
        "--warmup",
        "500ms",
        "--json",
        "o.json",
        "data.dat",
    ]);
    let clock = MonotonicClock::new();
    let wait = |millis: u64| clock.sleep_until(clock.now_ns() + millis * 1_000_000);
    wait(1500);
    signal(&child, "STOP");
    wait(500);
    signal(&child, "CONT");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let run = here.json("o.json");
    let role = &run["load"]["spans"][0]["roles"][0];
    let cell = &role["cells"][0];
    let response_ms = percentile_ms(&cell["response_ns"], 90.0);
    let service_ms = percentile_ms(&cell["service_ns"], 90.0);
    assert!((150.0..500.0).contains(&response_ms), "response p90 {response_ms} ms");
    assert!(service_ms < 50.0, "service p90 {service_ms} ms");
    let open = &role["open_loop"];
    assert!(open["late_starts"].as_u64().unwrap() > 300, "{open}");
    assert!(open["backlog_max"].as_u64().unwrap() > 300, "{open}");
    assert!(open["lateness_ns_max"].as_u64().unwrap() > 300_000_000, "{open}");
}
