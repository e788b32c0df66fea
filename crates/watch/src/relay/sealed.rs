//! Messages of a server in one file, with its signature.

use iostall_store::{RunMark, SheetMark, SourceId, StoreId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::keys::{Signer, verified};
use super::names::FileName;

/// What a file begins with.
const BEGINNING: &[u8] = b"iostall-relay 1\n";

/// What a server says before its messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) store: StoreId,
    /// Of the file: in another place it is none.
    pub(super) number: u64,
    pub(super) host: String,
    /// Of its iostall.
    pub(super) version: String,
    /// A hash of the machine, its boot and the file that the store is in.
    pub(super) instance: String,
    /// The time of the server.
    pub(super) clock: Timestamp,
    /// In order; their bodies follow in the same order.
    pub(super) messages: Vec<Message>,
}

/// A message, whose body has so many bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub(super) enum Message {
    /// A batch of a source, as a centre takes it.
    Append {
        source: SourceId,
        /// The number of the batch before.
        after: u64,
        /// Its own.
        sequence: u64,
        /// When its newest sample was taken.
        newest: Option<Timestamp>,
        bytes: usize,
    },
    /// What the volumes of a source lie on, in JSON.
    Place { source: SourceId, bytes: usize },
    /// A run, as a centre takes it.
    Run { mark: RunMark, bytes: usize },
    /// Notes or settings, as a centre takes them. Only for a centre that has said that it takes them: an older one would take none of
    /// the file.
    Sheet { mark: SheetMark, bytes: usize },
}

impl Message {
    fn bytes(&self) -> usize {
        match self {
            Self::Append { bytes, .. }
            | Self::Place { bytes, .. }
            | Self::Run { bytes, .. }
            | Self::Sheet { bytes, .. } => *bytes,
        }
    }
}

/// A file of messages, signed.
pub(super) fn sealed(header: &Header, bodies: &[u8], signer: &Signer) -> Vec<u8> {
    let mut text = BEGINNING.to_vec();
    text.extend(serde_json::to_vec(header).unwrap_or_default());
    text.push(b'\n');
    text.extend_from_slice(bodies);
    signer.signed(text)
}

/// What is in a file: each message with its body.
pub(super) type Opened<'a> = (Header, Vec<(Message, &'a [u8])>);

/// The messages in a file, each with its body, if the owner of `public_key` made it for this name; it may come from anybody.
pub(super) fn opened<'a>(file: &'a [u8], name: FileName, public_key: &[u8]) -> Option<Opened<'a>> {
    unsealed(verified(file, public_key)?, name)
}

/// The same of what was signed.
pub(super) fn unsealed(text: &[u8], name: FileName) -> Option<Opened<'_>> {
    let text = text.strip_prefix(BEGINNING)?;
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let header: Header = serde_json::from_slice(&text[..end]).ok()?;
    if header.store != name.store || header.number != name.number {
        return None;
    }
    let mut rest = &text[end + 1..];
    let mut messages = Vec::with_capacity(header.messages.len());
    for message in &header.messages {
        let (body, after) = rest.split_at_checked(message.bytes())?;
        messages.push((message.clone(), body));
        rest = after;
    }
    rest.is_empty().then_some((header, messages))
}

#[cfg(test)]
mod tests {
    use iostall_store::FleetSecret;

    use super::super::names::FileKind;
    use super::*;

    #[test]
    fn a_file_is_opened_with_its_key_under_its_name_alone() {
        let store: StoreId = "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11".parse().unwrap();
        let source: SourceId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let messages = vec![
            Message::Append { source, after: 0, sequence: 2, newest: None, bytes: 3 },
            Message::Place { source, bytes: 0 },
        ];
        let header = Header {
            store,
            number: 7,
            host: "db1".into(),
            version: "0".into(),
            instance: "i".into(),
            clock: "2026-03-01T09:58:00Z".parse().unwrap(),
            messages,
        };
        let signer = Signer::of(&FleetSecret::new_key().unwrap()).unwrap();
        let file = sealed(&header, b"abc", &signer);
        let name = |number| FileName { store, kind: FileKind::Batch, number };
        let (read, messages) = opened(&file, name(7), &signer.public_key()).unwrap();
        assert_eq!((read, messages[0].1, messages[1].1), (header.clone(), &b"abc"[..], &b""[..]));
        assert_eq!(opened(&file, name(8), &signer.public_key()), None, "under another name");
        for end in 0..file.len() {
            assert_eq!(opened(&file[..end], name(7), &signer.public_key()), None, "{end}");
        }
        for bodies in [&b"ab"[..], b"abcd"] {
            assert_eq!(opened(&sealed(&header, bodies, &signer), name(7), &signer.public_key()), None);
        }
    }
}
