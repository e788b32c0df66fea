//! Words of fio, DiskSpd and SQLIO for a load.

use clap::CommandFactory;
use iostall_diskspd::command_line::{Surroundings, in_diskspds_words};
use iostall_load::fio::{Effect, FioEngine, FioError, FioJob, to_options, to_words};

use super::answer::{Answer, quoted};
use crate::cli::Cli;

/// What the options of a load are called in fio, and in ours.
const NAMES: [(&str, &[&str]); 22] = [
    ("rw", &["access", "write-pct"]),
    ("readwrite", &["access", "write-pct"]),
    ("rwmixread", &["write-pct"]),
    ("rwmixwrite", &["write-pct"]),
    ("bs", &["block-size"]),
    ("blocksize", &["block-size"]),
    ("bssplit", &["block-size"]),
    ("iodepth", &["queue-depth"]),
    ("numjobs", &["workers"]),
    ("runtime", &["duration"]),
    ("ramp_time", &["warmup"]),
    ("direct", &["caching"]),
    ("buffered", &["caching"]),
    ("fsync", &["sync-every"]),
    ("fdatasync", &["sync-every"]),
    ("sync", &["durability"]),
    ("rate_iops", &["rate"]),
    ("rate_process", &["arrivals"]),
    ("random_distribution", &["distribution"]),
    ("percentage_random", &["random-pct"]),
    ("randseed", &["seed"]),
    ("buffer_compress_percentage", &["compressible-pct"]),
];

/// What `words` mean behind `iostall load`.
pub(super) fn answer(words: &[String]) -> Option<Answer> {
    sqlio(words).or_else(|| diskspd(words)).or_else(|| fio(words))
}

/// SQLIO's words, which DiskSpd has its own for.
pub(super) fn sqlio(words: &[String]) -> Option<Answer> {
    let line = in_diskspds_words(words)?;
    let is_translated = |letter: &str| ["k", "t", "s", "o", "f", "b", "B", "L"].contains(&letter);
    // -f64 is a stripe of 64 blocks; the order that is said is sequential then.
    let is_stripe = |word: &str| word.strip_prefix("-f").is_some_and(|factor| factor.parse::<u32>().is_ok());
    let is_known = |word: &str| word.get(1..2).is_some_and(is_translated) && !is_stripe(word);
    let is_left_out = |word: &&String| word.starts_with('-') && !is_known(word);
    let left_out = words.iter().filter(is_left_out).cloned().collect();
    Some(Answer::line(format!("iostall {line}"), left_out))
}

/// DiskSpd's words are read by a command of their own.
fn diskspd(words: &[String]) -> Option<Answer> {
    let is_short = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.len() > 1;
    let surroundings = Surroundings { exists: &|_| false, clock_seed: 0 };
    if !words.iter().any(is_short) || iostall_diskspd::parse(words, &surroundings).is_err() {
        return None;
    }
    Some(Answer::line(format!("iostall diskspd {}", quoted(words)), Vec::new()))
}

/// fio's options. Where they say what a whole job is, they are one, with fio's defaults; else each is put into our words by
/// itself, beside options that only we have.
fn fio(words: &[String]) -> Option<Answer> {
    const OF_A_JOB: [&str; 4] = ["rw", "readwrite", "ioengine", "filename"];
    let name_of = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    let plain = |word: &String| name_of(word).trim_start_matches('-').to_owned();
    let ours = options_of_load();
    let is_ours = |word: &String| ours.iter().find(|(known, _)| *known == name_of(word));
    let is_only_ours = |word: &String| is_ours(word).is_some() && !FioJob::knows(&plain(word));
    let is_whole = words.iter().any(|word| word.starts_with('-') && OF_A_JOB.contains(&plain(word).as_str()));
    let beside_ours = words.iter().any(is_only_ours);
    let mut line = FioLine::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let is_kept = if is_whole { is_only_ours(word) } else { beside_ours && is_ours(word).is_some() };
        if let Some((_, takes_value)) = is_ours(word).filter(|_| is_kept) {
            line.kept.push(word.clone());
            if *takes_value && !word.contains('=') {
                line.kept.extend(rest.next().cloned());
            }
        } else if !line.take(word, &mut rest) {
            if !is_whole {
                return None;
            }
            line.refused.push(format!("{} is no option of fio's that is known here", name_of(word)));
        }
    }
    line.answer(is_whole)
}

/// A line of fio's, as far as it was read.
#[derive(Default)]
struct FioLine {
    job: FioJob,
    jobs: usize,
    /// Options that the job has, by fio's names.
    given: Vec<String>,
    /// Words of ours.
    kept: Vec<String>,
    files: Vec<String>,
    left_out: Vec<String>,
    refused: Vec<String>,
}

impl FioLine {
    /// Takes an option, with one hyphen or two, and its value; or a file. Whether fio knows it.
    fn take<'a>(&mut self, word: &'a str, rest: &mut std::slice::Iter<'a, String>) -> bool {
        let Some(name) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            self.files.push(word.to_owned());
            return true;
        };
        let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
        let needs_value = || matches!(FioJob::default().take(name, None), Err(FioError::Value { .. }));
        let is_switched = || rest.as_slice().first().is_some_and(|next| next == "0" || next == "1");
        let follows = value.is_none() && FioJob::knows(name) && (needs_value() || is_switched());
        let value = if follows { rest.next().map(String::as_str) } else { value };
        self.jobs += usize::from(name == "name");
        match self.job.take(name, value) {
            Ok(Effect::Taken) => self.given.push(name.replace('-', "_")),
            Ok(Effect::None) => self.left_out.push(format!("--{name}")),
            Err(FioError::Unknown { .. }) => return false,
            Err(error) => self.refused.push(error.to_string()),
        }
        true
    }

    fn answer(mut self, is_whole: bool) -> Option<Answer> {
        let line = |words: &str, left_out| Answer::line(format!("iostall load {words}"), left_out);
        let nothing_given = self.given.is_empty() && self.refused.is_empty() && self.kept.is_empty();
        if nothing_given
            && let [file] = self.files.as_slice()
            && is_job_file(file)
        {
            return Some(line(&format!("--fio {}", quoted(&self.files)), self.left_out));
        }
        if self.given.is_empty() && self.refused.is_empty() && self.left_out.is_empty() {
            return None;
        }
        if self.jobs > 1 {
            self.refused
                .push("write several jobs to a job file, and give that to iostall load --fio".to_owned());
        }
        if !self.refused.is_empty() {
            return Some(Answer::No(self.refused.join("; ")));
        }
        if !is_whole && !self.kept.is_empty() {
            return Some(match beside_ours(&self) {
                Ok(words) => line(&words.join(" "), self.left_out),
                Err(error) => Answer::No(error.to_string()),
            });
        }
        self.job.files.append(&mut self.files);
        Some(match to_words(&self.job) {
            Ok((words, notes)) => Answer::Line {
                line: format!("iostall load {}", [self.kept, words].concat().join(" ")),
                left_out: self.left_out,
                note: (!notes.is_empty()).then(|| format!("not as fio does it: {}", notes.join("; "))),
            },
            Err(error) => Answer::No(error.to_string()),
        })
    }
}

/// Only what was given, behind the words that are ours already.
fn beside_ours(line: &FioLine) -> Result<Vec<String>, FioError> {
    let asked = |option: &str| {
        line.given.iter().any(|name| {
            name == option || NAMES.iter().any(|(theirs, ours)| name == theirs && ours.contains(&option))
        })
    };
    // What fio's engine does with a depth is of no interest beside our own words.
    let mut deep = line.job.clone();
    deep.engine = FioEngine::Async;
    // A mix without `rw` is that of whatever it stands beside.
    if line.given.iter().any(|name| name == "rwmixread" || name == "rwmixwrite") {
        deep.mix();
    }
    let options = to_options(&deep)?.into_iter().filter(|(name, _)| asked(name));
    let translated = options.flat_map(|(name, value)| [format!("--{name}"), value]);
    let files = line.job.files.iter().chain(&line.files).cloned();
    Ok(line.kept.iter().cloned().chain(translated).chain(files).collect())
}

fn is_job_file(file: &str) -> bool {
    [".fio", ".job", ".ini", ".conf"].iter().any(|end| file.ends_with(end))
}

/// The options of a load as they are typed, and whether a value follows.
fn options_of_load() -> Vec<(String, bool)> {
    let mut command = Cli::command();
    command.build();
    let Some(load) = command.find_subcommand("load") else { return Vec::new() };
    let spelled = |argument: &clap::Arg| {
        let short = argument.get_short().map(|letter| format!("-{letter}"));
        let takes_value = argument.get_action().takes_values();
        let long = argument.get_long().map(|name| format!("--{name}"));
        [short, long].into_iter().flatten().map(move |name| (name, takes_value)).collect::<Vec<_>>()
    };
    load.get_arguments().flat_map(spelled).collect()
}
