//! `iostall runs capacity`: what each device gave.

use std::path::Path;

use iostall_host as host;
use iostall_report::capacity;
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
        let rows = found.iter().map(|one| (one.number.to_string(), &one.record));
        printer.result(&capacity::table(rows))?;
    }
    Ok(())
}

/// A path as the name that goes with its device; anything else as it is.
fn lasting_name(device: &str) -> String {
    let identity = device.starts_with('/').then(|| host::identity_of(Path::new(device))).flatten();
    let name = || device.strip_prefix("/dev/").unwrap_or(device).to_owned();
    identity.map_or_else(name, |identity| identity.key().unwrap_or(identity.kernel_name))
}
