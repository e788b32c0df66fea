//! Entry points for fuzzing the files of a relay. Whoever has a key can write any of them.

use iostall_store::{FleetSecret, StoreId};

use super::confirmation::Confirmation;
use super::keys::{SharedKey, Signer};
use super::names::{FileKind, FileName};
use super::sealed::{sealed, unsealed};

/// The store in known inputs, and the number of their file.
const STORE: &str = "7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11";
const NUMBER: u64 = 7;

fn name(kind: FileKind) -> Option<FileName> {
    let store: StoreId = STORE.parse().ok()?;
    Some(FileName { store, kind, number: NUMBER })
}

/// Messages of a server, without their signature. Whatever is accepted is opened again as it was sealed.
pub fn packet(input: &[u8]) {
    let Some(name) = name(FileKind::Batch) else { return };
    let Some((header, messages)) = unsealed(input, name) else { return };
    let bodies: Vec<u8> = messages.iter().flat_map(|(_, body)| body.iter().copied()).collect();
    let signer = FleetSecret::new_key().ok().and_then(|secret| Signer::of(&secret).ok());
    let Some(signer) = signer else { return };
    let file = sealed(&header, &bodies, &signer);
    let again = super::sealed::opened(&file, name, &signer.public_key());
    assert!(again == Some((header, messages)), "it changed on its way");
}

/// What a centre has confirmed, as JSON text. Whatever is accepted is read again as it was written.
pub fn confirmation(input: &[u8]) {
    let Some(name) = name(FileKind::Confirmed) else { return };
    let compressed = zstd::encode_all(input, 1).unwrap_or_default();
    let Some(read) = Confirmation::read(&compressed, name) else { return };
    let key = SharedKey::from_bytes(&[1; 32]);
    let Ok(file) = read.to_file(&key) else { return };
    assert!(Confirmation::from_file(&file, name, &key).as_ref() == Some(&read), "it changed: {read:?}");
}
