//! Open loop: how a stall affects response times, which a closed loop hides (coordinated omission).

use iostall_measure::{Clock, Histogram, MonotonicClock, Percentile};
use serde_json::Value;

use crate::support::{Workspace, pause};

/// Arrivals per second, measured seconds, and total arrivals.
const RATE: f64 = 1000.0;
const MEASURED_S: f64 = 4.0;
const ARRIVALS: f64 = RATE * MEASURED_S;

/// A run that was stopped for a while in the middle.
struct Stopped {
    role: Value,
    /// Minimum length of the stop, seconds.
    stood_s: f64,
    /// Maximum length of the stop, seconds.
    lasted_s: f64,
}

impl Stopped {
    fn histogram(&self, name: &str) -> Histogram {
        serde_json::from_value(self.role["cells"][0][name].clone()).unwrap()
    }

    /// Arrivals not completed in the measured part.
    fn unanswered(&self) -> f64 {
        ARRIVALS - self.histogram("response_ns").count() as f64
    }
}

/// Runs the load and stops it for half a second. `None` if the machine itself stalled, so that the stop, or
/// the time to catch up, was not in the measured part.
fn stopped_in_the_middle(here: &Workspace) -> Option<Stopped> {
    let clock = MonotonicClock::new();
    let now_s = || clock.now_ns() as f64 / 1e9;
    // Without a device, which is not the subject of this test.
    let base =
        ["load", "--engine", "null", "--preset", "random-read", "--queue-depth", "1", "--workers", "1"];
    let span = ["--rate", "1000", "--duration", "4s", "--warmup", "0", "--json", "o.json"];
    let mut load = here.start(&[&base[..], &span].concat());
    let mut not_yet_s = 0.0;
    load.wait_until("the load", |load| {
        let is_loading = load.is_loading();
        if !is_loading {
            not_yet_s = now_s();
        }
        is_loading
    });
    pause(1000);
    load.signal("STOP");
    let stopped_s = now_s();
    pause(500);
    let stood_s = now_s() - stopped_s;
    load.signal("CONT");
    let is_inside = now_s() - not_yet_s < MEASURED_S;
    load.ended().expect_status(0);
    let role = here.json("o.json")["load"]["spans"][0]["roles"][0].clone();
    let stopped = Stopped { role, stood_s, lasted_s: now_s() };
    (is_inside && stopped.unanswered() < 20.0).then_some(stopped)
}

#[test]
fn half_a_second_of_standstill_shows_in_response_times_and_not_in_service_times() {
    // fio at 1000 IOPS for 2 s, stopped for 0.5 s, reports a p99 of a few milliseconds and a rate of 1000. A
    // user would have waited up to half a second, because a quarter of all arrivals fell into the stop.
    let here = Workspace::new();
    let stopped = (0..20).find_map(|_| stopped_in_the_middle(&here));
    let stopped = stopped.expect("once in twenty times this machine runs for four seconds");
    let (response, service) = (stopped.histogram("response_ns"), stopped.histogram("service_ns"));

    // With one request at a time, their total is at most the length of the run.
    let service_s = service.sum() as f64 / 1e9;
    assert!(service_s <= stopped.lasted_s, "{service_s} s of service in {} s", stopped.lasted_s);
    // These fell due during the stop and completed after it, in order; two at the edges may be outside.
    let waited = RATE * stopped.stood_s - stopped.unanswered() - 2.0;
    let response_s = response.sum() as f64 / 1e9;
    assert!(response_s >= waited * waited / RATE / 2.0, "{response_s} s for {waited} that waited");
    // A tenth of the responses are later than the 90th percentile; all others are at most that late.
    let p90_s = response.value_at(Percentile::new(90.0).unwrap()).unwrap() as f64 / 1e9;
    let least_s = (waited - response.count() as f64 * 0.1) / RATE;
    assert!(p90_s >= least_s && least_s > 0.05, "response p90 {p90_s} s, at least {least_s} s");
    let open = &stopped.role["open_loop"];
    for counted in ["late_starts", "backlog_max"] {
        assert!(open[counted].as_f64().unwrap() >= waited, "{counted}: {waited} waited: {open}");
    }
    let latest_s = open["lateness_ns_max"].as_f64().unwrap() / 1e9;
    assert!(latest_s >= stopped.stood_s - 1.0 / RATE, "{latest_s} of {} s: {open}", stopped.stood_s);
}
