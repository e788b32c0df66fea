//! Watches a span while its workers run: reads system counters at both ends of the measured part, collects
//! the series, and updates the observer.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use iostall_engine::cpu::process_cpu;
use iostall_host::{cpu_ticks, device_counters};
use iostall_measure::Clock;
use iostall_measure::clock::receive;
use iostall_measure::platform::{CpuTicks, DeviceCounters};
use iostall_model::SpanOutcome;
use iostall_model::outcome::IntervalPoint;

use crate::aggregate::role_outcomes;
use crate::checks::cpus_between;
use crate::collector::Collector;
use crate::job::SpanJob;
use crate::window::{SpanEnd, StopToken, Window};
use crate::worker::WorkerOutcome;
use crate::worker_stats::IntervalReport;

pub(crate) const TICK: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Load runs, nothing is measured.
    Warmup,
    Measured,
    /// Load runs, nothing is measured.
    Cooldown,
    /// No new requests; waits for those in flight.
    Draining,
}

/// Called about ten times a second while a span runs.
pub trait Observer {
    /// `newest` is each role's newest complete second, if there is one.
    fn tick(&mut self, phase: Phase, left_ns: u64, newest: &[Option<&IntervalPoint>]);
}

impl Observer for () {
    fn tick(&mut self, _: Phase, _: u64, _: &[Option<&IntervalPoint>]) {}
}

struct Counters {
    cpus: Vec<CpuTicks>,
    devices: Vec<DeviceCounters>,
    process_user_ns: u64,
    process_system_ns: u64,
}

impl Counters {
    fn read(devices: &[String]) -> Self {
        let process = process_cpu();
        Self {
            cpus: cpu_ticks(),
            devices: device_counters(devices),
            process_user_ns: process.user_ns,
            process_system_ns: process.system_ns,
        }
    }
}

pub(crate) struct Watcher<'a> {
    devices: &'a [String],
    collector: Collector,
    roles: usize,
    window: Window,
    end: Arc<SpanEnd>,
    before: Option<Counters>,
    after: Option<Counters>,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(job: &SpanJob<'a>, workers: &[Vec<u32>], window: Window, end: Arc<SpanEnd>) -> Self {
        Self {
            devices: job.devices,
            collector: Collector::new(workers, window.measured_ns(), job.span.interval.0),
            roles: workers.len(),
            window,
            end,
            before: None,
            after: None,
        }
    }

    fn window_until(&self, stop: &StopToken) -> Window {
        self.window.cut_at(stop.at_ns().min(self.end.at_ns()))
    }

    pub(crate) fn watch<C: Clock>(
        &mut self,
        incoming: &Receiver<IntervalReport>,
        clock: &C,
        stop: &StopToken,
        observer: &mut dyn Observer,
    ) {
        loop {
            match receive(incoming, self.until_next_edge(clock.now_ns())) {
                Ok(report) => drop(self.collector.take(report)),
                Err(RecvTimeoutError::Timeout) => {
                    let now_ns = clock.now_ns();
                    self.read_counters(now_ns, self.window_until(stop));
                    self.tick(now_ns, stop, observer);
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.read_counters(u64::MAX, self.window_until(stop));
    }

    pub(crate) fn take_reports(&mut self, incoming: &Receiver<IntervalReport>) {
        for report in incoming.try_iter() {
            let _grown = self.collector.take(report);
        }
    }

    pub(crate) fn tick(&self, now_ns: u64, stop: &StopToken, observer: &mut dyn Observer) {
        let (phase, left_ns) = phase_at(now_ns, self.window_until(stop));
        let newest: Vec<_> = (0..self.roles).map(|role| self.collector.latest(role)).collect();
        observer.tick(phase, left_ns, &newest);
    }

    /// One tick, or less if the measured part begins or ends before that.
    fn until_next_edge(&self, now_ns: u64) -> Duration {
        [self.window.measure_from_ns, self.window.measure_to_ns]
            .into_iter()
            .filter(|edge_ns| *edge_ns > now_ns)
            .map(|edge_ns| Duration::from_nanos(edge_ns - now_ns))
            .fold(TICK, Duration::min)
    }

    fn read_counters(&mut self, now_ns: u64, window: Window) {
        if self.before.is_none() && now_ns >= window.measure_from_ns {
            self.before = Some(Counters::read(self.devices));
        }
        if self.after.is_none() && now_ns >= window.measure_to_ns {
            self.after = Some(Counters::read(self.devices));
        }
    }

    pub(crate) fn finish(
        self,
        job: &SpanJob<'_>,
        outcomes: Vec<(u32, WorkerOutcome)>,
        stop: &StopToken,
    ) -> SpanOutcome {
        let window = self.window_until(stop);
        let measured_ns = window.measured_ns();
        let series = self.collector.finish(measured_ns);
        let (cpus, devices, process_user_ns, process_system_ns) = match (self.before, self.after) {
            (Some(before), Some(after)) => (
                cpus_between(&before.cpus, &after.cpus),
                devices_between(&before.devices, &after.devices),
                after.process_user_ns - before.process_user_ns,
                after.process_system_ns - before.process_system_ns,
            ),
            _ => (Vec::new(), Vec::new(), 0, 0),
        };
        SpanOutcome {
            measured_ns,
            interrupted: stop.at_ns() < self.window.cut_at(self.end.at_ns()).measure_to_ns,
            target_bytes: job.targets.iter().map(|target| target.size_bytes).collect(),
            roles: role_outcomes(job, outcomes, series, measured_ns),
            cpus,
            process_user_ns,
            process_system_ns,
            busiest: Vec::new(),
            devices,
        }
    }
}

fn phase_at(now_ns: u64, window: Window) -> (Phase, u64) {
    let (phase, end_ns) = if now_ns < window.measure_from_ns {
        (Phase::Warmup, window.measure_from_ns)
    } else if now_ns < window.measure_to_ns {
        (Phase::Measured, window.measure_to_ns)
    } else if now_ns < window.stop_ns {
        (Phase::Cooldown, window.stop_ns)
    } else {
        (Phase::Draining, now_ns)
    };
    (phase, end_ns - now_ns)
}

fn devices_between(before: &[DeviceCounters], after: &[DeviceCounters]) -> Vec<DeviceCounters> {
    let earlier = |name: &str| before.iter().find(|counters| counters.name == name);
    after.iter().filter_map(|counters| counters.since(earlier(&counters.name)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_tells_what_is_left_of_it() {
        let window = Window { start_ns: 0, measure_from_ns: 10, measure_to_ns: 30, stop_ns: 35 };
        assert_eq!(phase_at(4, window), (Phase::Warmup, 6));
        assert_eq!(phase_at(10, window), (Phase::Measured, 20));
        assert_eq!(phase_at(31, window), (Phase::Cooldown, 4));
        assert_eq!(phase_at(90, window), (Phase::Draining, 0));
    }
}
