//! A small XML document of limited size, as a tree.

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use thiserror::Error;

#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) text: String,
    pub(super) children: Vec<Element>,
}

impl Element {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ProfileError> {
        if bytes.len() > PROFILE_BYTES_MAX {
            return Err(ProfileError::TooLarge { bytes: bytes.len() });
        }
        let text = decode(bytes)?;
        let mut reader = quick_xml::Reader::from_str(&text);
        // The outermost represents the document; its children are the roots.
        let mut open = vec![Self::default()];
        let mut elements = 0;
        loop {
            let event = reader.read_event().map_err(malformed)?;
            if matches!(event, Event::Start(_) | Event::Empty(_)) {
                elements += 1;
                if open.len() > DEPTH_MAX || elements > ELEMENTS_MAX {
                    return Err(ProfileError::TooComplex);
                }
            }
            match event {
                Event::Start(start) => open.push(Self::started(&start)?),
                Event::Empty(start) => add_child(&mut open, Self::started(&start)?),
                Event::End(_) => {
                    let done = open.pop().unwrap_or_default();
                    add_child(&mut open, done);
                }
                Event::Text(text) => add_text(&mut open, &text.xml10_content()),
                Event::CData(data) => add_text(&mut open, &data.xml10_content()),
                Event::GeneralRef(reference) => add_text(&mut open, &resolve(&reference)?),
                Event::DocType(_) => return Err(ProfileError::Declarations),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                Event::Eof => break,
            }
        }
        let (Some(document), true) = (open.pop(), open.is_empty()) else {
            return Err(ProfileError::Malformed("an element is not closed".to_owned()));
        };
        let mut roots = document.children.into_iter();
        match (roots.next(), roots.next(), document.text.trim()) {
            (Some(root), None, "") => Ok(root),
            _ => Err(ProfileError::Malformed("it must have exactly one root element".to_owned())),
        }
    }

    fn started(start: &BytesStart<'_>) -> Result<Self, ProfileError> {
        let name = start.name().as_ref().to_owned();
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(malformed)?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(malformed)?;
            attributes.push((attribute.key.as_ref().to_owned(), value.into_owned()));
        }
        Ok(Self { name, attributes, ..Self::default() })
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The child of that name; an error if there are two.
    pub(super) fn child(&self, name: &str) -> Result<Option<&Self>, ProfileError> {
        let mut found = self.children.iter().filter(|child| child.name == name);
        let first = found.next();
        if found.next().is_some() {
            return Err(ProfileError::Repeated { parent: self.name.clone(), name: name.to_owned() });
        }
        Ok(first)
    }

    /// Refuses children with other names than `known`.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), ProfileError> {
        match self.children.iter().find(|child| !known.contains(&child.name.as_str())) {
            None => Ok(()),
            Some(child) if child.name.to_ascii_uppercase().starts_with("ETW") => {
                Err(ProfileError::EventTracing { name: child.name.clone() })
            }
            Some(child) => {
                Err(ProfileError::UnknownElement { parent: self.name.clone(), name: child.name.clone() })
            }
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "so that it stands in map_err by its name alone")]
fn malformed(error: impl ToString) -> ProfileError {
    ProfileError::Malformed(error.to_string())
}

fn add_child(open: &mut [Element], child: Element) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(child);
    }
}

fn add_text(open: &mut [Element], text: &str) {
    if let Some(parent) = open.last_mut() {
        parent.text.push_str(text);
    }
}

/// A character reference or one of XML's five predefined entities.
fn resolve(reference: &BytesRef<'_>) -> Result<String, ProfileError> {
    if let Some(character) = reference.resolve_char_ref().map_err(malformed)? {
        return Ok(character.to_string());
    }
    let name = reference.xml10_content();
    resolve_predefined_entity(&name).map(str::to_owned).ok_or(ProfileError::Declarations)
}

/// PowerShell writes UTF-16 when output is redirected, so profiles may have that encoding.
fn decode(bytes: &[u8]) -> Result<String, ProfileError> {
    let utf16 = |bytes: &[u8], join: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(ProfileError::Encoding);
        }
        char::decode_utf16(pairs.iter().map(|pair| join(*pair)))
            .collect::<Result<String, _>>()
            .map_err(|_| ProfileError::Encoding)
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] | rest => {
            String::from_utf8(rest.to_vec()).map_err(|_| ProfileError::Encoding)
        }
    }
}

/// Largest profile: one of a thousand targets has about 1 MiB.
pub const PROFILE_BYTES_MAX: usize = 4 << 20;
/// Deepest nesting; DiskSpd's own profiles have 8 levels.
pub const DEPTH_MAX: usize = 16;
pub const ELEMENTS_MAX: usize = 200_000;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    #[error("it has {bytes} bytes; a profile has at most {PROFILE_BYTES_MAX}")]
    TooLarge { bytes: usize },
    #[error("its elements are nested deeper than {DEPTH_MAX} or are more than {ELEMENTS_MAX}")]
    TooComplex,
    #[error("it is neither UTF-8 nor UTF-16 with a byte order mark")]
    Encoding,
    #[error("it is not well-formed XML: {0}")]
    Malformed(String),
    #[error("it has a document type or an entity of its own, which are not read")]
    Declarations,
    #[error("its root is <{found}>; a profile's is <Profile>")]
    Root { found: String },
    #[error("<{parent}> has an element <{name}>, which DiskSpd's profiles do not have there")]
    UnknownElement { parent: String, name: String },
    #[error("<{parent}> has more than one <{name}>")]
    Repeated { parent: String, name: String },
    #[error("<{parent}> has no <{name}>")]
    Missing { parent: String, name: &'static str },
    #[error("<{name}>{value}</{name}>: {wanted}")]
    Value { name: String, value: String, wanted: String },
    #[error("<{name}>: event tracing (ETW) exists only on Windows; remove the element")]
    EventTracing { name: String },
}
