//! XML in DiskSpd's layout: two blanks per level, one element per line; escaped, unlike DiskSpd's.

use std::fmt::Display;

/// Builds indented XML. The caller closes the elements it opens, in order.
#[derive(Debug, Default)]
pub struct XmlWriter {
    out: String,
    open: Vec<&'static str>,
}

impl XmlWriter {
    pub fn new() -> Self {
        Self::default()
    }

    fn push<const N: usize>(&mut self, parts: [&str; N]) {
        for part in parts {
            self.out.push_str(part);
        }
    }

    fn begin_line(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(&"  ".repeat(self.open.len()));
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        self.out.push('<');
        self.out.push_str(name);
        for (key, value) in attributes {
            self.push([" ", key, "=\"", &escape(&value.to_string()), "\""]);
        }
    }

    pub fn open(&mut self, name: &'static str, attributes: &[(&str, &dyn Display)]) {
        self.begin_line();
        self.tag(name, attributes);
        self.out.push('>');
        self.open.push(name);
    }

    pub fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.begin_line();
            self.push(["</", name, ">"]);
        }
    }

    pub fn leaf(&mut self, name: &str, value: impl Display) {
        self.leaf_with(name, &[], value);
    }

    pub fn leaves(&mut self, values: &[(&str, &dyn Display)]) {
        for (name, value) in values {
            self.leaf(name, value);
        }
    }

    pub fn leaf_with(&mut self, name: &str, attributes: &[(&str, &dyn Display)], value: impl Display) {
        self.begin_line();
        self.tag(name, attributes);
        self.push([">", &escape(&value.to_string()), "</", name, ">"]);
    }

    pub fn empty(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        self.begin_line();
        self.tag(name, attributes);
        self.out.push_str("/>");
    }

    /// The document, without a line end.
    pub fn finish(self) -> String {
        self.out
    }
}

/// Escapes XML's special characters. Line ends and tabs become character references, because a reader would
/// change them; characters that XML 1.0 cannot represent become the replacement character.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in quick_xml::escape::escape(text).chars() {
        match character {
            '\t' | '\n' | '\r' => {
                out.push_str("&#");
                out.push_str(&u32::from(character).to_string());
                out.push(';');
            }
            other if is_not_xml(other) => out.push('\u{FFFD}'),
            other => out.push(other),
        }
    }
    out
}

/// Whether XML 1.0 cannot represent `character`, even escaped.
pub(crate) fn is_not_xml(character: char) -> bool {
    matches!(character, '\u{0}'..='\u{1F}' | '\u{FFFE}' | '\u{FFFF}')
        && !matches!(character, '\t' | '\n' | '\r')
}
