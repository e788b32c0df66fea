//! Runs a span on a simulated device, in simulated time and on one thread.
//!
//! The workers are those of any span. Each gets a turn whenever something may have happened, always in the
//! same order; then the clock advances to the next event: a completion, an arrival, a tick. So a span of an
//! hour takes as long as it takes to process its requests, and the same seed gives the same outcome.

use std::sync::mpsc::channel;

use iostall_engine::SimDevice;
use iostall_measure::Clock;
use iostall_model::SpanOutcome;

use crate::job::SpanJob;
use crate::run_error::RunError;
use crate::watcher::{Observer, TICK, Watcher};
use crate::window::{StopToken, Window};
use crate::worker_spec::{worker_specs, workers_of_roles};

pub(crate) fn simulate(
    job: SpanJob<'_>,
    device: &SimDevice,
    stop: &StopToken,
    observer: &mut dyn Observer,
) -> Result<SpanOutcome, RunError> {
    let clock = device.clock();
    let worker_specs = worker_specs(&job)?;
    let workers_of_roles = workers_of_roles(&job, &worker_specs);
    let window = Window::of(job.span, clock.now_ns());
    let mut watcher = Watcher::new(&job, &workers_of_roles, window);
    let (reports, incoming) = channel();
    let mut workers = Vec::with_capacity(worker_specs.len());
    for spec in worker_specs {
        let number = spec.worker;
        let worker = spec.make()?.into_simulated(window, reports.clone(), clock.clone(), stop);
        workers.extend(worker.map(|worker| (number, worker)));
    }
    let tick_ns = u64::try_from(TICK.as_nanos()).unwrap_or(u64::MAX);
    let mut next_tick_ns = clock.now_ns() + tick_ns;
    let mut completions = Vec::new();
    loop {
        let mut next_ns = None;
        for (_, worker) in &mut workers {
            let due_ns = worker.turn(&mut completions)?;
            next_ns = [next_ns, due_ns].into_iter().flatten().min();
        }
        // Every worker has ended and has nothing in flight.
        let Some(next_ns) = next_ns else { break };
        let next_ns = next_ns.min(device.next_end_ns().unwrap_or(u64::MAX)).min(next_tick_ns);
        clock.advance_to(next_ns);
        if next_ns == next_tick_ns {
            watcher.take_reports(&incoming);
            watcher.tick(next_ns, stop, observer);
            next_tick_ns += tick_ns;
        }
    }
    let outcomes = workers.into_iter().map(|(number, worker)| (number, worker.finish())).collect();
    watcher.take_reports(&incoming);
    Ok(watcher.finish(&job, outcomes, stop))
}
