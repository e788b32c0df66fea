//! Text from outside: names on servers and file systems, server messages, command-line arguments.
//!
//! An attacker may have chosen it. This module makes it safe to show on a terminal, to paste into a shell,
//! and to store.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// Longest server message that is shown, in characters; the rest is in the server's log.
const SAID_MAX: usize = 1_000;

/// Whether `character` may move the cursor, change colours, reverse the reading order or hide: control
/// characters (C0, DEL and C1), bidirectional marks, line and paragraph separators, tags, and zero-width
/// characters that make two names look the same. Joiners that some scripts need are safe.
fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Makes text safe to show on one line; unsafe characters are escaped, such as ` ` or `\u{1b}`.
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// Makes a message of several lines safe, such as one that shows a place in a file, and indents all lines but the first, so that
/// only that one looks like ours.
pub fn indented(text: &str) -> String {
    text.trim_end().lines().map(shown).collect::<Vec<_>>().join("\n    ")
}

/// Makes a server's message safe to show on one line of readable length.
pub fn said(text: &str) -> String {
    match text.char_indices().nth(SAID_MAX) {
        None => shown(text),
        Some((end, _)) => format!("{}…", shown(&text[..end])),
    }
}

/// Makes our own lines safe to show, whatever was put into them. Escapes what [`shown`] escapes except line
/// ends, tabs and, if `coloured`, the colours of reports.
pub fn guarded(text: &str, coloured: bool) -> Cow<'_, str> {
    if !text.contains(|c| is_unsafe(c) && c != '\n' && c != '\t') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let length = match colour_length(rest) {
            Some(length) if coloured => length,
            _ => character.len_utf8(),
        };
        let (part, after) = rest.split_at(length);
        if length > character.len_utf8() || !is_unsafe(character) || matches!(character, '\n' | '\t') {
            out.push_str(part);
        } else {
            out.extend(character.escape_default());
        }
        rest = after;
    }
    Cow::Owned(out)
}

/// Length of the colour escape sequence at the start of `text`.
fn colour_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    (parameters[end..].starts_with('m') && end <= 16).then_some(2 + end + 1)
}

/// Quotes `word` for a shell, if needed: with `$'…'` (bash, zsh and ksh) if it has unsafe characters.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,%+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.contains(is_unsafe) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut out = String::from("$'");
    for character in word.chars() {
        match character {
            '\'' | '\\' => out.extend(['\\', character]),
            plain if !is_unsafe(plain) => out.push(plain),
            hidden => {
                for byte in hidden.encode_utf8(&mut [0; 4]).bytes() {
                    // Three octal digits are unambiguous, whatever follows. Writing to a string cannot fail.
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
        }
    }
    out.push('\'');
    out
}

/// Quotes a path for a shell, in a form that no command takes for an option.
pub fn shell_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    shell_word(&if text.starts_with('-') { format!("./{text}").into() } else { text })
}

/// Removes possible passwords from typed text: in a URL before the `@`, and after a word such as `Password=`
/// up to the end, because the value may be quoted in a dozen ways.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(text);
    if let Some(begin) = text.find("://").map(|place| place + 3)
        && let Some(at) = text.rfind('@').filter(|at| *at > begin)
        && let Some(colon) = text[begin..at].find(':')
    {
        out = Cow::Owned(format!("{}:…{}", &text[..begin + colon], &text[at..]));
    }
    match password_at(&out) {
        Some(place) => Cow::Owned(format!("{}…", &out[..place])),
        None => out,
    }
}

/// Start of the first password after an equals sign.
pub fn password_at(text: &str) -> Option<usize> {
    text.match_indices('=').map(|(at, _)| at).find_map(|at| {
        let is_boundary = |c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c);
        let key = text[..at].trim_end().rsplit(is_boundary).next().unwrap_or_default();
        let value = &text[at + 1..];
        let is_prompt =
            value.trim_start().split([';', '&', '#']).next().is_some_and(|word| word.trim() == "prompt");
        (names_password(key) && !value.trim().is_empty() && !is_prompt).then_some(at + 1)
    })
}

/// Whether a key's value is a password, as opposed to the place where one is stored.
fn names_password(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let is_place = ["file", "env", "store", "path", "-fd"].iter().any(|place| key.ends_with(place));
    let is_secret = ["password", "passwd", "passphrase", "secret"].iter().any(|word| key.contains(word));
    (is_secret && !is_place) || key.ends_with("token") || matches!(key.as_str(), "pwd" | "pass")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A non-ASCII letter before an equals sign, in any argument of any command, caused a panic.
    #[test]
    fn keys_of_any_script_are_read() {
        assert_eq!(
            without_passwords("host=db1 user=uםbname=x größe=7 é=1"),
            "host=db1 user=uםbname=x größe=7 é=1"
        );
        assert_eq!(without_passwords("größe=7;ü password=x"), "größe=7;ü password=…");
    }

    #[test]
    fn a_name_cannot_drive_the_terminal() {
        assert_eq!(shown("a\u{1b}[31mb\nc\td"), "a\\u{1b}[31mb\\nc\\td");
        assert_eq!(shown("\u{9b}31m\u{7f}"), "\\u{9b}31m\\u{7f}");
        assert_eq!(shown("x\u{202e}y\u{2067}z\u{200f}"), "x\\u{202e}y\\u{2067}z\\u{200f}");
        assert_eq!(shown("Größe.data 数据 नि\u{200d}"), "Größe.data 数据 नि\u{200d}");
    }

    #[test]
    fn what_a_server_says_ends() {
        assert_eq!(said("no\r\n"), "no\\r\\n");
        assert_eq!(said(&"ü".repeat(5_000)).chars().count(), SAID_MAX + 1);
    }

    #[test]
    fn lines_of_ours_keep_their_colours_and_nothing_else() {
        let line = "\u{1b}[1;33mname\u{1b}[0m\tof\n";
        assert_eq!(guarded(line, true), line);
        assert_eq!(guarded("\u{1b}[31mred\n", false), "\\u{1b}[31mred\n");
        assert_eq!(guarded("\u{1b}]0;title\u{7}\u{1b}[2J\n", true), "\\u{1b}]0;title\\u{7}\\u{1b}[2J\n");
        assert_eq!(guarded("a\u{9b}2Jb\r\n", true), "a\\u{9b}2Jb\\r\n");
    }

    #[test]
    fn a_shell_reads_a_word_back_as_it_was() {
        assert_eq!(shell_word("/data/t.ibd"), "/data/t.ibd");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("it's; rm -rf ~"), "'it'\\''s; rm -rf ~'");
        assert_eq!(shell_word("a\n'b\\"), "$'a\\012\\'b\\\\'");
        assert_eq!(shell_word("x\u{202e}y"), "$'x\\342\\200\\256y'");
        assert_eq!(shell_path(Path::new("-rf")), "./-rf");
    }

    #[test]
    fn no_form_of_a_password_is_kept() {
        for text in [
            "postgres://u:hunter2@db1/x",
            "postgres://u:hun@ter2/hunter2@db1/x",
            "Server=h;User ID=u;Password=hunter2;Encrypt=true",
            "Server=h; pwd = \"hunter2;x\"",
            "jdbc:sqlserver://h:1433;user=u;password={hunter2};encrypt=true",
            "jdbc:mysql://h/d?user=u&password=hunter2&useSSL=false",
            "host=h password='hunter2 x' dbname=d",
            "--password=hunter2",
            "PGPASSWORD=hunter2",
            "Server=h;AccessToken=hunter2",
            "sqlserver://h?access_token=hunter2",
        ] {
            let kept = without_passwords(text);
            assert!(!kept.contains("hunter2") && kept.contains('…'), "{kept}");
        }
        for text in [
            "mysql://u@h?password-file=/etc/pw",
            "mysql://u@h?password=prompt",
            "mysql://u@h?password=prompt&tls=off",
            "Server=h;Persist Security Info=False",
            "sqlserver://h?auth=entra&token-env=TOKEN",
            "sqlserver://h?auth=entra&token-command=az account get-access-token",
            "/data/a:b@c",
            "--passphrase-fd=3",
            "Password=",
        ] {
            assert_eq!(without_passwords(text), text);
        }
    }
}
