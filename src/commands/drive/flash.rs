//! `iostall drive flash`: a simulated flash device.

use iostall_session::EngineChoice;
use iostall_session::flash::flash;

use crate::cli::{FlashArgs, GlobalArgs};
use crate::failure::Status;
use crate::frame::Frame;
use crate::printer::Printer;
use crate::store::taken;

/// Simulates and reports.
pub(crate) fn run(args: &FlashArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    // Nothing is read or written.
    let (engine, no_store, output) = (EngineChoice::Null, args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken: taken(global), global, printer };
    frame.run(|session, _| Ok(flash(&args.request(), session)?))
}
