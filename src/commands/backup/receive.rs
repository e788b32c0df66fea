//! `iostall backup receive`.

use iostall_measure::ByteCount;
use iostall_measure::foreign::shown;
use iostall_web::receive::{ReceiveError, ReceiveEvent, Receiver, add_key};

use crate::cli::ReceiveArgs;
use crate::failure::{Status, hinted};
use crate::interrupt::on_signal;
use crate::printer::Printer;

/// Receives until it is stopped, or adds a key.
pub(super) fn run(args: &ReceiveArgs, printer: &Printer) -> anyhow::Result<Status> {
    if let Some(name) = &args.add_key {
        let prefix = args.prefix.as_deref().unwrap_or(name);
        let key = add_key(&args.keys, name, prefix, args.quota).map_err(|error| with_hint(error.into()))?;
        printer.note(&format!(
            "on the client, for names below {prefix}, IOSTALL_RECEIVER_KEY is this; it is not shown again:"
        ));
        printer.result(&format!("{key}\n"))?;
        return Ok(Status::Done);
    }
    let Some(request) = args.request() else { return Ok(Status::CouldNot) };
    let to_show = printer.clone();
    let receiver =
        Receiver::open(request, Box::new(move |event| to_show.note(&line(event)))).map_err(with_hint)?;
    let stopper = receiver.stopper();
    on_signal(Some(printer), move || stopper.stop())?;
    printer.note(&format!("receiving at iostall://{}", receiver.address()));
    printer.note(&format!("on clients, IOSTALL_RECEIVER_CERTIFICATE is {}", receiver.fingerprint()));
    receiver.run();
    // Interrupting is the normal way to end it.
    Ok(Status::Done)
}

fn line(event: &ReceiveEvent) -> String {
    match event {
        ReceiveEvent::Stored { peer, key, name, bytes } => {
            format!("stored {name}, {}, for {key} at {}", ByteCount(*bytes), peer.ip())
        }
        ReceiveEvent::Refused { peer, key, reason } => {
            format!("refused {} at {}: {}", key.as_deref().unwrap_or("somebody"), peer.ip(), shown(reason))
        }
    }
}

fn with_hint(error: ReceiveError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}
