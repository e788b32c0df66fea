//! `iostall fleet release`.

use iostall_measure::foreign::shown;
use iostall_report::fleet_push::{applied_text, recovered_text, release_text};
use iostall_watch::WatchError;
use iostall_watch::deploy::{Policy, PushAgent};
use iostall_watch::release::{
    MakeRelease, Opened, PublicKey, ReleaseError, SigningKey, make_permit, make_release, read_release,
    write_new,
};

use crate::cli::{
    FleetReleaseArgs, FleetReleaseCommand, ReleaseApplyArgs, ReleaseKeygenArgs, ReleaseMakeArgs,
    ReleaseShowArgs, ReleaseUndoArgs, ReleaseVerifyArgs,
};
use crate::failure::Status;
use crate::printer::Printer;

pub(super) fn run(args: &FleetReleaseArgs, printer: &Printer) -> anyhow::Result<Status> {
    let done = match &args.command {
        FleetReleaseCommand::Keygen(args) => keygen(args),
        FleetReleaseCommand::Make(args) => make(args),
        FleetReleaseCommand::Show(args) => show(args),
        FleetReleaseCommand::Verify(args) => return verify(args, printer),
        FleetReleaseCommand::Undo(args) => undo(args),
        FleetReleaseCommand::Apply(args) => apply(args, printer),
    };
    printer.result(&done.map_err(WatchError::from)?)?;
    Ok(Status::Done)
}

fn keygen(args: &ReleaseKeygenArgs) -> Result<String, ReleaseError> {
    Ok(format!("{}\n", SigningKey::create(&args.file)?.public()))
}

fn make(args: &ReleaseMakeArgs) -> Result<String, ReleaseError> {
    let key = SigningKey::read(&args.key)?;
    let (version, note) = (u64::from(args.version), args.note.as_deref());
    let request = MakeRelease { from: &args.directory, version, note, valid: args.valid };
    Ok(release_text(&write_new(&args.to, &make_release(&request, &key)?)?))
}

fn undo(args: &ReleaseUndoArgs) -> Result<String, ReleaseError> {
    let key = SigningKey::read(&args.key)?;
    let permit = make_permit(&read_release(&args.release)?, args.valid, &key)?;
    Ok(release_text(&write_new(&args.to, &permit)?))
}

fn show(args: &ReleaseShowArgs) -> Result<String, ReleaseError> {
    let info = Opened::describe(&read_release(&args.file)?)?;
    let json = || serde_json::to_string_pretty(&info).unwrap_or_default() + "\n";
    Ok(if args.json { json() } else { release_text(&info) })
}

fn verify(args: &ReleaseVerifyArgs, printer: &Printer) -> anyhow::Result<Status> {
    let keys =
        args.public_key.iter().map(|text| text.parse()).collect::<Result<Vec<PublicKey>, ReleaseError>>();
    let keys = keys.map_err(WatchError::from)?;
    let bytes = read_release(&args.file).map_err(WatchError::from)?;
    let checked = Opened::verify(&bytes, &keys, "--public-key").and_then(|opened| opened.check_time());
    let name = shown(&args.file.to_string_lossy());
    let (text, status) = match checked {
        Ok(()) => (format!("{name} is what one of these keys has signed\n"), Status::Done),
        Err(error) => (format!("{name} is not to be used: {}\n", shown(&error.to_string())), Status::No),
    };
    printer.result(&text)?;
    Ok(status)
}

fn apply(args: &ReleaseApplyArgs, printer: &Printer) -> Result<String, ReleaseError> {
    let bytes = read_release(&args.file)?;
    let (mut agent, recovered) = PushAgent::open(Policy::read(&args.policy)?)?;
    if let Some(recovered) = recovered {
        printer.note(&recovered_text(&recovered));
    }
    let applied = if args.dry_run { agent.plan(&bytes)? } else { agent.apply(&bytes, &mut |_| {})? };
    let json = || serde_json::to_string_pretty(&applied).unwrap_or_default() + "\n";
    Ok(if args.json { json() } else { applied_text(&applied, args.dry_run) })
}
