//! The grammar of `postgresql.conf` and `postmaster.opts`, as far as settings need it.
//!
//! From PostgreSQL's manual, "Parameter Interaction via the Configuration File", and `src/backend/utils/misc/guc-file.l`: a line
//! is `name value` or `name = value`, with `#` before a comment; names ignore case; values with other characters than letters and
//! digits are in quotes, in which two quotes or a backslash and a quote are one quote; the last of several values counts.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigLine {
    Setting {
        /// In lower case.
        name: String,
        value: String,
    },
    /// Another file is read in place of this line.
    Include { kind: IncludeKind, path: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeKind {
    File,
    /// No error if it does not exist.
    FileIfExists,
    /// The files `*.conf` in a directory, in order of their names.
    Directory,
}

/// What one line says; `None` for an empty line, a comment, or a line that PostgreSQL would refuse.
pub fn config_line(line: &str) -> Option<ConfigLine> {
    let line = line.trim_start();
    let name_end = line.find(|c: char| !is_name(c)).unwrap_or(line.len());
    let (name, rest) = line.split_at(name_end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let (value, after) = value(rest)?;
    let after = after.trim_start();
    if !after.is_empty() && !after.starts_with('#') {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let kind = match name.as_str() {
        "include" => IncludeKind::File,
        "include_if_exists" => IncludeKind::FileIfExists,
        "include_dir" => IncludeKind::Directory,
        _ => return Some(ConfigLine::Setting { name, value }),
    };
    Some(ConfigLine::Include { kind, path: value })
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '$')
}

/// The value that `text` begins with, and the rest of the line.
fn value(text: &str) -> Option<(String, &str)> {
    if let Some(quoted) = text.strip_prefix('\'') {
        return quoted_value(quoted);
    }
    let end = text.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(text.len());
    let (value, rest) = text.split_at(end);
    (!value.is_empty() && !value.contains('\'')).then(|| (value.to_owned(), rest))
}

fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let end = rest.find(['\'', '\\'])?;
        value.push_str(&rest[..end]);
        let (special, after) = rest[end..].split_at(1);
        rest = after;
        if special == "\\" {
            rest = unescape(rest, &mut value)?;
        } else if let Some(after) = rest.strip_prefix('\'') {
            value.push('\'');
            rest = after;
        } else {
            return Some((value, rest));
        }
    }
}

/// Adds the character that an escape stands for to `value`; returns what follows it.
fn unescape<'t>(text: &'t str, value: &mut String) -> Option<&'t str> {
    let digits = text.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    if digits > 0 {
        let (octal, rest) = text.split_at(digits);
        value.push(char::from(u8::try_from(u32::from_str_radix(octal, 8).ok()? & 0xff).ok()?));
        return Some(rest);
    }
    let mut characters = text.chars();
    value.push(match characters.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        other => other,
    });
    Some(characters.as_str())
}

/// The settings on the command line of a server, as `postmaster.opts` has it: the program, then each word in double quotes.
pub fn command_line_settings(text: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = text.trim_end().split('"').skip(1).step_by(2).collect();
    let mut settings = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let assignment = match word {
            "-c" => words.next(),
            "-F" => Some("fsync=off"),
            // The other options of one letter that have a value.
            "-B" | "-D" | "-h" | "-k" | "-l" | "-N" | "-p" | "-S" | "-W" | "-C" => {
                words.next();
                None
            }
            word => word.strip_prefix("--").or_else(|| word.strip_prefix("-c")),
        };
        if let Some((name, value)) = assignment.and_then(|assignment| assignment.split_once('=')) {
            settings.push((name.trim().replace('-', "_").to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    settings
}

/// Whether a setting's value is false: `off`, `false`, `no`, `0`, or the start of one, as PostgreSQL takes it.
pub fn is_off(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    let starts = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    value == "0" || starts("false", 1) || starts("no", 1) || starts("off", 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(line: &str) -> Option<(String, String)> {
        match config_line(line)? {
            ConfigLine::Setting { name, value } => Some((name, value)),
            ConfigLine::Include { .. } => None,
        }
    }

    #[test]
    fn a_setting_is_read_in_every_form_that_the_manual_shows() {
        let expected = Some(("wal_sync_method".to_owned(), "open_datasync".to_owned()));
        for line in [
            "wal_sync_method = open_datasync",
            "wal_sync_method open_datasync",
            "  WAL_Sync_Method='open_datasync'   # the default is fdatasync",
            "wal_sync_method\t=\topen_datasync#no space",
            "wal_sync_method = 'open_datasync'",
        ] {
            assert_eq!(setting(line), expected, "{line}");
        }
        assert_eq!(setting("a.b = 'it''s \\'so\\' \\101'").unwrap().1, "it's 'so' A");
        for line in
            ["", "# wal_sync_method = fsync", "wal_sync_method", "= fsync", "fsync = 'off", "fsync = off on"]
        {
            assert_eq!(setting(line), None, "{line}");
        }
    }

    #[test]
    fn includes_are_no_settings() {
        let include = |line: &str| match config_line(line) {
            Some(ConfigLine::Include { kind, path }) => Some((kind, path)),
            _ => None,
        };
        assert_eq!(include("include_dir = 'conf.d'"), Some((IncludeKind::Directory, "conf.d".to_owned())));
        assert_eq!(include("include 'x.conf'"), Some((IncludeKind::File, "x.conf".to_owned())));
        assert_eq!(include("include_if_exists y.conf").unwrap().0, IncludeKind::FileIfExists);
    }

    /// Debian keeps the configuration outside the data directory, and names it on the command line.
    #[test]
    fn the_command_line_names_the_file_and_overrides_its_settings() {
        let line = "/usr/lib/postgresql/15/bin/postgres \"-D\" \"/var/lib/pg data\" \"-c\" \"config_file=/etc/x.conf\" \"-F\" \
                    \"--wal-sync-method=fsync\" \"-csynchronous_commit=off\"\n";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            command_line_settings(line),
            [
                pair("config_file", "/etc/x.conf"),
                pair("fsync", "off"),
                pair("wal_sync_method", "fsync"),
                pair("synchronous_commit", "off")
            ]
        );
        assert!(command_line_settings("postgres").is_empty() && command_line_settings("\"-c\"").is_empty());
    }

    #[test]
    fn off_has_many_spellings() {
        assert!(["off", "OFF", "of", "false", "f", "no", "n", "0"].into_iter().all(is_off));
        assert!(!["on", "o", "true", "yes", "1", "local", "remote_apply", ""].into_iter().any(is_off));
    }
}
