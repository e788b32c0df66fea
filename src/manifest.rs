//! The manifest of a copy: which checksum it has, where it may be written, and that the list of an unfinished copy does not take
//! the place of a whole one.

use std::io::Write;

use iostall_model::transfer::HashKind;
use iostall_model::{Warning, WarningCode};
use iostall_transfer::manifest::{
    Manifest, hash_for, is_json, open, partial_path, read, write_json, write_sums,
};

use crate::cli::CopyArgs;
use crate::failure::hinted;
use crate::output::{Form, Outputs, Taken};

/// The checksum of a copy: what was asked for, or what the name of its manifest says.
pub(crate) fn hash(args: &CopyArgs) -> anyhow::Result<HashKind> {
    let Some(path) = &args.manifest else { return Ok(args.hash.unwrap_or_default()) };
    hash_for(path, args.hash).map_err(|error| {
        let error = anyhow::Error::new(error).context(format!("--manifest {}", path.display()));
        hinted(error, "leave --hash out, or give the list a name that says nothing else; nothing was copied")
    })
}

/// Adds the name that the list of an unfinished copy gets to `outputs`, so that it is refused at the start like the other.
pub(crate) fn check_partial(args: &CopyArgs, outputs: &mut Outputs, taken: &Taken) -> anyhow::Result<()> {
    match &args.manifest {
        Some(path) if !outputs.is_stream(path) => {
            let form = Form::Manifest { may_replace: args.overwrite };
            outputs.also("--manifest", form, &partial_path(path), taken)
        }
        _ => Ok(()),
    }
}

/// Leaves the one place in `outputs` that the list belongs in. Of a copy that is not whole it goes beside the name, which may be
/// that of the last whole one; a list of nothing is not written at all.
pub(crate) fn choose_place(
    args: &CopyArgs,
    outputs: &mut Outputs,
    is_whole: bool,
    has_nothing: bool,
) -> Option<Warning> {
    let path = args.manifest.as_ref()?;
    let beside = partial_path(path);
    if is_whole || has_nothing {
        outputs.leave_out(&beside);
    }
    if has_nothing {
        outputs.leave_out(path);
    }
    if is_whole || has_nothing || outputs.is_stream(path) {
        return None;
    }
    outputs.leave_out(path);
    let message = format!(
        "the list of what was copied is partial: it is {}, and {} is what it was before",
        beside.display(),
        path.display()
    );
    let hint = "the same command writes the whole list when it ends well";
    Some(Warning::new(WarningCode::PartialList, message).hint(hint))
}

/// Writes the list in the form that its name asks for.
pub(crate) fn write(args: &CopyArgs, list: &Manifest, out: &mut dyn Write) -> anyhow::Result<()> {
    let is_document = args.manifest.as_deref().is_some_and(is_json);
    Ok(if is_document { write_json(list, out) } else { write_sums(list, out) }?)
}

/// The list of an earlier try says less than the whole one that is there now.
pub(crate) fn remove_partial(args: &CopyArgs) {
    let Some(beside) = args.manifest.as_deref().map(partial_path) else { return };
    let is_ours = open(&beside).is_ok_and(|text| read(text, &beside, None).is_ok_and(|list| list.is_partial));
    if is_ours {
        // One that stays says in its name what it is.
        let _ = std::fs::remove_file(beside);
    }
}
