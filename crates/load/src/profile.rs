//! Profiles: reading them, overriding them from the command line, and checking them.
//!
//! The order is [`parse_profile`], then any [`Overrides`], then [`check()`]. A profile that has passed the
//! check can fail only because of its targets.

mod check;
mod error;
mod overrides;
mod own_files;

use std::path::Path;

use iostall_engine::Input;
use iostall_measure::{ByteCount, Nanos};
use iostall_model::{Profile, RoleProfile, SpanProfile};
use serde::Deserialize;

pub use check::check;
pub use error::{ProfileError, ProfileFileError};
pub use overrides::{OverrideError, Overrides};
pub use own_files::give_own_files;

/// A hundred times the size of a thousand roles.
const PROFILE: Input = Input { what: "profile", limit: ByteCount(1 << 20) };

pub fn read_profile(path: &Path) -> Result<Profile, ProfileFileError> {
    Ok(parse_profile(&PROFILE.text(path)?, &path.display().to_string())?)
}

/// The profile as TOML, as [`parse_profile`] reads it.
pub fn profile_text(profile: &Profile) -> Result<String, ProfileError> {
    let refuse = |error: toml::ser::Error| ProfileError::Syntax {
        origin: profile.name.clone(),
        message: error.to_string(),
    };
    toml::to_string(profile).map_err(refuse)
}

/// A profile as written: spans with their roles, or for a single span its times and roles at the top level.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ProfileText {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    spans: Vec<SpanProfile>,
    warmup: Option<Nanos>,
    duration: Option<Nanos>,
    cooldown: Option<Nanos>,
    interval: Option<Nanos>,
    #[serde(default, rename = "role")]
    roles: Vec<RoleProfile>,
}

/// Parses the profile in `text` (TOML); `origin` (a file's or preset's name) is for error messages.
///
/// Two forms give the same profile: `[[spans]]` with `[[spans.roles]]`, and for a single span the short form
/// with `warmup`, `duration`, `cooldown`, `interval` and `[[role]]` at the top level.
pub fn parse_profile(text: &str, origin: &str) -> Result<Profile, ProfileError> {
    let refuse = |message: String| ProfileError::Syntax { origin: origin.to_owned(), message };
    let written: ProfileText =
        toml::from_str(text).map_err(|error| refuse(error.to_string().trim_end().into()))?;
    let short = !written.roles.is_empty()
        || [written.warmup, written.duration, written.cooldown, written.interval].iter().any(Option::is_some);
    let spans = match (short, written.spans.is_empty()) {
        (true, false) => {
            return Err(refuse(
                "it has [[spans]] beside settings of the short form (warmup, duration, cooldown, interval or [[role]] at the top); \
                 move those into the spans they belong to"
                    .into(),
            ));
        }
        (true, true) => vec![SpanProfile {
            warmup: written.warmup.unwrap_or_else(SpanProfile::default_warmup),
            duration: written.duration.unwrap_or_else(SpanProfile::default_duration),
            cooldown: written.cooldown.unwrap_or_default(),
            interval: written.interval.unwrap_or_else(SpanProfile::default_interval),
            worker_series: false,
            roles: written.roles,
        }],
        (false, _) => written.spans,
    };
    Ok(Profile { name: written.name, description: written.description, seed: written.seed, spans })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_and_the_full_form_give_the_same_profile() {
        let role = "name = 'data'\nblock-size = '8K'\nqueue-depth = 4\n";
        let short = format!("name = 'p'\nseed = 7\nwarmup = '1s'\n[[role]]\n{role}");
        let full = format!("name = 'p'\nseed = 7\n[[spans]]\nwarmup = '1s'\n[[spans.roles]]\n{role}");
        let short = parse_profile(&short, "short").unwrap();
        assert_eq!(short, parse_profile(&full, "full").unwrap());
        assert_eq!(short.spans[0].duration, SpanProfile::default_duration());
        assert_eq!(short.spans[0].roles[0].queue_depth, 4);
    }

    #[test]
    fn a_profile_reads_back_what_it_writes() {
        let text = "name = 'p'\n[[role]]\nname = 'log'\nblock-size = '8K:1,60K:2'\naccess = 'sequential'\n\
                    write-pct = 100\nsync = { every = 3, call = 'fsync' }\nrate = '10MiB/s'\nregion = '90%..'\n\
                    burst = { requests = 3, pause = '1s' }\n";
        let profile = parse_profile(text, "t").unwrap();
        let written = profile_text(&profile).unwrap();
        assert_eq!(parse_profile(&written, "again").unwrap(), profile, "{written}");
    }

    #[test]
    fn mixing_the_two_forms_is_refused() {
        let text = "name = 'p'\nduration = '1s'\n[[spans]]\nroles = []\n";
        let message = parse_profile(text, "mine.toml").unwrap_err().to_string();
        assert!(message.starts_with("mine.toml: it has [[spans]] beside"), "{message}");
    }

    #[test]
    fn a_mistake_is_shown_with_its_line_and_column() {
        for (wrong, wanted) in [
            ("block-size = '8X'", "8K:80,64K:20"),
            ("block-size = '8K'\nqueue-depht = 3", "queue-depth"),
            ("block-size = '8K'\nwrite-pct = 130", "0 to 100"),
            ("block-size = ", "string"),
        ] {
            let text = format!("name = 'p'\n[[role]]\nname = 'data'\n{wrong}\n");
            let message = parse_profile(&text, "mine.toml").unwrap_err().to_string();
            assert!(message.starts_with("mine.toml: "), "{message}");
            assert!(message.contains("line "), "{message}");
            assert!(message.contains("column "), "{message}");
            assert!(message.contains(wanted), "{message}");
        }
    }
}
