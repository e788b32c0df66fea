//! Settings from the command line that override a profile's.

use iostall_measure::{ByteCount, Caching, Durability, Nanos, Percent, Rate};
use iostall_model::profile::{Access, Arrivals, BlockMix, Burst, Distribution, Region, SyncRule};
use iostall_model::{Profile, RoleProfile};
use serde::Deserialize;
use thiserror::Error;

use crate::spelling::did_you_mean;

/// Settings that override a profile's; `None` leaves a value unchanged.
///
/// There are three kinds:
/// - `seed`, `warmup`, `duration`, `cooldown` belong to the run: they apply to every span and take no role.
/// - `caching` and `compressible-pct` apply to every role, or to the one that is named.
/// - The others shape a role. Roles differ in these, so a profile with several roles needs a role's name with
///   them: `--block-size 64K` would otherwise turn a log into data.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Overrides {
    /// The role they apply to, in every span that has it; see above for `None`.
    #[serde(skip)]
    pub role: Option<String>,
    pub seed: Option<u64>,
    pub warmup: Option<Nanos>,
    pub duration: Option<Nanos>,
    pub cooldown: Option<Nanos>,
    pub caching: Option<Caching>,
    pub compressible_pct: Option<Percent>,
    pub block_size: Option<BlockMix>,
    pub queue_depth: Option<u32>,
    pub workers: Option<u32>,
    pub write_pct: Option<Percent>,
    pub access: Option<Access>,
    pub random_pct: Option<Percent>,
    pub distribution: Option<Distribution>,
    pub align: Option<ByteCount>,
    pub stride: Option<ByteCount>,
    pub shared_sequence: Option<bool>,
    pub worker_offset: Option<ByteCount>,
    pub region: Option<Region>,
    pub rate: Option<Rate>,
    pub arrivals: Option<Arrivals>,
    pub durability: Option<Durability>,
    pub sync: Option<SyncRule>,
    pub burst: Option<Burst>,
    pub batch: Option<u32>,
    pub batch_wait: Option<Nanos>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OverrideError {
    #[error("{text:?} is not a setting: {message}; write ROLE.FIELD=VALUE, such as log.block-size=4K")]
    Setting { text: String, message: String },
    #[error("the profile {profile:?} has no role {role:?}{suggestion}; its roles are {roles}")]
    UnknownRole { profile: String, role: String, suggestion: String, roles: String },
    #[error(
        "{fields}: the profile {profile:?} has several roles ({roles}); name the one to change, as in {example}"
    )]
    SeveralRoles {
        fields: String,
        profile: String,
        roles: String,
        /// The first field spelled with a role.
        example: String,
    },
    #[error(
        "{field} belongs to the run and not to the role {role:?}: all roles of a span start and stop together; \
         write {field} without a role"
    )]
    OfTheRun { field: &'static str, role: String },
}

impl Overrides {
    /// Parses one setting as typed: `queue-depth=8`, or `log.block-size=4K` for one role. The value is
    /// spelled as in a profile; quotes are optional.
    pub fn parse(text: &str) -> Result<Self, OverrideError> {
        let refuse = |message: String| OverrideError::Setting { text: text.to_owned(), message };
        let (path, value) = text.split_once('=').ok_or_else(|| refuse("it has no =".into()))?;
        let (path, value) = (path.trim(), value.trim());
        let (role, field) = match path.split_once('.') {
            Some((role, field)) => (Some(role), field),
            None => (None, path),
        };
        if field.is_empty() || !field.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
            return Err(refuse(format!("{field:?} is no field")));
        }
        let read = read_value(field, value).map_err(|error| refuse(error.message().to_owned()))?;
        Ok(Self { role: role.map(str::to_owned), ..read })
    }

    /// Applies these settings to `profile`, which is unchanged on error. The result needs another
    /// [`super::check()`].
    pub fn apply(&self, profile: &mut Profile) -> Result<(), OverrideError> {
        let names = role_names(profile);
        self.refuse_what_cannot_be_meant(&profile.name, &names)?;
        profile.seed = self.seed.unwrap_or(profile.seed);
        for span in &mut profile.spans {
            span.warmup = self.warmup.unwrap_or(span.warmup);
            span.duration = self.duration.unwrap_or(span.duration);
            span.cooldown = self.cooldown.unwrap_or(span.cooldown);
            for role in &mut span.roles {
                if self.role.as_ref().is_none_or(|name| *name == role.name) {
                    self.shape(role);
                }
            }
        }
        Ok(())
    }

    fn refuse_what_cannot_be_meant(&self, profile: &str, names: &[String]) -> Result<(), OverrideError> {
        let profile = profile.to_owned();
        let Some(role) = &self.role else {
            let fields = self.shape_fields();
            if names.len() < 2 || fields.is_empty() {
                return Ok(());
            }
            let example = format!("{}.{}", names[0], fields[0]);
            return Err(OverrideError::SeveralRoles {
                fields: fields.join(", "),
                profile,
                roles: names.join(", "),
                example,
            });
        };
        if !names.contains(role) {
            return Err(OverrideError::UnknownRole {
                profile,
                role: role.clone(),
                suggestion: did_you_mean(role, names.iter().map(String::as_str)),
                roles: names.join(", "),
            });
        }
        let of_the_run = [
            ("seed", self.seed.is_some()),
            ("warmup", self.warmup.is_some()),
            ("duration", self.duration.is_some()),
            ("cooldown", self.cooldown.is_some()),
        ];
        match of_the_run.into_iter().find(|(_, set)| *set) {
            Some((field, _)) => Err(OverrideError::OfTheRun { field, role: role.clone() }),
            None => Ok(()),
        }
    }

    fn shape_fields(&self) -> Vec<&'static str> {
        [
            ("block-size", self.block_size.is_some()),
            ("queue-depth", self.queue_depth.is_some()),
            ("workers", self.workers.is_some()),
            ("write-pct", self.write_pct.is_some()),
            ("access", self.access.is_some()),
            ("random-pct", self.random_pct.is_some()),
            ("distribution", self.distribution.is_some()),
            ("align", self.align.is_some()),
            ("stride", self.stride.is_some()),
            ("shared-sequence", self.shared_sequence.is_some()),
            ("worker-offset", self.worker_offset.is_some()),
            ("region", self.region.is_some()),
            ("rate", self.rate.is_some()),
            ("arrivals", self.arrivals.is_some()),
            ("durability", self.durability.is_some()),
            ("sync", self.sync.is_some()),
            ("burst", self.burst.is_some()),
            ("batch", self.batch.is_some()),
            ("batch-wait", self.batch_wait.is_some()),
        ]
        .into_iter()
        .filter_map(|(field, set)| set.then_some(field))
        .collect()
    }

    fn shape(&self, role: &mut RoleProfile) {
        // Thresholds hold for the load that they were written for.
        if !self.shape_fields().is_empty() {
            role.thresholds = None;
        }
        put(&mut role.caching, self.caching);
        put(&mut role.compressible_pct, self.compressible_pct);
        put(&mut role.block_size, self.block_size.clone());
        put(&mut role.queue_depth, self.queue_depth);
        put(&mut role.workers, self.workers);
        put(&mut role.write_pct, self.write_pct);
        put(&mut role.access, self.access);
        put(&mut role.distribution, self.distribution.clone());
        put(&mut role.shared_sequence, self.shared_sequence);
        put(&mut role.region, self.region);
        put(&mut role.arrivals, self.arrivals);
        put(&mut role.durability, self.durability);
        role.random_pct = self.random_pct.or(role.random_pct);
        role.align = self.align.or(role.align);
        role.stride = self.stride.or(role.stride);
        role.worker_offset = self.worker_offset.or(role.worker_offset);
        role.rate = self.rate.or(role.rate);
        role.sync = self.sync.or(role.sync);
        role.burst = self.burst.or(role.burst);
        role.batch = self.batch.or(role.batch);
        role.batch_wait = self.batch_wait.or(role.batch_wait);
    }
}

/// Parses a value as TOML (`8`, `"8K"`, `{ every = 2 }`), or else as text without quotes (`8K`). A bare
/// number may be either: `queue-depth=8` is a number in a profile, and `warmup=0` a text.
fn read_value(field: &str, value: &str) -> Result<Overrides, toml::de::Error> {
    if let Ok(table) = toml::from_str::<toml::Table>(&format!("{field} = {value}")) {
        let composed = table.values().all(|value| value.is_table() || value.is_str() || value.is_array());
        let read = table.try_into();
        if read.is_ok() || composed {
            return read;
        }
    }
    toml::Table::from_iter([(field.to_owned(), toml::Value::String(value.to_owned()))]).try_into()
}

fn put<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn role_names(profile: &Profile) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for role in profile.spans.iter().flat_map(|span| &span.roles) {
        if !names.contains(&role.name) {
            names.push(role.name.clone());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::parse_profile;
    use super::*;

    const TWO: &str = "name = 'oltp'\n[[role]]\nname = 'data'\nblock-size = '8K'\n[[role]]\nname = 'log'\n\
                       block-size = '60K'\naccess = 'sequential'\nwrite-pct = 100\n";

    fn two() -> Profile {
        parse_profile(TWO, "t").unwrap()
    }

    fn applied(settings: &[&str], mut profile: Profile) -> Result<Profile, OverrideError> {
        for setting in settings {
            Overrides::parse(setting)?.apply(&mut profile)?;
        }
        Ok(profile)
    }

    #[test]
    fn a_setting_reaches_the_role_it_names_and_no_other() {
        let profile = applied(
            &[
                "log.block-size=4K:3,16K:1",
                "log.queue-depth=8",
                "data.distribution=zipf:0.9",
                "log.sync={every=2}",
            ],
            two(),
        )
        .unwrap();
        let [data, log] = profile.spans[0].roles.as_slice() else { panic!("two roles") };
        assert_eq!(
            (data.block_size.to_string(), log.block_size.to_string()),
            ("8K".into(), "4K:3,16K:1".into())
        );
        assert_eq!((data.queue_depth, log.queue_depth), (1, 8));
        assert_eq!((data.distribution.to_string(), log.sync.unwrap().every), ("zipf:0.9".into(), 2));
    }

    #[test]
    fn times_the_seed_and_caching_reach_everything() {
        let profile = applied(
            &[
                "duration=2s",
                "warmup=0",
                "seed=9",
                "data.block-size=4096",
                "caching=buffered",
                "compressible-pct=50%",
            ],
            two(),
        )
        .unwrap();
        assert_eq!((profile.seed, profile.spans[0].duration), (9, Nanos(2_000_000_000)));
        assert!(profile.spans[0].roles.iter().all(|role| role.caching == Caching::Buffered));
        assert!(profile.spans[0].roles.iter().all(|role| role.compressible_pct.percent() > 49.0));
    }

    #[test]
    fn one_value_for_several_roles_is_refused_by_their_names() {
        let error = Overrides { queue_depth: Some(4), ..Overrides::parse("block-size=8K").unwrap() }
            .apply(&mut two())
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "block-size, queue-depth: the profile \"oltp\" has several roles (data, log); name the one to \
             change, as in data.block-size"
        );
        let mut one = two();
        one.spans[0].roles.pop();
        assert_eq!(
            applied(&["block-size=64K"], one).unwrap().spans[0].roles[0].block_size.to_string(),
            "64K"
        );
    }

    #[test]
    fn mistakes_are_refused_with_what_to_write_and_change_nothing() {
        for (setting, wanted) in [
            ("lgo.workers=2", "has no role \"lgo\" (did you mean \"log\"?); its roles are data, log"),
            ("log.duration=2s", "duration belongs to the run"),
            ("queue-depth", "it has no ="),
            ("queue-depht=3", "unknown field `queue-depht`"),
            ("log.block-size=fast", "8K:80,64K:20"),
            ("log.queue-depth=many", "u32"),
            ("warmup=10", "write it with its unit, such as 10s"),
            ("log.sync={evry=2}", "unknown field `evry`"),
            ("x y=3", "is no field"),
            ("role=log", "unknown field `role`"),
        ] {
            let message = applied(&[setting], two()).expect_err(setting).to_string();
            assert!(message.contains(wanted), "{setting}: {message}");
        }
    }
}
