//! Runs a span: opens targets, starts the workers together, watches them, aggregates the results. A simulated device has its own time.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use iostall_engine::{EngineError, SimDevice};
use iostall_host::process_cpu_times;
use iostall_measure::Clock;
use iostall_measure::platform::ProcessCpu;
use iostall_model::SpanOutcome;
use iostall_model::figures::machine_busy;

use crate::job::{EngineKind, SpanJob};
use crate::run_error::RunError;
use crate::watcher::{TICK, Watcher};
use crate::window::{SpanEnd, StopToken, Window};
use crate::worker::WorkerOutcome;
use crate::worker_spec::{WorkerSpec, worker_specs, workers_of_roles};
use crate::worker_stats::IntervalReport;

pub use crate::watcher::{Observer, Phase};

/// If the processors are busier than this, it matters with what.
const BUSY_SHARE: f64 = 0.9;
/// As many of the busiest processes are recorded.
const BUSIEST_MAX: usize = 3;

/// Time between the last worker's readiness and the first request.
const START_DELAY_NS: u64 = 2_000_000;

/// Runs one span to its end or until `stop` is raised. On a simulated device its clock is used instead of
/// `clock`, and no real time passes.
pub fn run_span<C: Clock>(
    job: SpanJob<'_>,
    clock: &C,
    stop: &StopToken,
    observer: &mut dyn Observer,
) -> Result<SpanOutcome, RunError> {
    if let EngineKind::Sim(device) = job.engine {
        return simulate(job, device, stop, observer);
    }
    let worker_specs = worker_specs(&job)?;
    let workers = workers_of_roles(&job, &worker_specs);
    let end = end_of(&worker_specs);
    let (reports, incoming) = channel();
    // Before the first request: reading many processes takes CPU time itself.
    let before = process_cpu_times();
    thread::scope(|scope| {
        let (ready, all_ready) = channel();
        let mut started = Vec::with_capacity(worker_specs.len());
        for spec in worker_specs {
            let (go, wait_for_go) = channel();
            let (ready, reports, clock) = (ready.clone(), reports.clone(), clock.clone());
            let worker = spec.worker;
            let handle = thread::Builder::new()
                .name(format!("iostall-load-{worker}"))
                .spawn_scoped(scope, move || work(spec, &ready, &wait_for_go, reports, clock, stop))
                .map_err(|source| RunError::Thread { worker, source })?;
            started.push((worker, go, handle));
        }
        drop((ready, reports));
        let all_made = all_ready.iter().take(started.len()).filter(|made| *made).count() == started.len();
        let window = Window::of(job.span, clock.now_ns() + START_DELAY_NS);
        if all_made {
            for (_, go, _) in &started {
                // If a worker has ended, joining it reports why.
                let _ = go.send(window);
            }
        }
        let mut watcher = Watcher::new(&job, &workers, window, end);
        let handles: Vec<_> = started.into_iter().map(|(worker, _, handle)| (worker, handle)).collect();
        if all_made {
            watcher.watch(&incoming, clock, stop, observer);
        }
        let mut outcomes = Vec::with_capacity(handles.len());
        for (worker, handle) in handles {
            match handle.join() {
                Ok(Ok(outcome)) => outcomes.extend(outcome.map(|outcome| (worker, outcome))),
                Ok(Err(error)) => return Err(error.into()),
                Err(_panic) => return Err(RunError::Broken { worker }),
            }
        }
        let mut outcome = watcher.finish(&job, outcomes, stop);
        if machine_busy(&outcome).is_some_and(|share| share > BUSY_SHARE) {
            outcome.busiest = ProcessCpu::busiest(&before, process_cpu_times(), BUSIEST_MAX);
        }
        Ok(outcome)
    })
}

fn end_of(worker_specs: &[WorkerSpec]) -> Arc<SpanEnd> {
    worker_specs.first().map_or_else(|| Arc::new(SpanEnd::of(1)), |spec| Arc::clone(&spec.end))
}

/// One worker's thread: creates its engine, reports readiness, waits for the start, runs. `None` if there was
/// no start because another worker failed.
fn work<C: Clock>(
    spec: WorkerSpec,
    ready: &Sender<bool>,
    go: &Receiver<Window>,
    reports: Sender<IntervalReport>,
    clock: C,
    stop: &StopToken,
) -> Result<Option<WorkerOutcome>, EngineError> {
    let made = spec.make();
    // The watcher waits for this message from every worker.
    let _ = ready.send(made.is_ok());
    let made = made?;
    match go.recv() {
        Ok(window) => made.run(window, reports, clock, stop).map(Some),
        Err(_nobody) => Ok(None),
    }
}

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
    let mut watcher = Watcher::new(&job, &workers_of_roles, window, end_of(&worker_specs));
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
