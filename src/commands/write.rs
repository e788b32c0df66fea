//! `iostall write`: each method at each pace, then report and run.

mod table;

use iostall_model::paced::WriteMethod;
use iostall_session::output::GrowingTable;
use iostall_session::paced::{PaceError, PaceRequest, PacedRequest, PacedWrite, paces};

use self::table::{WithTable, begin_table};
use crate::cli::{GlobalArgs, RunOutput as _, WriteArgs};
use crate::failure::Status;
use crate::frame::{answer, begin_transfer, give_way};
use crate::output::{self, Delivery};
use crate::printer::Printer;
use crate::store::{run_writer, taken};

const TOTAL_BYTES: u64 = 1 << 30;

pub(crate) fn run(args: &WriteArgs, global: &GlobalArgs, printer: &Printer) -> anyhow::Result<Status> {
    let mut outputs = output::check(&args.output, &taken(global).targets([&args.file]))?;
    let request = request(args)?;
    let mut writer = run_writer(global, args.no_store, printer)?;
    let transfer = begin_transfer(None, printer)?;
    let transfer = give_way(transfer, &args.give_way, (args.output.require(), None))?;
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
    let mut run = written?;
    if has_grown && let Some(path) = &args.output.csv {
        outputs.leave_out(path);
    }
    let status = if run.interrupted { Status::Interrupted } else { answer(&run) };
    Ok(Delivery::new(&outputs, &args.output, printer).give(&mut run, &mut writer, status))
}

fn request(args: &WriteArgs) -> Result<PacedRequest, PaceError> {
    let pace = PaceRequest {
        packet: args.packet,
        burst: args.burst,
        period: args.period,
        delay: args.delay,
        rate: args.rate,
        sweep: args.sweep.clone(),
    };
    let methods: Vec<WriteMethod> = args.methods.iter().copied().map(Into::into).collect();
    Ok(PacedRequest {
        file: args.file.clone(),
        paces: paces(&pace, &methods, args.interval)?,
        methods,
        total_bytes: total_bytes(args),
        duration: args.duration,
        interval: args.interval,
        memory_limit: args.memory_limit,
        overwrite: args.overwrite.clone(),
        keep: args.keep,
    })
}

fn total_bytes(args: &WriteArgs) -> Option<u64> {
    match (args.size, args.duration) {
        (Some(size), _) => Some(size.bytes()),
        (None, Some(_)) => None,
        (None, None) => Some(TOTAL_BYTES),
    }
}
