//! What a run says of a set: its damage in the form stored, and what one who relies on it should know.

use std::path::Path;

use iostall_engine::files::path_bytes;
use iostall_model::backup::SetId;
use iostall_model::stripe::{BackupDamage, StripeUse};
use iostall_model::{Newest, Warning, WarningCode};
use iostall_transfer::backup::read::{ChainStripe, Damage, OpenSet, StripeRead};
use iostall_transfer::backup::restore::Restored;

use super::known::KnownSets;

pub(super) fn stored(damage: &[Damage]) -> Vec<BackupDamage> {
    damage.iter().map(of).collect()
}

fn of(damage: &Damage) -> BackupDamage {
    BackupDamage {
        base: damage.base.map(|set| set.to_string()),
        // Stripes are counted from 1 wherever a person reads it.
        stripe: damage.stripe.map(|number| number.saturating_add(1)),
        path: damage.path.display().to_string(),
        frame: damage.frame,
        offset: damage.offset,
        file: damage.file.clone(),
        file_offset: damage.file_offset,
        file_bytes: damage.file_bytes,
        is_missing: damage.is_missing,
        message: damage.message.clone(),
    }
}

/// The beginning of a set's id, which tells the sets of one store apart, as the name of a run.
pub(super) fn short(set: &str) -> String {
    if set.is_empty() { "backup".to_owned() } else { set.chars().take(12).collect() }
}

/// The stripes of a set that are there, and those of what it is based on.
pub(super) fn stripes(set: &OpenSet) -> Vec<StripeUse> {
    let one = |ChainStripe { open, .. }: ChainStripe<'_>| StripeUse {
        path: open.stripe.path.display().to_string(),
        bytes: open.stripe.bytes,
        frames: open.end.map_or(0, |end| end.frames),
        busy_ns: 0,
    };
    set.all_stripes().map(one).collect()
}

/// The stripes of a set and of what it is based on, of which so much was read: `bytes` of each so far, and the rest once all of it is known.
pub(super) fn stripes_read(set: &OpenSet, bytes: &[u64], read: &[StripeRead]) -> Vec<StripeUse> {
    let one = |(at, ChainStripe { open, .. }): (usize, ChainStripe<'_>)| {
        let whole = read.get(at).copied().unwrap_or_default();
        StripeUse {
            path: open.stripe.path.display().to_string(),
            bytes: bytes.get(at).copied().unwrap_or_default(),
            frames: whole.frames,
            busy_ns: whole.busy_ns,
        }
    };
    set.all_stripes().enumerate().map(one).collect()
}

const REPEATED_MAX: usize = 20;

/// A whole older set looks like the newest: only someone who knows the newest one can tell.
pub(super) fn newest(expect: Option<SetId>, set: &OpenSet, known: &KnownSets) -> Newest {
    let manifest = &set.manifest;
    match expect {
        Some(expect) if expect == manifest.set => Newest::Expected,
        Some(expect) => Newest::Other {
            set: expect.to_string(),
            because: format!("this is set {}, made on {:.0}", manifest.set, manifest.started_utc),
        },
        None => {
            let key = manifest.source_key().filter(|_| !manifest.sources.is_empty());
            known.newest(&manifest.set.to_string(), key.as_deref(), manifest.started_utc)
        }
    }
}

/// What the manifest warns of, and stripes that were found under other names than they were given.
pub(super) fn warnings(set: &OpenSet) -> Vec<Warning> {
    let made = &set.manifest.warnings;
    let mut all: Vec<Warning> = made
        .iter()
        .take(REPEATED_MAX)
        .map(|message| Warning::new(WarningCode::SourceInUse, format!("when it was made: {message}")))
        .collect();
    if made.len() > REPEATED_MAX {
        let message = format!("the manifest has {} more warnings", made.len() - REPEATED_MAX);
        all.push(Warning::new(WarningCode::SourceInUse, message));
    }
    for open in &set.stripes {
        let Some(record) = set.manifest.stripes.get(usize::from(open.stripe.number())) else { continue };
        let path = &open.stripe.path;
        let name = path.file_name().map_or(&[][..], |name| path_bytes(Path::new(name)));
        if name != record.name.as_bytes() {
            let number = open.stripe.number() + 1;
            let message = format!(
                "stripe {number} was found in {}; its name in the manifest is {}",
                path.display(),
                record.name
            );
            all.push(Warning::new(WarningCode::StripeRenamed, message));
        }
    }
    all
}

/// What a server that is started on the files lacks at first. Its answers are right all the same.
pub(super) fn empty_maps(restored: &Restored) -> Option<Warning> {
    let maps = match restored.empty_maps {
        0 => return None,
        1 => "1 visibility map is empty".to_owned(),
        many => format!("{many} visibility maps are empty"),
    };
    let message = format!(
        "{maps}: the increments that the server makes do not say which of their bits were cleared. Answers are right, but index-only \
         scans read the tables, too, until VACUUM has filled the maps"
    );
    let hint = "run `vacuumdb --all` on the restored server; it reads all tables";
    Some(Warning::new(WarningCode::VisibilityMapsEmpty, message).hint(hint))
}
