//! Words of BACKUP in T-SQL, and options of backup tools.

use iostall_measure::foreign::shell_word;

use super::answer::Answer;

const PASSWORD: &str = "a password on the command line can be read by every user of the machine: --passphrase-file FILE, \
                        --passphrase-fd N, or --passphrase to be asked; or keys, with --encrypt-to";
const ENCRYPT: &str = "for whom? --encrypt-to age1… names a public key (`age-keygen` makes one), --passphrase-file FILE a passphrase";
const STRIPES: &str =
    "each stripe is a file with a name, on a device of its own: --to /b1/shop.iob --to /b2/shop.iob";
const GIVE_WAY: &str = "a fixed rate is --limit 200MB/s; --yield-to SOURCE --require 'commit.p95<5ms' slows down before the users of a \
                        database wait longer than that, and takes what they leave";
const ALIGNMENT: &str = "everything in a stripe is aligned to 4096 bytes; the size of a request is --transfer (BACKUP's \
                         MAXTRANSFERSIZE), that of a checksum --frame";
const VERB: &str = "backup has verbs: `iostall backup create --to FILE SOURCE` makes one; `iostall backup --help` lists them";

/// What an option of a tool is here.
enum Meaning {
    Default,
    Flag(&'static str),
    Value(&'static str),
    /// A level of zstd.
    Level,
    No(&'static str),
}

fn meaning(name: &str) -> Option<Meaning> {
    use Meaning::{Default, Flag, Level, No, Value};
    Some(match name {
        "threads" | "jobs" | "j" | "process-max" | "parallel" => Value("--workers"),
        "buffercount" | "buffer-count" => Value("--buffers"),
        "maxtransfersize" | "max-transfer-size" | "transfer-size" => Value("--transfer"),
        "compression-level" | "compress-level" => Level,
        "compression" => Flag("--compress zstd"),
        "no_compression" | "no-compression" => Flag("--compress none"),
        "output" | "o" | "f" | "file" | "dest" | "destination" | "d" | "pgdata" | "target" | "r" | "repo" => {
            Value("--to")
        }
        "tablespace-mapping" | "T" => Value("--tablespace"),
        "rate" | "bwlimit" | "max-rate" | "limit-upload" => Value("--limit"),
        "checksum" | "init" | "format" | "noformat" | "noinit" | "skip" | "copy_only" | "copy-only"
        | "verbose" | "v" | "progress" => Default,
        "password" | "pass" | "mediapassword" => No(PASSWORD),
        "encrypt" | "encryption" => No(ENCRYPT),
        "throttle" | "max-load" | "critical-load" => No(GIVE_WAY),
        "stripes" | "stripe" | "files" | "number-of-files" => No(STRIPES),
        "blocksize" | "block-size" | "bs" => No(ALIGNMENT),
        _ => return None,
    })
}

/// What the words behind `backup` mean.
pub(super) fn answer(words: &[String]) -> Option<Answer> {
    let first = words.first()?;
    match &*first.to_ascii_lowercase() {
        "database" | "log" => Some(of_sql(words)),
        "create" | "tune" | "drill" | "restore" | "verify" | "list" | "prune" | "plan" => {
            of_options(first, &words[1..])
        }
        // Their options are those of BACKUP, and of PostgreSQL's commands.
        "run" | "wal" => None,
        verb if !verb.starts_with('-') => Some(Answer::No(VERB.to_owned())),
        _ => Some(of_options("create", words).unwrap_or_else(|| Answer::No(VERB.to_owned()))),
    }
}

/// Options with our verb; `None` where none of them is another tool's.
fn of_options(verb: &str, words: &[String]) -> Option<Answer> {
    let (mut line, mut left_out) = (vec![format!("iostall backup {verb}")], Vec::new());
    let mut understood = false;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let option =
            word.strip_prefix("--").or_else(|| word.strip_prefix('-')).filter(|name| !name.is_empty());
        let Some(option) = option else {
            line.push(shell_word(word));
            continue;
        };
        let (name, inline) =
            option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let Some(meaning) = meaning(name) else {
            line.push(shell_word(word));
            continue;
        };
        understood = true;
        let mut value =
            || inline.map(str::to_owned).or_else(|| rest.next().cloned()).unwrap_or_else(|| "N".to_owned());
        match meaning {
            Meaning::Default => left_out.push(word.clone()),
            Meaning::Flag(ours) => line.push(ours.to_owned()),
            Meaning::Value(ours) => line.push(format!("{ours} {}", shell_word(&value()))),
            Meaning::Level => line.push(format!("--compress zstd:{}", shell_word(&value()))),
            Meaning::No(reason) => return Some(Answer::No(format!("{word}: {reason}"))),
        }
    }
    understood.then(|| Answer::line(line.join(" "), left_out))
}

/// `BACKUP DATABASE shop TO DISK = '/b1/shop.bak', DISK = … WITH COMPRESSION, STATS = 10`.
fn of_sql(words: &[String]) -> Answer {
    let text = words.join(" ").replace([',', ';'], " ").replace('=', " = ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let value_of = |at: usize| match words.get(at + 1) {
        Some(&"=") => words.get(at + 2).copied(),
        other => other.copied(),
    };
    let (mut files, mut options) = (Vec::new(), Vec::new());
    for (at, word) in words.iter().enumerate() {
        let value = value_of(at).map(|value| value.trim_matches(['\'', '"']));
        let number = value.filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
        match (&*word.to_ascii_lowercase(), number) {
            ("disk", _) => files.extend(value.map(shell_word)),
            ("compression", _) => options.push("--compress zstd".to_owned()),
            ("no_compression", _) => options.push("--compress none".to_owned()),
            ("stats", number) => options.push(format!("--stats {}", number.unwrap_or("10"))),
            ("buffercount", Some(number)) => options.push(format!("--buffers {number}")),
            ("maxtransfersize", Some(number)) => options.push(format!("--transfer {number}")),
            _ => {}
        }
    }
    let to: Vec<String> = files.iter().map(|file| format!("--to {file}")).collect();
    let to = if to.is_empty() { vec!["--to FILE".to_owned()] } else { to };
    let line =
        [vec!["iostall backup create".to_owned()], to, options, vec!["SOURCE".to_owned()]].concat().join(" ");
    Answer::Line { line, left_out: Vec::new(), note: Some(OWN_BACKUP.to_owned()) }
}

const OWN_BACKUP: &str = "SOURCE is a directory, a file or a snapshot of this machine. SQL Server backs up a database itself: \
                          iostall backup run --sqlserver sqlserver://USER@HOST --database NAME --to PATH";
