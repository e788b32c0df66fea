//! What is to be known of a set that is opened: whether it is the newest, what was wrong when it was made, and where it was found.

use std::path::Path;

use iostall_engine::files::path_bytes;
use iostall_model::backup::SetId;
use iostall_model::{Newest, Warning, WarningCode};
use iostall_transfer::backup::read::OpenSet;
use iostall_transfer::backup::restore::Restored;

use super::known::{KnownSets, source_name};

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
            let named: Vec<String> = manifest.sources.iter().map(|source| source.named.clone()).collect();
            let source = (!named.is_empty()).then(|| source_name(&manifest.host, &named));
            known.newest(&manifest.set.to_string(), source.as_deref(), manifest.started_utc)
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
