//! DiskSpd's command lines and XML profiles.

use iostall_diskspd::command_line::Surroundings;
use iostall_diskspd::xml::{read_profile, write_profile};
use iostall_diskspd::{
    DiskspdProfile, DiskspdTarget, EffectiveRange, Parsed, Unsupported, WriteBuffer, advice, parse,
    to_command_line, to_profile, validate,
};

/// Words separated by blanks, as a command line.
pub(crate) fn line(input: &[u8]) {
    if let Some(Parsed::Run(request)) = read_words(input) {
        check_profile(&request.profile, Origin::CommandLine);
    }
}

/// An XML profile, by itself and with the templates and overrides of `-X`.
pub(crate) fn xml(input: &[u8]) {
    if let Some(Parsed::ProfileFile(file)) = read_words(b"-Xp.xml -d1 -Rxml a b") {
        let _ = file.apply(input);
    }
    if let Ok(profile) = read_profile(input) {
        check_profile(&profile, Origin::Xml);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Origin {
    CommandLine,
    Xml,
}

fn read_words(input: &[u8]) -> Option<Parsed> {
    let text = String::from_utf8_lossy(input);
    let words: Vec<String> = text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    parse(&words, &Surroundings { exists: &|path| path.len() == 3, clock_seed: 1 }).ok()
}

/// A profile survives XML; one from a command line can be converted back to one; a valid one can be mapped or
/// is refused, and its distribution places all requests inside the target.
fn check_profile(profile: &DiskspdProfile, origin: Origin) {
    let xml = write_profile(profile);
    // Characters that XML cannot represent are replaced; such a path deliberately changes.
    let holds = |path: &str| path.chars().all(|c| c >= ' ' && c != '\u{FFFE}' && c != '\u{FFFF}');
    let source_holds = |target: &DiskspdTarget| match &target.write_buffer {
        WriteBuffer::Random { file: Some(file), .. } => holds(file),
        _ => true,
    };
    let mut targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    let paths_hold = targets.all(|target| holds(&target.path) && source_holds(target));
    match read_profile(xml.as_bytes()) {
        Ok(again) => {
            assert!(again == *profile || !paths_hold, "the profile changed on its way through XML:\n{xml}");
        }
        Err(error) => panic!("its own XML is refused: {error}\n{xml}"),
    }
    // -Rp also shows profiles that would be refused, and open templates.
    let open =
        profile.time_spans.iter().flat_map(|span| &span.targets).any(|it| it.template_number().is_some());
    let refused = open || Unsupported::all_in(profile).iter().any(Unsupported::is_refused);
    if origin == Origin::CommandLine && !refused {
        assert!(to_command_line(profile).is_some(), "what came from a command line cannot be written as one");
    }
    let _ = advice(profile);
    if !validate(profile).is_empty() {
        return;
    }
    if let Err(error) = to_profile(profile) {
        assert!(!error.to_string().is_empty(), "refused without a word");
    }
    for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
        for length_bytes in [0, 1, 65_536, 1 << 40, u64::MAX] {
            let ranges = target
                .access
                .distribution()
                .map(|it| it.effective(length_bytes, target.block_bytes, target.access.step_bytes()));
            check_ranges(&ranges.unwrap_or_default(), length_bytes);
        }
    }
}

fn check_ranges(ranges: &[EffectiveRange], length_bytes: u64) {
    let total: f64 = ranges.iter().map(|range| range.io_pct).sum();
    let inside = ranges.iter().all(|range| range.start < range.end && range.end <= length_bytes);
    assert!(
        inside && (ranges.is_empty() || (total - 100.0).abs() < 1e-6),
        "of {length_bytes} bytes: {ranges:?}"
    );
}
