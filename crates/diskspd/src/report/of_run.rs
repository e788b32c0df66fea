//! DiskSpd's report of a run, at its end or later.

use iostall_model::{AskedFormat, AskedProfile, LoadOutcome, Run};
use thiserror::Error;

use super::convert::from_run;
use super::text::write_text;
use super::xml::write_xml;
use crate::xml::{ProfileError, read_profile, write_profile};
use crate::{DiskspdProfile, ResultFormats};

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AskedError {
    /// The run has no DiskSpd profile.
    #[error("the run has no report of DiskSpd's: it was not asked for in DiskSpd's words")]
    OtherWords,
    #[error("the profile that is kept with the run cannot be read: {0}")]
    Profile(#[from] ProfileError),
}

impl AskedError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::OtherWords => {
                "without --diskspd the run is shown as all others; those of `iostall diskspd` keep DiskSpd's words from this \
                 version on"
            }
            Self::Profile(_) => "without --diskspd the run is shown as all others",
        }
    }
}

/// `profile` in the format stored with its run.
pub fn asked(profile: &DiskspdProfile) -> AskedProfile {
    AskedProfile { format: AskedFormat::DiskspdXml, document: write_profile(profile) }
}

pub fn profile_of(run: &Run) -> Result<DiskspdProfile, AskedError> {
    let asked = run.body.as_kind::<LoadOutcome>().and_then(|outcome| outcome.asked.as_ref());
    match asked {
        Some(AskedProfile { format: AskedFormat::DiskspdXml, document }) => {
            Ok(read_profile(document.as_bytes())?)
        }
        None => Err(AskedError::OtherWords),
    }
}

/// The report of `run` in `formats`, text first; `None` if it is not a load.
pub fn report_of(run: &Run, profile: &DiskspdProfile, formats: ResultFormats) -> Option<String> {
    let report = from_run(run, profile.clone())?;
    let mut text = String::new();
    if formats.text {
        text.push_str(&write_text(&report));
    }
    if formats.xml {
        text.push_str(&write_xml(&report));
        text.push('\n');
    }
    Some(text)
}
