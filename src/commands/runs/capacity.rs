//! `iostall runs capacity`: what each device gave.

use std::fmt::Write as _;
use std::path::Path;

use iostall_host as host;
use iostall_measure::foreign::shown;
use iostall_measure::{Caching, Durability};
use iostall_model::capacity::{CapacityRecord, IoShape};
use iostall_report::format::rates;
use iostall_store::{SqliteStore, Store, StoredCapacity};
use serde_json::json;

use crate::cli::CapacityArgs;
use crate::printer::Printer;
use crate::store::with_hint;

/// Lists the records, newest first.
pub(super) fn show(args: &CapacityArgs, store: &SqliteStore, printer: &Printer) -> anyhow::Result<()> {
    let device = args.device.as_deref().map(lasting_name);
    let found = store.capacities(device.as_deref(), Some(args.limit)).map_err(with_hint)?;
    if args.json {
        let rows: Vec<_> = found
            .iter()
            .map(|StoredCapacity { number, record }| json!({"number": number.0, "record": record}))
            .collect();
        printer.document(format!("{}\n", serde_json::to_string_pretty(&rows)?).as_bytes())?;
    } else if found.is_empty() {
        printer.note(
            "nothing is known of such a device yet: `iostall sweep` on it, with one kind of I/O, finds out",
        );
    } else {
        printer.result(&as_table(&found))?;
    }
    Ok(())
}

/// A path as the name that goes with its device; anything else as it is.
fn lasting_name(device: &str) -> String {
    let identity = device.starts_with('/').then(|| host::identity_of(Path::new(device))).flatten();
    let name = || device.strip_prefix("/dev/").unwrap_or(device).to_owned();
    identity.map_or_else(name, |identity| identity.key().unwrap_or(identity.kernel_name))
}

fn as_table(found: &[StoredCapacity]) -> String {
    let rows: Vec<[String; 4]> = found.iter().map(|one| cells(one)).collect();
    let widths: Vec<usize> =
        (0..3).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for [device, shape, gave, from] in &rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{device:0$}  {shape:1$}  {gave:2$}  {from}", widths[0], widths[1], widths[2]);
    }
    text
}

/// Device, shape, at least this, and where it is from.
fn cells(StoredCapacity { number, record }: &StoredCapacity) -> [String; 4] {
    let CapacityRecord { device, model, measured_utc, shape, warnings, .. } = record;
    let named =
        model.as_ref().map_or_else(|| shown(device), |model| format!("{} ({})", shown(device), shown(model)));
    let gave = record.best().map_or_else(String::new, |best| {
        format!(
            "{} at {} in flight",
            rates(best.iops, best.mib_per_s, Some(best.latency_ns_p99)),
            best.in_flight
        )
    });
    let plural = if warnings.len() == 1 { "" } else { "s" };
    let marks =
        if warnings.is_empty() { String::new() } else { format!(", {} warning{plural}", warnings.len()) };
    [named, words(shape), gave, format!("run {number}, {}{marks}", measured_utc.strftime("%Y-%m-%d"))]
}

/// `8K random, 30% writes, buffered`.
fn words(shape: &IoShape) -> String {
    let mut words = format!("{} {}", shape.block_size, shape.access.name());
    let share = shape.write_pct.percent();
    if share <= 0.0 {
        words.push_str(" reads");
    } else if share >= 100.0 {
        words.push_str(" writes");
    } else {
        words.push_str(&format!(", {share}% writes"));
    }
    words.push_str(match shape.caching {
        Caching::Direct => "",
        Caching::Buffered => ", buffered",
    });
    words.push_str(match shape.durability {
        Durability::None => "",
        Durability::WriteThrough => ", write-through",
    });
    words
}
