//! `iostall fleet serve`.

use iostall_measure::foreign::shown;
use iostall_report::exposition::of_program;
use iostall_watch::{WatchError, wait_for_repositories};
use iostall_web::centre::{Centre, CentreEvent, CentreRequest};
use jiff::SignedDuration;

use crate::cli::FleetServeArgs;
use crate::failure::{Status, hinted};
use crate::interrupt::on_signal;
use crate::metrics;
use crate::printer::Printer;

/// Connections that write. PostgreSQL has about a hundred, and each of these does what a server sends in milliseconds.
const WRITERS: usize = 4;

pub(super) fn run(args: &FleetServeArgs, printer: &Printer) -> anyhow::Result<Status> {
    let waiting = |error: &WatchError| printer.note(&format!("{error}; it is waited for"));
    let mut writers = wait_for_repositories(&args.url, WRITERS + 1, &Printer::ask_password, &waiting)?;
    let Some(members) = writers.pop() else { return Ok(Status::CouldNot) };
    let name = members.name().to_owned();
    let request = CentreRequest {
        listen: args.listen.clone(),
        certificate: args.certificate.clone(),
        key: args.key.clone(),
        keep_raw: args.keep_raw.and_then(|length| SignedDuration::try_from(length).ok()),
        keep_runs: args.keep_runs.and_then(|length| SignedDuration::try_from(length).ok()),
        repositories: (members, writers),
    };
    let to_show = printer.clone();
    let opened = Centre::open(request, Box::new(move |event| show(event, &to_show)));
    let centre = opened.map_err(|error| match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    })?;
    let health = centre.health();
    let seen = health.clone();
    let page = move || of_program(env!("CARGO_PKG_VERSION"), &seen.figures());
    let trouble = Box::new(move || health.trouble());
    let serve = |address: &String| metrics::serve_page(address, page, Some(trouble), printer);
    let _metrics = args.metrics.as_ref().map(serve).transpose()?;
    let stopper = centre.stopper();
    on_signal(Some(printer), move || stopper.stop())?;
    printer.note(&format!("serving the repository in {} at https://{}", shown(&name), centre.address()));
    printer.note(&format!("servers join it with --certificate {}", centre.fingerprint()));
    centre.run();
    // Interrupting is the normal way to end it.
    Ok(Status::Done)
}

fn show(event: &CentreEvent, printer: &Printer) {
    let more = |unreported: u64| match unreported {
        0 => String::new(),
        count => format!(" ({count} more of such lines were left out)"),
    };
    match event {
        CentreEvent::Joined { peer, name } => {
            printer.note(&format!("{} at {} has joined", shown(name), peer.ip()));
        }
        CentreEvent::Refused { peer, name, reason, unreported } => {
            let who = name.as_deref().map_or_else(|| "somebody".to_owned(), shown);
            printer.note(&format!("refused {who} at {}: {}{}", peer.ip(), shown(reason), more(*unreported)));
        }
        CentreEvent::Unavailable { reason, hint, unreported } => {
            let text = format!("{reason}{}", more(*unreported));
            match hint {
                Some(hint) => printer.advise(&text, hint),
                None => printer.note(&text),
            }
        }
    }
}
