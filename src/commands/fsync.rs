//! `iostall fsync`: commits with each sync method, and what the server there uses.

use iostall_session::EngineChoice;
use iostall_session::fsync::{fsync, segment_name};

use crate::cli::{FsyncArgs, GlobalArgs};
use crate::failure::Status;
use crate::frame::Frame;
use crate::printer::Printer;
use crate::store::taken;

pub(crate) fn run(args: &FsyncArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let taken = taken(global).targets([args.directory.join(segment_name(0))]);
    // The calls are those of a server, on the thread of each committer.
    let (engine, no_store, output) = (EngineChoice::Psync, args.no_store, &args.output);
    let frame = Frame { engine, no_store, output, taken, global, printer };
    frame.run(|session, _| Ok(fsync(&args.request(), session)?))
}
