//! Words of cp, rsync, rclone and robocopy for a copy.

use iostall_measure::WindowsPath;
use iostall_measure::foreign::shell_word;

use super::answer::Answer;

/// Whose words they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    /// cp or mv.
    Cp,
    /// rsync.
    Rsync,
    /// rclone.
    Rclone,
    /// Not said: they stand behind `iostall copy`.
    Any,
}

/// What an option means here.
enum Meaning {
    /// It is so anyway, or it changes nothing.
    Default,
    /// Options of ours.
    Words(&'static str),
    /// One of ours with the same value.
    Value(&'static str),
    /// A rate; without a unit of so many bytes a second.
    Rate(&'static str),
    /// Nothing here does it, and the copy is what it is without.
    Without(&'static str),
    /// Nothing here does it.
    No(&'static str),
}

use Meaning::{Default as Anyway, No, Rate, Value, Without, Words};

const NO_DELETE: &str = "nothing is deleted at the destination: a copy adds and, with --overwrite, replaces";
const NO_DRY_RUN: &str = "there is no dry run; without --overwrite nothing that exists is changed, and without room nothing is begun";
const NO_CHOICE: &str = "files are chosen by naming them: iostall copy a/*.mdf b/";
pub(super) const NO_MOVE: &str =
    "sources are never removed: copy with --verify, and remove them when it has ended with 0";
const NO_UPDATE: &str =
    "a copy does not compare ages: --resume keeps files that are equal, and --overwrite replaces the others";
const NO_PARENTS: &str =
    "the directories above a source are not made again at the destination: name that place in full";
/// rsync with a slash behind a source, rclone and robocopy copy what is in a directory.
const CONTENTS: &str = "if the destination exists, a directory goes into it; DIRECTORY/* is what is in it";
const NO_REMOTE: &str =
    "both sides of a copy are directories of this machine: mount the other machine's (sshfs, NFS, SMB)";
const NO_LINKS: &str = "links are not made in place of copies";
const NO_ASKING: &str = "nothing is asked: what exists stays, unless --overwrite is there";
const NO_RETRY: &str =
    "nothing is tried again by itself; the same command once more goes on where the first ended";
const NO_BACKUP: &str =
    "what is replaced is not kept under another name; without --overwrite nothing is replaced";

/// Long options, without their hyphens, and whether a value follows.
fn long(tool: Tool, name: &str) -> Option<(Meaning, bool)> {
    let flag = |meaning| Some((meaning, false));
    let valued = |meaning| Some((meaning, true));
    match name {
        "recursive" | "archive" | "verbose" | "progress" | "human-readable" | "partial" | "whole-file"
        | "hard-links" | "acls" | "xattrs" | "times" | "owner" | "group" | "perms" | "links"
        | "numeric-ids" | "inplace" | "compress" | "stats" | "no-clobber" | "ignore-existing"
        | "itemize-changes" | "fsync" | "preallocate" | "append" | "append-verify" | "no-dereference"
        | "no-whole-file" | "omit-dir-times" | "executability" | "atimes" | "preserve" | "sparse"
        | "immutable" | "no-traverse" | "metadata" => flag(Anyway),
        "info"
        | "out-format"
        | "checkers"
        | "buffer-size"
        | "stats-one-line"
        | "use-mmap"
        | "partial-dir"
        | "temp-dir"
        | "block-size"
        | "log-level"
        | "multi-thread-streams"
        | "multi-thread-cutoff"
        | "no-preserve"
        | "context"
        | "stats-unit"
        | "compress-level"
        | "timeout"
        | "outbuf" => valued(Anyway),
        "quiet" => flag(Words("--quiet")),
        "dereference" | "copy-links" => flag(Words("--symlinks follow")),
        "one-file-system" => flag(Words("--one-file-system")),
        "force" if tool == Tool::Rsync => flag(No(NO_DELETE)),
        "force" | "ignore-times" | "remove-destination" => flag(Words("--overwrite")),
        "checksum" => flag(Words("--verify")),
        "reflink" => flag(Words("--reflink always")),
        "transfers" => valued(Value("--workers")),
        "bwlimit" => valued(Rate("K")),
        "log-file" => valued(Value("--json")),
        "dry-run" | "list-only" => flag(No(NO_DRY_RUN)),
        "update" | "existing" | "size-only" => flag(No(NO_UPDATE)),
        "exclude" | "include" | "filter" | "files-from" | "exclude-from" | "include-from" | "max-size"
        | "min-size" | "max-age" | "min-age" | "max-depth" => valued(No(NO_CHOICE)),
        "remove-source-files" | "delete-empty-src-dirs" => flag(No(NO_MOVE)),
        "rsh" | "rsync-path" => valued(No(NO_REMOTE)),
        "link" | "symbolic-link" => flag(No(NO_LINKS)),
        "link-dest" | "compare-dest" | "copy-dest" => valued(No(NO_LINKS)),
        "parents" | "relative" => flag(No(NO_PARENTS)),
        "interactive" => flag(No(NO_ASKING)),
        "backup" => flag(No(NO_BACKUP)),
        "suffix" | "backup-dir" => valued(No(NO_BACKUP)),
        "retries" | "low-level-retries" | "retries-sleep" => valued(Without(NO_RETRY)),
        _ if name == "del" || name.starts_with("delete") => flag(No(NO_DELETE)),
        _ => None,
    }
}

/// The long option that a letter of `tool` is.
fn letter(tool: Tool, letter: char) -> Option<&'static str> {
    let rsync = matches!(tool, Tool::Rsync | Tool::Any);
    Some(match (letter, tool) {
        ('P', Tool::Cp) => "no-dereference",
        ('P', _) => "partial",
        ('n', Tool::Cp) => "no-clobber",
        ('n', _) => "dry-run",
        ('l' | 's', Tool::Cp) => "link",
        ('i', Tool::Cp) => "interactive",
        ('R', Tool::Rsync) => "relative",
        ('r' | 'R', _) => "recursive",
        ('a', _) => "archive",
        ('v', _) => "verbose",
        ('p', _) => "perms",
        ('u', _) => "update",
        ('x', _) => "one-file-system",
        ('L', _) => "dereference",
        ('f', Tool::Cp | Tool::Any) => "force",
        ('d' | 'H' | 'T' | 'Z', Tool::Cp) => "links",
        ('q', _) => "quiet",
        ('c', _) => "checksum",
        ('I', _) => "ignore-times",
        ('b', _) => "backup",
        (
            'h' | 'z' | 'W' | 'S' | 'H' | 'A' | 'X' | 't' | 'o' | 'g' | 'l' | 'D' | 'i' | 'y' | 'E' | 'U'
            | 'N' | 'O' | 'J',
            _,
        ) if rsync => "times",
        ('m', Tool::Rsync) => "times",
        ('e', _) if rsync => "rsh",
        _ => return None,
    })
}

/// A copy, as far as its words were read.
#[derive(Default)]
struct CopyLine {
    options: Vec<String>,
    paths: Vec<String>,
    left_out: Vec<String>,
    refused: Vec<String>,
    understood: bool,
    /// What is in a directory is meant, and not the directory.
    contents: bool,
}

impl CopyLine {
    fn put(&mut self, word: &str, meaning: &Meaning, value: Option<&str>) {
        self.understood = true;
        match meaning {
            Anyway => self.left_out.push(word.to_owned()),
            Without(reason) => self.left_out.push(format!("{word} ({reason})")),
            Words(words) => {
                let words = match (value, *words) {
                    (Some(value), "--reflink always") => format!("--reflink {value}"),
                    (_, words) => words.to_owned(),
                };
                self.option(words);
            }
            Value(option) => self.option(format!("{option} {}", shell_word(value.unwrap_or("VALUE")))),
            Rate(unit) => self.option(format!("--limit {}", rate(value.unwrap_or("10M"), unit))),
            No(reason) => {
                let text = format!("{word}: {reason}");
                if !self.refused.iter().any(|said| said.ends_with(reason)) {
                    self.refused.push(text);
                }
            }
        }
    }

    fn option(&mut self, option: String) {
        if !self.options.contains(&option) {
            self.options.push(option);
        }
    }

    fn answer(mut self) -> Option<Answer> {
        if !self.understood {
            return None;
        }
        if self.paths.iter().any(|path| is_remote(path))
            && !self.refused.iter().any(|said| said.ends_with(NO_REMOTE))
        {
            self.refused.push(NO_REMOTE.to_owned());
        }
        if !self.refused.is_empty() {
            return Some(Answer::No(self.refused.join("; ")));
        }
        let mut words = vec!["iostall copy".to_owned()];
        words.append(&mut self.options);
        let places: &[&str] = match self.paths.len() {
            0 => &["SOURCE", "DESTINATION"],
            1 => &["DESTINATION"],
            _ => &[],
        };
        words.extend(
            self.paths.iter().map(|path| if path.contains('*') { path.clone() } else { shell_word(path) }),
        );
        words.extend(places.iter().map(|place| (*place).to_owned()));
        let note = self.contents.then_some(CONTENTS);
        Some(Answer::Line { line: words.join(" "), left_out: self.left_out, note })
    }
}

/// `10M`, or `5000` of `unit`, as a rate of ours.
fn rate(value: &str, unit: &str) -> String {
    let unit = if value.ends_with(|last: char| last.is_ascii_digit()) { unit } else { "" };
    format!("{}{unit}/s", value.to_ascii_uppercase())
}

/// `host:path`, `remote:bucket`, `rsync://…`; a path of Windows' is another matter.
fn is_remote(path: &str) -> bool {
    let before = path.split('/').next().unwrap_or_default();
    before.contains(':') && WindowsPath::of(path).is_none()
}

/// What `words` mean behind `iostall copy`.
pub(super) fn answer(tool: Tool, words: &[String]) -> Option<Answer> {
    if tool == Tool::Any && words.iter().any(|word| is_switch(word)) {
        return robocopy(words);
    }
    let mut line = CopyLine { understood: tool != Tool::Any, ..CopyLine::default() };
    let mut destination = None;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) {
            let (name, value) =
                name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
            if name == "target-directory" {
                destination = value.map(str::to_owned).or_else(|| rest.next().cloned());
                continue;
            }
            let (meaning, takes_value) = long(tool, name).or_else(|| ours(name))?;
            let value = value.or_else(|| takes_value.then(|| rest.next().map(String::as_str)).flatten());
            line.put(&format!("--{name}"), &meaning, value);
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            for one in letters.chars() {
                if one == 't' && tool == Tool::Cp {
                    destination = rest.next().cloned();
                    continue;
                }
                let (meaning, takes_value) = long(tool, letter(tool, one)?)?;
                let value = takes_value.then(|| rest.next().map(String::as_str)).flatten();
                line.put(&format!("-{one}"), &meaning, value);
            }
        } else {
            line.paths.push(word.clone());
        }
    }
    line.paths.extend(destination);
    let has_slash = || line.paths.iter().rev().skip(1).any(|path| path.ends_with('/'));
    line.contents = tool == Tool::Rclone || (tool == Tool::Rsync && has_slash());
    line.answer()
}

/// Options of ours that stand beside another tool's.
fn ours(name: &str) -> Option<(Meaning, bool)> {
    Some(match name {
        "verify" => (Words("--verify"), false),
        "overwrite" => (Words("--overwrite"), false),
        "resume" => (Words("--resume"), false),
        "limit" => (Value("--limit"), true),
        "manifest" => (Value("--manifest"), true),
        "json" => (Value("--json"), true),
        _ => return None,
    })
}

/// rclone has commands of its own.
pub(super) fn rclone(words: &[String]) -> Option<Answer> {
    let place = words.iter().position(|word| !word.starts_with('-'))?;
    let mut rest = words.to_vec();
    match rest.remove(place).as_str() {
        "copy" | "copyto" => answer(Tool::Rclone, &rest),
        "sync" => Some(Answer::No(NO_DELETE.to_owned())),
        "move" | "moveto" => Some(Answer::No(NO_MOVE.to_owned())),
        "check" => Some(Answer::No(
            "iostall copy --manifest m.json makes a list of checksums, and iostall verify m.json checks files against it".to_owned(),
        )),
        _ => None,
    }
}

/// Whether `word` is a switch of robocopy's.
pub(super) fn is_switch(word: &str) -> bool {
    switch(word).is_some()
}

/// The name of a switch of robocopy's in upper case, and its value.
fn switch(word: &str) -> Option<(String, Option<&str>)> {
    let name = word.strip_prefix('/').filter(|name| !name.contains('/'))?;
    let (name, value) = name.split_once(':').map_or((name, None), |(name, value)| (name, Some(value)));
    let upper = name.to_ascii_uppercase();
    meaning_of_switch(&upper).is_some().then_some((upper, value))
}

fn meaning_of_switch(name: &str) -> Option<Meaning> {
    Some(match name {
        "E" | "S" | "Z" | "ZB" | "B" | "J" | "COPY" | "COPYALL" | "DCOPY" | "SEC" | "NP" | "NFL" | "NDL"
        | "NJH" | "NJS" | "V" | "TS" | "FP" | "BYTES" | "ETA" | "TEE" | "UNICODE" | "REG" | "TBD" | "FFT"
        | "DST" | "256" | "SL" | "X" | "COMPRESS" | "NOOFFLOAD" | "SPARSE" | "TIMFIX" | "SECFIX"
        | "NODCOPY" | "XJ" | "XJD" | "XJF" | "Y" | "I" | "H" | "K" => Anyway,
        "MT" => Value("--workers"),
        "LOG" | "LOG+" | "UNILOG" | "UNILOG+" => Value("--json"),
        "IORATE" | "THRESHOLD" => Rate("K"),
        "IS" | "IT" | "IM" => Words("--overwrite"),
        "MIR" | "PURGE" => No(NO_DELETE),
        "MOV" | "MOVE" => No(NO_MOVE),
        "L" | "QUIT" => No(NO_DRY_RUN),
        "XO" | "XN" | "XC" | "XL" | "XX" => No(NO_UPDATE),
        "XF" | "XD" | "IF" | "MAX" | "MIN" | "MAXAGE" | "MINAGE" | "MAXLAD" | "MINLAD" | "LEV" | "A"
        | "M" | "IA" | "XA" => No(NO_CHOICE),
        "R" | "W" => Without(NO_RETRY),
        "IPG" => No("a rate is --limit, such as --limit 50MB/s"),
        "MON" | "MOT" | "RH" | "PF" => No("a timer starts it again: systemd or cron"),
        "CREATE" => No("a tree is copied with what is in its files"),
        _ => return None,
    })
}

/// robocopy and xcopy: a directory, where it goes, and which files of it.
pub(super) fn robocopy(words: &[String]) -> Option<Answer> {
    let mut line = CopyLine { understood: true, contents: true, ..CopyLine::default() };
    let mut names = Vec::new();
    for word in words {
        match switch(word) {
            Some((name, value)) => {
                let meaning = meaning_of_switch(&name)?;
                let value = match (name.as_str(), value) {
                    ("MT", None) => Some("8"),
                    (_, value) => {
                        value.map(|value| if WindowsPath::of(value).is_some() { "log.json" } else { value })
                    }
                };
                line.put(word, &meaning, value);
            }
            None if word.starts_with('/') && !word[1..].contains('/') && line.paths.len() >= 2 => {
                return None;
            }
            None if line.paths.len() < 2 => {
                let place = if line.paths.is_empty() { "SOURCE" } else { "DESTINATION" };
                let at_home = WindowsPath::of(word).is_none() && !word.contains('\\');
                line.paths.push(if at_home { word.clone() } else { place.to_owned() });
            }
            None => names.push(word.clone()),
        }
    }
    if let [source, destination] = line.paths.as_slice()
        && !names.is_empty()
    {
        let of_source = names.iter().map(|name| format!("{source}/{name}"));
        line.paths = of_source.chain([destination.clone()]).collect();
        line.contents = false;
    }
    line.answer()
}
