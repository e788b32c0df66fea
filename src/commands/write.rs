//! `iostall write`: one method after the other at one pace after the other → report and store.

mod file;
mod methods;

use std::path::Path;

use iostall_host::MemoryGroup;
use iostall_model::PacedOutcome;
use iostall_model::paced::{MethodOutcome, Pace};
use iostall_model::{RunBody, Warning, WarningCode};
use iostall_report::growing;
use iostall_transfer::paced::sweet_spots;

use crate::cli::{GlobalArgs, MethodChoice, WriteArgs};
use crate::failure::{Status, hinted};
use crate::growing_table::GrowingTable;
use crate::output::{self, Delivery, Taken};
use crate::printer::Printer;
use crate::store::Recorder;
use crate::transferring::{Transferring, target};

use file::PacedFile;
use methods::Methods;

/// What is written where neither a size nor a time is asked for, bytes.
const TOTAL_BYTES: u64 = 1 << 30;
/// The pause between bursts where only a rate is asked for, nanoseconds.
const PERIOD_NS: u64 = 50_000_000;
/// What packets past the page cache must be multiples of, bytes.
const DIRECT_ALIGN: u32 = 4096;
/// From this length on, what a run would lose by being killed is worth a word, nanoseconds.
const LONG_NS: u64 = 3600 * 1_000_000_000;

/// Writes, and reports it.
pub(crate) fn run(args: &WriteArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut outputs = output::check(&args.output, &Taken::new(global).targets([&args.file]))?;
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
    let begun = methods::check(args, &file, &paces).and_then(|()| begin_table(args, printer));
    let total_bytes = total_bytes(args);
    let written = begun.map(|table| {
        let methods = transferring.work(|progress| {
            let table = table.as_ref();
            Methods { args, file: &file, paces: &paces, total_bytes, progress, table }.write_all()
        });
        (methods, table.is_some_and(GrowingTable::finish))
    });
    let facts = target(&args.file);
    let replaced = file.replaced();
    // What was measured is not lost over a file that may not be removed.
    if !args.keep
        && let Err(error) = file.give_back(printer)
    {
        printer.warning(&error);
    }
    drop(group);
    let (methods, has_grown) = written?;
    let outcome = PacedOutcome {
        sweet_spots: sweet_spots(&methods),
        interval_bytes: args.interval.bytes(),
        total_bytes,
        memory_limit_bytes: args.memory_limit.map(iostall_measure::ByteCount::bytes),
        methods,
    };
    if let Some(failure) = nothing_measured(&outcome) {
        return Err(failure);
    }
    let status = status(&outcome);
    let name = args.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let run = transferring.run(
        &name,
        facts.into_iter().collect(),
        warnings(&outcome, replaced),
        RunBody::Write(outcome),
    );
    if has_grown && let Some(path) = &args.output.csv {
        outputs.leave_out(path);
    }
    let status = if run.interrupted { Status::Interrupted } else { status };
    Ok(Delivery::new(&outputs, &args.output).give(&run, &mut recorder, status))
}

/// The table that grows while the methods write, where one is wanted and can be had.
fn begin_table(args: &WriteArgs, printer: &Printer) -> anyhow::Result<Option<GrowingTable>> {
    let wanted = args.output.csv.as_deref().filter(|path| *path != Path::new("-"));
    let table = match wanted {
        Some(path) => GrowingTable::begin(path, &growing::header()?, printer)?,
        None => None,
    };
    if table.is_none() && args.duration.is_some_and(|duration| duration.nanos() >= LONG_NS) {
        printer.note(
            "note: what is measured is written at the end only; --csv FILE, where FILE is new, keeps each interval as it ends",
        );
    }
    Ok(table)
}

/// The failure, where nothing was written at all.
fn nothing_measured(outcome: &PacedOutcome) -> Option<anyhow::Error> {
    let causes: Vec<String> = outcome
        .methods
        .iter()
        .filter_map(|method| Some(format!("{}: {}", method.method.name(), method.failed.as_ref()?)))
        .collect();
    let nothing = outcome.methods.iter().all(|method| method.bytes == 0);
    (nothing && !causes.is_empty()).then(|| {
        let error = anyhow::anyhow!("nothing could be written: {}", causes.join("; "));
        hinted(error, "make room, or name a file on another file system; `ulimit -f` shows a limit on the size of files")
    })
}

fn status(outcome: &PacedOutcome) -> Status {
    let is_bad = |method: &MethodOutcome| method.failed.is_some() || method.kept_pace() == Some(false);
    if outcome.methods.iter().any(is_bad) { Status::No } else { Status::Done }
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

fn warnings(outcome: &PacedOutcome, replaced: Option<Warning>) -> Vec<Warning> {
    let refused = outcome.methods.iter().filter_map(|method| {
        let reason = method.refused.as_ref()?;
        Some(Warning::new(WarningCode::DirectRefused, reason.clone()).about(method.method.name()))
    });
    replaced.into_iter().chain(refused).collect()
}
