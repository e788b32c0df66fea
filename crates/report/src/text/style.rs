//! Colour, width and wrapping of terminal text.

use unicode_width::UnicodeWidthStr;

use super::spark;
use crate::table::Severity;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colour: bool,
    rule: &'static str,
}

impl Style {
    pub(crate) fn new(options: &TextOptions) -> Self {
        Self { colour: options.colour, rule: if options.unicode { "─" } else { "-" } }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.trim().is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn severity(self, severity: Severity, text: &str) -> String {
        match severity {
            Severity::Plain => text.to_owned(),
            Severity::Strong => self.paint("1", text),
            Severity::Caution => self.paint("33", text),
            Severity::Bad => self.paint("31", text),
            Severity::Good => self.paint("32", text),
        }
    }

    pub(crate) fn heading(self, severity: Severity, text: &str) -> String {
        match severity {
            Severity::Caution => self.paint("1;33", text),
            Severity::Bad => self.paint("1;31", text),
            Severity::Good => self.paint("1;32", text),
            Severity::Plain | Severity::Strong => self.paint("1", text),
        }
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn rule(self, width: usize) -> String {
        self.dim(&self.rule.repeat(width))
    }
}

pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

pub(crate) fn pad_right(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Wraps `text` at spaces to lines of at most `columns`, if words allow. Lines after the first leave two
/// columns for the continuation indent.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let room = if lines.len() == 1 { columns } else { columns.saturating_sub(2) };
        let line = lines.last_mut().expect("never empty");
        let fits = line.is_empty() || width(line) + 1 + width(word) <= room;
        if fits {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Text for ASCII-only terminals. Our own symbols are transliterated; other characters, from names and paths,
/// become question marks.
pub(crate) fn to_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            // At most is not less than.
            '≤' => out.push_str("<="),
            ascii if ascii.is_ascii() => out.push(ascii),
            other => out.push(ascii_symbol(other)),
        }
    }
    out
}

/// A character of ASCII for one of our own symbols, in the same room.
pub(crate) fn ascii_symbol(symbol: char) -> char {
    match symbol {
        'µ' => 'u',
        '·' => '|',
        '–' => '-',
        '×' => 'x',
        '└' => '`',
        '±' | '…' => '~',
        '↓' => 'v',
        '↑' => '^',
        bar => spark::ascii_bar(bar).unwrap_or('?'),
    }
}

/// The text without colour codes.
#[cfg(test)]
pub(crate) fn without_colour(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    out
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal. Below about 100 the less important columns are left out, with a note.
    pub width: usize,
    pub colour: bool,
    /// Characters beyond ASCII; without them `µs` is written `us`.
    pub unicode: bool,
    /// Show the percentiles of each role, from the 25th to nine nines.
    pub percentiles: bool,
    pub bars: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { width: 100, colour: false, unicode: true, percentiles: false, bars: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_breaks_at_spaces_and_a_long_word_stays_whole() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("aaaaaaaa b", 3), ["aaaaaaaa", "b"]);
        assert_eq!(wrap("", 10), [""]);
    }

    /// A limit of 1 ms that is met by 1 ms was shown as `flash < 1 ms`.
    #[test]
    fn in_ascii_at_most_is_not_less_than_and_a_foreign_letter_is_a_question_mark() {
        assert_eq!(to_ascii("flash ≤ 1 ms · ± 5 % × 2 µs"), "flash <= 1 ms | ~ 5 % x 2 us");
        assert_eq!(to_ascii("数据.mdf ▁▄█"), "??.mdf _-#");
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(width("数据"), 4);
        assert_eq!(pad_right("数", 4), "数  ");
    }
}
