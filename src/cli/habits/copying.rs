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
    /// A size.
    Size(&'static str),
    /// An age; without a unit in so many days.
    Age(&'static str),
    /// A length of time; without a unit in seconds.
    Seconds(&'static str),
    /// The destination becomes like the source, and loses what the source has not.
    Mirror,
    /// Nothing here does it.
    No(&'static str),
}

use Meaning::{Age, Default as Anyway, Mirror, No, Rate, Seconds, Size, Value, Words};

const NO_DELETE: &str =
    "files are deleted only with --mirror --delete DESTINATION, and then last, after everything was copied";
const NO_CHOICE: &str =
    "files are chosen with --include and --exclude, --min-size and --max-size, --newer-than and --older-than";
const NO_UPDATE: &str =
    "--update keeps what is equal or newer, --resume what is equal, and --overwrite replaces everything";
const NO_PARENTS: &str =
    "the directories above a source are not made again at the destination: name that place in full";
/// rsync with a slash behind a source, rclone and robocopy copy what is in a directory.
const CONTENTS: &str = "if the destination exists, a directory goes into it; DIRECTORY/* is what is in it";
const NO_REMOTE: &str =
    "both sides of a copy are directories of this machine: mount the other machine's (sshfs, NFS, SMB)";
const NO_LINKS: &str = "links are not made in place of copies";
const NO_ASKING: &str = "nothing is asked: what exists stays, unless --overwrite is there";
const NO_TIMETABLE: &str = "a rate is one for the whole copy: --limit 10MiB/s";
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
        | "itemize-changes" | "fsync" | "preallocate" | "no-dereference" | "no-whole-file"
        | "omit-dir-times" | "executability" | "atimes" | "preserve" | "sparse" | "immutable"
        | "no-traverse" | "metadata" => flag(Anyway),
        "info"
        | "low-level-retries"
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
        "checksum" => flag(Words("--overwrite --checksum")),
        "reflink" => flag(Words("--reflink always")),
        "transfers" => valued(Value("--workers")),
        "bwlimit" => valued(Rate("K")),
        "log-file" => valued(Value("--log")),
        "dry-run" | "list-only" => flag(Words("--dry-run")),
        "update" => flag(Words("--update")),
        "existing" | "size-only" => flag(No(NO_UPDATE)),
        "exclude" => valued(Value("--exclude")),
        "include" => valued(Value("--include")),
        "files-from" => valued(Value("--files-from")),
        "from0" => flag(Words("--null")),
        "max-size" => valued(Size("--max-size")),
        "min-size" => valued(Size("--min-size")),
        "max-age" => valued(Age("--newer-than")),
        "min-age" => valued(Age("--older-than")),
        "filter" | "exclude-from" | "include-from" | "max-depth" => valued(No(NO_CHOICE)),
        "remove-source-files" | "delete-empty-src-dirs" => flag(Words("--move")),
        "rsh" | "rsync-path" => valued(No(NO_REMOTE)),
        "link" | "symbolic-link" => flag(No(NO_LINKS)),
        "link-dest" | "compare-dest" | "copy-dest" => valued(No(NO_LINKS)),
        "parents" | "relative" => flag(No(NO_PARENTS)),
        "interactive" => flag(No(NO_ASKING)),
        // Their reason is to go on with an unfinished file.
        "append" | "append-verify" => flag(Words("--resume")),
        "no-target-directory" => flag(No(CONTENTS)),
        "backup" => flag(No(NO_BACKUP)),
        "suffix" | "backup-dir" => valued(No(NO_BACKUP)),
        "retries" => valued(Value("--retries")),
        "retries-sleep" => valued(Seconds("--retry-wait")),
        "delete-excluded" | "delete-missing-args" => flag(No(NO_DELETE)),
        _ if name == "del" || name.starts_with("delete") => flag(Mirror),
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
        ('T', Tool::Cp) => "no-target-directory",
        ('d' | 'H' | 'Z', Tool::Cp) => "links",
        ('q', _) => "quiet",
        ('c', _) => "checksum",
        ('0', _) if rsync => "from0",
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
    /// What the source does not have is deleted.
    mirrors: bool,
}

impl CopyLine {
    fn put(&mut self, word: &str, meaning: &Meaning, value: Option<&str>) {
        self.understood = true;
        match meaning {
            Anyway => self.left_out.push(word.to_owned()),
            Words(words) => {
                let words = match (value, *words) {
                    (Some(value), "--reflink always") => format!("--reflink {value}"),
                    (_, words) => words.to_owned(),
                };
                self.option(words);
            }
            Value(option) => self.option(format!("{option} {}", shell_word(value.unwrap_or("VALUE")))),
            Size(option) => {
                let size = value.unwrap_or("1G").to_ascii_uppercase();
                self.option(format!("{option} {}", shell_word(&size)));
            }
            Age(option) => self.option(format!("{option} {}", age(value.unwrap_or("7d")))),
            Seconds(option) => self.option(format!("{option} {}", seconds(value.unwrap_or("5s")))),
            Mirror => self.mirrors = true,
            Rate(_) if value.is_some_and(|value| value.contains([',', ' ', ':'])) => {
                self.put(word, &No(NO_TIMETABLE), None);
            }
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

    /// A mirror is the destination itself, which its consent names once more.
    fn mirror(&mut self) {
        // Whoever typed our word knows that it means the destination itself.
        self.contents |= self.options.iter().any(|option| option == "--mirror");
        self.option("--mirror".to_owned());
        if self.paths.len() > 2 {
            // The consent of ours.
            self.paths.remove(0);
        }
        if let [source, destination] = self.paths.as_mut_slice() {
            let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            if !self.contents {
                *destination = format!("{}/{name}", destination.trim_end_matches('/'));
            }
            *source = source.trim_end_matches('/').to_owned();
        }
        self.contents = false;
        let destination = self.paths.get(1).map_or("DESTINATION", String::as_str);
        let consent = format!("--delete {}", shell_word(destination));
        self.option(consent);
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
        if self.mirrors {
            self.mirror();
        }
        let has = |name: &str| self.options.iter().any(|option| option.starts_with(name));
        if has("--include") && !has("--exclude") {
            self.option("--include '*/' --exclude '*'".to_owned());
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

/// A length of time, in seconds if it has no unit.
fn seconds(value: &str) -> String {
    let unit = if value.ends_with(|last: char| last.is_ascii_digit()) { "s" } else { "" };
    shell_word(&format!("{value}{unit}"))
}

/// rclone's and robocopy's ages; robocopy's date has no hyphens.
fn age(value: &str) -> String {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    match value.len() {
        8 if is_number => format!("{}-{}-{}", &value[..4], &value[4..6], &value[6..]),
        _ if is_number => format!("{value}d"),
        _ => shell_word(value),
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
        if word == "--" {
            // A name that begins with a hyphen is an option to us, too, unless a directory stands before it.
            let named =
                |path: &String| if path.starts_with('-') { format!("./{path}") } else { path.clone() };
            line.paths.extend(rest.by_ref().map(named));
        } else if let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) {
            let (name, value) =
                name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
            if name == "target-directory" {
                destination = value.map(str::to_owned).or_else(|| rest.next().cloned());
                continue;
            }
            let own = ours(name).filter(|_| tool == Tool::Any);
            // Our own words are no reason to answer.
            let understood = line.understood || own.is_none();
            let (meaning, takes_value) = own.or_else(|| long(tool, name)).or_else(|| ours(name))?;
            let value = value.or_else(|| takes_value.then(|| rest.next().map(String::as_str)).flatten());
            line.put(&format!("--{name}"), &meaning, value);
            line.understood = understood;
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
    line.contents = tool == Tool::Rclone || (tool != Tool::Cp && has_slash());
    line.answer()
}

/// A copy whose sources are removed.
pub(super) fn moved(tool: Tool, words: &[String]) -> Option<Answer> {
    answer(tool, &[words, &["--remove-source-files".to_owned()]].concat())
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
        "log" => (Value("--log"), true),
        "include" => (Value("--include"), true),
        "exclude" => (Value("--exclude"), true),
        "min-size" => (Value("--min-size"), true),
        "max-size" => (Value("--max-size"), true),
        "newer-than" => (Value("--newer-than"), true),
        "older-than" => (Value("--older-than"), true),
        "files-from" => (Value("--files-from"), true),
        "retries" => (Value("--retries"), true),
        "retry-wait" => (Value("--retry-wait"), true),
        "null" => (Words("--null"), false),
        "update" => (Words("--update"), false),
        "checksum" => (Words("--checksum"), false),
        "mirror" => (Words("--mirror"), false),
        "move" => (Words("--move"), false),
        "dry-run" => (Words("--dry-run"), false),
        _ => return None,
    })
}

/// rclone has commands of its own.
pub(super) fn rclone(words: &[String]) -> Option<Answer> {
    let place = words.iter().position(|word| !word.starts_with('-'))?;
    let mut rest = words.to_vec();
    match rest.remove(place).as_str() {
        "copy" | "copyto" => answer(Tool::Rclone, &rest),
        "sync" => answer(Tool::Rclone, &[rest, vec!["--delete".to_owned()]].concat()),
        "move" | "moveto" => moved(Tool::Rclone, &rest),
        "check" => {
            let trees = rest.iter().filter(|word| !word.starts_with('-')).map(|word| shell_word(word));
            let trees: Vec<String> = trees.collect();
            Some(Answer::line(format!("iostall verify {}", trees.join(" ")), Vec::new()))
        }
        _ => None,
    }
}

/// Whether `word` is a switch of robocopy's.
pub(super) fn is_switch(word: &str) -> bool {
    switch(word).is_some()
}

/// The name of a switch of robocopy's in upper case, and its value.
fn switch(word: &str) -> Option<(String, Option<&str>)> {
    let name = word.strip_prefix('/')?;
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
        "LOG" | "LOG+" | "UNILOG" | "UNILOG+" => Value("--log"),
        "IORATE" | "THRESHOLD" => Rate("K"),
        "IS" | "IT" | "IM" => Words("--overwrite"),
        "MIR" | "PURGE" => Mirror,
        "MOV" | "MOVE" => Words("--move"),
        "L" | "QUIT" => Words("--dry-run"),
        "XO" => Words("--update"),
        "XN" | "XC" | "XL" | "XX" => No(NO_UPDATE),
        "MAX" => Size("--max-size"),
        "MIN" => Size("--min-size"),
        "MAXAGE" => Age("--newer-than"),
        "MINAGE" => Age("--older-than"),
        "XF" | "XD" => Value("--exclude"),
        "IF" | "MAXLAD" | "MINLAD" | "LEV" | "A" | "M" | "IA" | "XA" => No(NO_CHOICE),
        "R" => Value("--retries"),
        "W" => Seconds("--retry-wait"),
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
    // The words after /XF and /XD are patterns; those of directories end in a slash here.
    let mut excluded = None;
    for word in words {
        match switch(word) {
            Some((name, _)) if ["XF", "XD"].contains(&name.as_str()) => {
                excluded = Some(if name == "XD" { "/" } else { "" });
            }
            Some((name, value)) => {
                excluded = None;
                let meaning = meaning_of_switch(&name)?;
                let value = match (name.as_str(), value) {
                    ("MT", None) => Some("8"),
                    (_, value) => {
                        value.map(|value| if WindowsPath::of(value).is_some() { "copy.log" } else { value })
                    }
                };
                line.put(word, &meaning, value);
            }
            None if excluded.is_some() => {
                let pattern = format!("{word}{}", excluded.unwrap_or_default());
                line.option(format!("--exclude {}", shell_word(&pattern)));
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
