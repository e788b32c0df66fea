//! `iostall write`: one method after the other at one pace after the other → report and store.

use std::path::Path;

use iostall_model::paced::{MethodOutcome, Pace};
use iostall_model::{PacedOutcome, Run};
use iostall_report::growing;
use iostall_session::event::{Event, Observer};
use iostall_session::paced::{PacedRequest, PacedWrite};

use crate::cli::{GlobalArgs, MethodChoice, WriteArgs};
use crate::failure::{Status, hinted};
use crate::frame::begin_transfer;
use crate::growing_table::GrowingTable;
use crate::output::{self, Delivery, Taken};
use crate::printer::Printer;
use crate::store::Recorder;

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
    let request = request(args)?;
    let mut recorder = Recorder::begin(global, args.no_store, printer)?;
    let transfer = begin_transfer(None, printer)?;
    let write = PacedWrite::prepare(&request, printer)?;
    let table = match begin_table(args, printer) {
        Ok(table) => table,
        Err(error) => {
            write.give_up(printer);
            return Err(error);
        }
    };
    let observer = WithTable { table, printer };
    let written = write.write(transfer, &observer);
    let has_grown = observer.table.is_some_and(GrowingTable::finish);
    let run = written?;
    if has_grown && let Some(path) = &args.output.csv {
        outputs.leave_out(path);
    }
    let status = if run.interrupted { Status::Interrupted } else { status(&run) };
    Ok(Delivery::new(&outputs, &args.output).give(&run, &mut recorder, status))
}

fn request(args: &WriteArgs) -> anyhow::Result<PacedRequest> {
    Ok(PacedRequest {
        file: args.file.clone(),
        methods: args.methods.iter().copied().map(Into::into).collect(),
        paces: paces(args)?,
        total_bytes: total_bytes(args),
        duration: args.duration,
        interval: args.interval,
        memory_limit: args.memory_limit,
        overwrite: args.overwrite.clone(),
        keep: args.keep,
    })
}

/// Adds what was measured to the table, and tells the rest.
struct WithTable<'a> {
    table: Option<GrowingTable>,
    printer: &'a Printer,
}

impl Observer for WithTable<'_> {
    fn on(&self, event: &Event<'_>) {
        let line = match event {
            Event::PacedInterval { method, pace, interval } => {
                growing::interval(*method, pace.packets_per_burst, interval).ok()
            }
            Event::MethodEnded(outcome) => growing::end(outcome).ok(),
            _ => None,
        };
        if let (Some(table), Some(line)) = (&self.table, line) {
            table.add(line);
        }
        self.printer.on(event);
    }
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

fn status(run: &Run) -> Status {
    let Some(outcome) = run.body.as_kind::<PacedOutcome>() else { return Status::Done };
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
