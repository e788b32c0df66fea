//! `iostall write`: one method after the other at one pace after the other → report and store.

mod file;

use std::os::fd::AsFd as _;

use anyhow::Context;
use iostall_engine::host::{self, MemoryGroup};
use iostall_engine::{BufferPool, Pages, PsyncEngine};
use iostall_measure::MonotonicClock;
use iostall_model::paced::{MethodOutcome, Pace, PacedOutcome, WriteMethod};
use iostall_model::{RunBody, Warning, WarningCode};
use iostall_transfer::Progress;
use iostall_transfer::paced::{PacedJob, fill_packet, sweet_spots, write_paced};

use crate::cli::{GlobalArgs, MethodChoice, WriteArgs};
use crate::failure::{Status, hinted};
use crate::output::{self, Delivery, Taken};
use crate::printer::Printer;
use crate::store::Recorder;
use crate::transferring::{Transferring, target};

use file::PacedFile;

/// What is written where neither a size nor a time is asked for, bytes.
const TOTAL_BYTES: u64 = 1 << 30;
/// The pause between bursts where only a rate is asked for, nanoseconds.
const PERIOD_NS: u64 = 50_000_000;
/// What packets past the page cache must be multiples of, bytes.
const DIRECT_ALIGN: u32 = 4096;

/// Writes, and reports it.
pub(crate) fn run(args: &WriteArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let outputs = output::check(&args.output, &Taken::new(global).targets([&args.file]))?;
    let paces = paces(args)?;
    let mut recorder = Recorder::begin(global, args.no_store, printer)?;
    let group = match args.memory_limit {
        Some(limit) => Some(MemoryGroup::enter(limit.bytes()).map_err(|error| {
            let hint =
                format!("`systemd-run --scope -p MemoryMax={} iostall write …` does the same", limit.bytes());
            hinted(anyhow::Error::new(error).context("cannot limit the memory of this process"), hint)
        })?),
        None => None,
    };
    // Whatever fails before this leaves no file behind.
    let transferring = Transferring::begin(None, printer)?;
    let file = PacedFile::prepare(args)?;
    let total_bytes = total_bytes(args);
    let written = transferring.work(|progress| write_all(args, &file, &paces, total_bytes, progress));
    let facts = target(&args.file);
    let replaced = file.replaced();
    if !args.keep {
        file.give_back(printer)?;
    }
    drop(group);
    let methods = written?;
    let outcome = PacedOutcome {
        sweet_spots: sweet_spots(&methods),
        interval_bytes: args.interval.bytes(),
        total_bytes,
        memory_limit_bytes: args.memory_limit.map(iostall_measure::ByteCount::bytes),
        methods,
    };
    let late = outcome.methods.iter().any(|method| method.kept_pace() == Some(false));
    let name = args.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let run = transferring.run(
        &name,
        facts.into_iter().collect(),
        warnings(&outcome, replaced),
        RunBody::Write(outcome),
    );
    let status = match () {
        () if run.interrupted => Status::Interrupted,
        () if late => Status::No,
        () => Status::Done,
    };
    Ok(Delivery::new(&outputs, &args.output).give(&run, &mut recorder, status))
}

fn total_bytes(args: &WriteArgs) -> Option<u64> {
    match (args.size, args.duration) {
        (Some(size), _) => Some(size.bytes()),
        (None, Some(_)) => None,
        (None, None) => Some(TOTAL_BYTES),
    }
}

/// The paces that are tried, checked against the methods.
fn paces(args: &WriteArgs) -> anyhow::Result<Vec<Pace>> {
    let packet_bytes = u32::try_from(args.packet.bytes()).ok().filter(|bytes| (8..=1 << 30).contains(bytes));
    let Some(packet_bytes) = packet_bytes else {
        let error = anyhow::anyhow!("--packet {}: a packet has 8 bytes to 1 GiB", args.packet);
        return Err(hinted(error, "--packet 800K is the usual one"));
    };
    let direct = args.methods.iter().any(|method| *method != MethodChoice::Buffered);
    if direct && !packet_bytes.is_multiple_of(DIRECT_ALIGN) {
        let next = packet_bytes.next_multiple_of(DIRECT_ALIGN);
        let error = anyhow::anyhow!(
            "--packet {packet_bytes}: past the page cache a packet must be a multiple of {DIRECT_ALIGN} bytes"
        );
        return Err(hinted(error, format!("--packet {next} is the next one, or --methods buffered")));
    }
    if args.interval.bytes() < u64::from(packet_bytes) {
        let error = anyhow::anyhow!("--interval {}: an interval is at least one packet", args.interval);
        return Err(hinted(error, format!("a packet has {packet_bytes} bytes: give at least those")));
    }
    let period_ns = args.period.map_or(0, iostall_measure::Nanos::nanos);
    let pace = |packets_per_burst, period_ns| Pace { packet_bytes, packets_per_burst, period_ns };
    if let Some(rate) = args.rate {
        let wanted_ns = if period_ns > 0 { period_ns } else { PERIOD_NS };
        let packets = (rate * wanted_ns as f64 / 1e9 / f64::from(packet_bytes)).ceil().clamp(1.0, 1e6);
        // Whole packets, and then the period that gives exactly the rate with them.
        let exact_ns = packets * f64::from(packet_bytes) / rate * 1e9;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped, and casts saturate"
        )]
        return Ok(vec![pace(packets as u32, exact_ns.round() as u64)]);
    }
    if args.sweep.is_empty() {
        return Ok(vec![pace(args.burst, period_ns)]);
    }
    Ok(args.sweep.iter().map(|packets| pace(*packets, period_ns)).collect())
}

fn write_all(
    args: &WriteArgs,
    file: &PacedFile,
    paces: &[Pace],
    total_bytes: Option<u64>,
    progress: &Progress,
) -> anyhow::Result<Vec<MethodOutcome>> {
    let mut outcomes = Vec::new();
    let runs = args.methods.len() * paces.len();
    progress.add_total(runs as u64, total_bytes.unwrap_or(0) * runs as u64);
    for choice in &args.methods {
        for pace in paces {
            if progress.is_cancelled() {
                break;
            }
            let method = match choice {
                MethodChoice::Buffered => WriteMethod::Buffered,
                MethodChoice::Direct => WriteMethod::Direct,
                MethodChoice::DirectDsync => WriteMethod::DirectDsync,
            };
            progress.begin_file(&args.file, total_bytes.unwrap_or(0), method.name());
            outcomes.push(write_one(args, file, method, *pace, total_bytes, progress)?);
            progress.end_file();
        }
    }
    Ok(outcomes)
}

fn write_one(
    args: &WriteArgs,
    file: &PacedFile,
    method: WriteMethod,
    pace: Pace,
    total_bytes: Option<u64>,
    progress: &Progress,
) -> anyhow::Result<MethodOutcome> {
    let opened = file.open(method)?;
    let refused = opened.direct.as_ref().and_then(|direct| direct.reason.clone());
    let (_pool, mut buffers) =
        BufferPool::new(1, pace.packet_bytes, Pages::HugeIfPossible).context("cannot map a packet")?;
    let Some(mut buffer) = buffers.pop() else { anyhow::bail!("cannot map a packet") };
    fill_packet(&mut buffer);
    let mut engine = PsyncEngine::new(1, &[opened.file().as_fd()])?;
    let job = PacedJob {
        method,
        pace,
        total_bytes,
        duration_ns: args.duration.map(iostall_measure::Nanos::nanos),
        first_header: file.first_header(),
        interval_bytes: args.interval.bytes(),
        dirty_bytes: &host::dirty_bytes,
        progress,
    };
    let mut outcome = write_paced(&mut engine, &MonotonicClock::new(), buffer, &job)
        .with_context(|| format!("{} of {}", method.name(), args.file.display()))?;
    outcome.refused = refused;
    Ok(outcome)
}

fn warnings(outcome: &PacedOutcome, replaced: Option<Warning>) -> Vec<Warning> {
    let refused = outcome.methods.iter().filter_map(|method| {
        let reason = method.refused.as_ref()?;
        Some(Warning::new(WarningCode::DirectRefused, reason.clone()).about(method.method.name()))
    });
    replaced.into_iter().chain(refused).collect()
}
