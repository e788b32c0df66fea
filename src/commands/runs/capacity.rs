//! `iostall runs capacity`: what each device achieved.

use std::path::Path;

use iostall_host as host;
use iostall_report::capacity;
use iostall_report::forms::write_figures;
use iostall_store::{SqliteStore, Store};

use crate::cli::CapacityArgs;
use crate::output::to_stdout;
use crate::printer::Printer;

/// Lists the records, newest first.
pub(super) fn show(args: &CapacityArgs, store: &SqliteStore, printer: &Printer) -> anyhow::Result<()> {
    let device = args.device.as_deref().map(lasting_name);
    let found = store.capacities(device.as_deref(), Some(args.limit))?;
    let records = found.iter().map(|one| (one.number, &one.record));
    if args.json {
        to_stdout(printer, &|out| write_figures(&capacity::to_json(records.clone()), out))?;
    } else if found.is_empty() {
        printer.note("there are no measurements of such a device yet: run `iostall sweep` on it");
    } else {
        printer.result(&capacity::table(records))?;
    }
    Ok(())
}

/// The persistent name of a device given as a path; other names unchanged.
fn lasting_name(device: &str) -> String {
    let identity = device.starts_with('/').then(|| host::identity_of(Path::new(device))).flatten();
    let name = || device.strip_prefix("/dev/").unwrap_or(device).to_owned();
    identity.map_or_else(name, |identity| identity.key().unwrap_or(identity.kernel_name))
}
