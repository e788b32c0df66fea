//! The command line: turns what was typed into a [`DiskspdProfile`] or a specific error.
//!
//! Like DiskSpd, it makes two passes: first the unit of other options (`-b`) and test-wide options, then the
//! rest from left to right. Every option is one word with its value attached, and comes before the targets.

mod affinity;
mod caching;
mod linux_port;
mod scan;
mod settings;
mod sqlio;
mod values;

#[cfg(test)]
mod tests;

use super::profile::{DiskspdProfile, DiskspdTarget, ResultFormats};
use super::unsupported::Unsupported;
use super::validate::{advice, validate};
use super::xml::read_profile;
pub use scan::{CommandLineError, TARGETS_MAX, WORD_BYTES_MAX};
use scan::{Scanned, Switch, scan};
use settings::Settings;
pub use sqlio::in_diskspds_words;
use values::{count_u32, experiment_flags};

/// What the parser needs to know about the system; passed in, so that parsing is a pure function.
pub struct Surroundings<'a> {
    /// Whether a path exists, which decides whether `/d10` is an option or a target.
    pub exists: &'a dyn Fn(&str) -> bool,
    /// The seed for a bare `-z`; DiskSpd uses the milliseconds since the system started.
    pub clock_seed: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// `-?` and other common ways to ask for help: print [`super::usage::USAGE`] and exit with 0.
    Usage,
    Run(Box<Request>),
    /// `-X`: the caller reads the file and passes its bytes to [`ProfileFile::apply`].
    ProfileFile(Box<ProfileFile>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub profile: DiskspdProfile,
    /// `-Rp`: print the profile and do no I/O.
    pub profile_only: bool,
    /// Sentences for stderr, each after `WARNING: `.
    pub warnings: Vec<String>,
    /// Differences from Windows; also for stderr.
    pub unsupported: Vec<Unsupported>,
}

/// `-X` with the options that may accompany it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileFile {
    pub path: String,
    /// Targets for the templates `*1`, `*2`, ….
    pub targets: Vec<String>,
    /// `-Rp`.
    pub profile_only: bool,
    globals: Globals,
    warnings: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Globals {
    experiment_flags: Option<u32>,
    block_bytes: Option<u32>,
    cooldown_s: Option<u32>,
    duration_s: Option<u32>,
    warmup_s: Option<u32>,
    formats: Option<ResultFormats>,
    profile_only: bool,
    verbose: bool,
    verbose_stats: bool,
    profile_path: Option<String>,
    seed: Option<u32>,
}

pub fn parse(args: &[String], surroundings: &Surroundings<'_>) -> Result<Parsed, CommandLineError> {
    if args.is_empty() {
        return Err(CommandLineError::NoArguments);
    }
    if let Some(suggestion) = sqlio::in_diskspds_words(args) {
        return Err(CommandLineError::Sqlio { suggestion });
    }
    let Scanned { switches, targets, mut warnings } = scan(args, surroundings.exists)?;
    if switches.iter().any(Switch::asks_for_help) {
        return Ok(Parsed::Usage);
    }
    let (globals, rest) = first_reading(&switches, surroundings, &mut warnings)?;
    let missing = |path: &&String| !(surroundings.exists)(path);
    let foreign: Vec<Unsupported> =
        targets.iter().filter(missing).filter_map(|path| Unsupported::windows_path(path)).collect();
    if !foreign.is_empty() {
        return Err(CommandLineError::Refused(foreign));
    }
    if let Some(path) = globals.profile_path.clone() {
        if let Some(switch) = rest.first() {
            return Err(switch.conflict("it cannot be given with an XML profile (-X), which holds it"));
        }
        let profile_only = globals.profile_only;
        let file = ProfileFile { path, targets, profile_only, globals, warnings };
        return Ok(Parsed::ProfileFile(Box::new(file)));
    }
    let mut settings = Settings::new(globals.block_bytes);
    for switch in &rest {
        settings.take(switch, &mut warnings)?;
    }
    let (mut span, prototype) = settings.finish()?;
    let with_path = |path: String| DiskspdTarget { path, ..prototype.clone() };
    span.targets = targets.into_iter().map(with_path).collect();
    let mut profile = DiskspdProfile { time_spans: vec![span], ..settings.profile };
    globals.override_in(&mut profile);
    check(profile, globals.profile_only, warnings).map(|request| Parsed::Run(Box::new(request)))
}

fn first_reading<'a>(
    switches: &'a [Switch],
    surroundings: &Surroundings<'_>,
    warnings: &mut Vec<String>,
) -> Result<(Globals, Vec<&'a Switch>), CommandLineError> {
    let mut globals = Globals::default();
    let mut rest = Vec::new();
    for switch in switches {
        match switch.letter {
            ':' => globals.experiment_flags = Some(experiment_flags(switch)?),
            'b' => globals.block_bytes = Some(values::block_size(switch)?),
            'C' => globals.cooldown_s = Some(count_u32(switch, warnings)?),
            'd' => globals.duration_s = Some(count_u32(switch, warnings)?),
            'W' => globals.warmup_s = Some(count_u32(switch, warnings)?),
            'R' => globals.take_formats(switch)?,
            'v' => match switch.value.as_str() {
                "" => globals.verbose = true,
                "s" => globals.verbose_stats = true,
                _ => return Err(switch.bad("write -v or -vs")),
            },
            'X' if globals.profile_path.is_some() => {
                return Err(switch.conflict("an XML profile was already given"));
            }
            'X' if switch.value.is_empty() => return Err(switch.bad("write the profile's file name: -XFILE")),
            'X' => globals.profile_path = Some(switch.value.clone()),
            'z' if switch.value.is_empty() => globals.seed = Some(surroundings.clock_seed),
            'z' => globals.seed = Some(values::seed(switch)?),
            _ => rest.push(switch),
        }
    }
    if globals.profile_path.is_some()
        && let Some(block) = switches.iter().find(|switch| switch.letter == 'b')
    {
        return Err(block.conflict("it cannot be given with an XML profile (-X), which holds it"));
    }
    Ok((globals, rest))
}

impl Globals {
    fn take_formats(&mut self, switch: &Switch) -> Result<(), CommandLineError> {
        let word = switch.value.strip_prefix('p').unwrap_or(&switch.value);
        self.profile_only |= word.len() < switch.value.len();
        if word.is_empty() && self.profile_only {
            return Ok(());
        }
        let formats = ResultFormats::from_word(word).ok_or_else(|| {
            switch.bad("write -Rtext, -Rxml, both as -Rtext,xml, or -Rp before any of them")
        })?;
        self.formats = Some(formats);
        Ok(())
    }

    fn override_in(&self, profile: &mut DiskspdProfile) {
        profile.experiment_flags = self.experiment_flags.unwrap_or(profile.experiment_flags);
        profile.result_formats = self.formats.unwrap_or(profile.result_formats);
        profile.verbose |= self.verbose;
        profile.verbose_stats |= self.verbose_stats;
        for span in &mut profile.time_spans {
            span.cooldown_s = self.cooldown_s.unwrap_or(span.cooldown_s);
            span.duration_s = self.duration_s.unwrap_or(span.duration_s);
            span.warmup_s = self.warmup_s.unwrap_or(span.warmup_s);
            span.seed = self.seed.unwrap_or(span.seed);
        }
    }
}

impl ProfileFile {
    /// Reads the profile from the file's bytes, fills in its templates, and applies the command line's
    /// overrides.
    pub fn apply(&self, bytes: &[u8]) -> Result<Request, CommandLineError> {
        let mut profile = read_profile(bytes)
            .map_err(|source| CommandLineError::Profile { path: self.path.clone(), source })?;
        let mut used = 0;
        for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
            let Some(number) = target.template_number() else { continue };
            if let Some(path) = self.targets.get(number - 1) {
                target.path.clone_from(path);
                used = used.max(number);
            }
        }
        if used < self.targets.len() {
            return Err(CommandLineError::TargetWithoutTemplate { path: self.targets[used].clone() });
        }
        self.globals.override_in(&mut profile);
        check(profile, self.profile_only, self.warnings.clone())
    }
}

/// The checks for every profile, whatever its origin. A template may stay open only if nothing runs.
fn check(
    profile: DiskspdProfile,
    profile_only: bool,
    mut warnings: Vec<String>,
) -> Result<Request, CommandLineError> {
    let mut violations = validate(&profile);
    let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    if !profile_only {
        let open = targets.filter(|target| target.template_number().is_some());
        let as_violation =
            |target: &DiskspdTarget| super::Violation::OpenTemplate { path: target.path.clone() };
        violations.extend(open.map(as_violation));
    }
    if !violations.is_empty() {
        return Err(CommandLineError::Invalid(violations));
    }
    let (refused, unsupported): (Vec<_>, Vec<_>) =
        Unsupported::all_in(&profile).into_iter().partition(Unsupported::is_refused);
    if !refused.is_empty() && !profile_only {
        return Err(CommandLineError::Refused(refused));
    }
    warnings.extend(advice(&profile));
    let unsupported = refused.into_iter().chain(unsupported).collect();
    Ok(Request { profile, profile_only, warnings, unsupported })
}
