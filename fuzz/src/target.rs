//! What is fuzzed, and what each promises.

use iostall_diskspd::command_line::Surroundings;
use iostall_diskspd::xml::{read_profile, write_profile};
use iostall_diskspd::{
    DiskspdProfile, DiskspdTarget, EffectiveRange, Parsed, Unsupported, WriteBuffer, advice, parse, spell,
    to_profile, validate,
};

/// A reader of what strangers write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// DiskSpd's command line, words parted by blanks.
    CommandLine,
    /// DiskSpd's XML profile.
    XmlProfile,
}

impl Target {
    pub(crate) const ALL: [Self; 2] = [Self::CommandLine, Self::XmlProfile];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CommandLine => "DiskSpd command line",
            Self::XmlProfile => "DiskSpd XML profile",
        }
    }

    fn read(self, input: &[u8]) -> Option<DiskspdProfile> {
        match self {
            Self::CommandLine => match read_words(input)? {
                Parsed::Run(request) => Some(request.profile),
                Parsed::Usage | Parsed::ProfileFile(_) => None,
            },
            Self::XmlProfile => read_profile(input).ok(),
        }
    }

    /// Whether `input` is read as a profile.
    #[cfg(test)]
    pub(crate) fn accepts(self, input: &[u8]) -> bool {
        self.read(input).is_some()
    }

    /// Reads `input`; what is accepted must keep every promise.
    pub(crate) fn check(self, input: &[u8]) -> Result<(), String> {
        if self == Self::XmlProfile {
            // The way of -X: templates, overrides, and every check.
            if let Some(Parsed::ProfileFile(file)) = read_words(b"-Xp.xml -d1 -Rxml a b") {
                let _ = file.apply(input);
            }
        }
        match self.read(input) {
            Some(profile) => check_profile(self, &profile),
            None => Ok(()),
        }
    }
}

fn read_words(input: &[u8]) -> Option<Parsed> {
    let text = String::from_utf8_lossy(input);
    let words: Vec<String> = text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    parse(&words, &Surroundings { exists: &|path| path.len() == 3, clock_seed: 1 }).ok()
}

/// A profile survives XML; one that a command line gave can be said in one; one that is valid can be mapped or is
/// refused, and its distribution places all requests inside the target.
fn check_profile(target: Target, profile: &DiskspdProfile) -> Result<(), String> {
    let xml = write_profile(profile);
    // Characters that XML cannot hold at all are replaced; such a path comes back changed, and on purpose.
    let holds = |path: &str| path.chars().all(|c| c >= ' ' && c != '\u{FFFE}' && c != '\u{FFFF}');
    let source_holds = |target: &DiskspdTarget| match &target.write_buffer {
        WriteBuffer::Random { file: Some(file), .. } => holds(file),
        _ => true,
    };
    let mut targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    let paths_hold = targets.all(|target| holds(&target.path) && source_holds(target));
    match read_profile(xml.as_bytes()) {
        Ok(again) if again == *profile || !paths_hold => {}
        Ok(_) => return Err(format!("the profile changed on its way through XML:\n{xml}")),
        Err(error) => return Err(format!("its own XML is refused: {error}\n{xml}")),
    }
    // -Rp shows also what would be refused, and templates that are open.
    let open =
        profile.time_spans.iter().flat_map(|span| &span.targets).any(|it| it.template_number().is_some());
    let refused = open || Unsupported::all_in(profile).iter().any(Unsupported::is_refused);
    if target == Target::CommandLine && !refused && spell(profile).is_none() {
        return Err("what came from a command line cannot be said in one".to_owned());
    }
    let _ = advice(profile);
    if !validate(profile).is_empty() {
        return Ok(());
    }
    if let Err(error) = to_profile(profile)
        && error.to_string().is_empty()
    {
        return Err("refused without a word".to_owned());
    }
    for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
        for length_bytes in [0, 1, 65_536, 1 << 40, u64::MAX] {
            let ranges = target
                .access
                .distribution()
                .map(|it| it.effective(length_bytes, target.block_bytes, target.access.step_bytes()));
            check_ranges(&ranges.unwrap_or_default(), length_bytes)?;
        }
    }
    Ok(())
}

fn check_ranges(ranges: &[EffectiveRange], length_bytes: u64) -> Result<(), String> {
    let total: f64 = ranges.iter().map(|range| range.io_pct).sum();
    let inside = ranges.iter().all(|range| range.start < range.end && range.end <= length_bytes);
    if inside && (ranges.is_empty() || (total - 100.0).abs() < 1e-6) {
        return Ok(());
    }
    Err(format!("of {length_bytes} bytes: {ranges:?}"))
}
