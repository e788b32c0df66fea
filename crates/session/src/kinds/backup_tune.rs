//! A search for the settings of backups: what the best of them moves, and what the defaults do.

use iostall_model::part::{Part, PartName};
use iostall_model::{BackupTuneOutcome, TunedSetting};

/// The whole is the setting of the answer.
pub(super) fn parts(outcome: &BackupTuneOutcome) -> Vec<Part> {
    let rate = |setting: Option<&TunedSetting>| setting.and_then(|setting| setting.bytes_per_s);
    let default = Part {
        name: PartName::OneOf(vec!["default".to_owned()]),
        label: Some("default".to_owned()),
        bytes_per_s: rate(outcome.default_setting()),
        ..Part::default()
    };
    vec![Part { bytes_per_s: rate(outcome.best()), ..Part::default() }, default]
}
