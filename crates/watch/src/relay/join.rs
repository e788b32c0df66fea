//! How a store joins the centre that a relay leads to.

use std::path::Path;

use iostall_measure::clock::utc_now;
use iostall_store::{CollectorState, FleetSecret, StoreId};
use serde::{Deserialize, Serialize};

use super::keys::{SharedKey, Signer, hex};
use super::names::{FileKind, FileName};
use super::place::RelayPlace;
use crate::centre::instance::{Instance, PROGRAM_VERSION};
use crate::centre::membership::{Key, Membership, MembershipFile};
use crate::centre::{CODE_FILE, CentreError};
use crate::confirmed::begin_confirming;
use crate::error::WatchError;
use crate::relay_error::RelayError;

/// Files of others with the next number are passed over, so many times.
const TRIES_MAX: u64 = 100;

/// What a server that wants to join puts into a relay, before the code that authenticates it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JoinFile {
    pub(super) store: StoreId,
    /// The half of its key that the centre needs, hexadecimal.
    pub(super) public_key: String,
    pub(super) host: String,
    /// Of its iostall.
    pub(super) version: String,
}

/// What a store needs to join.
#[derive(Debug)]
pub struct JoinRelay<'a> {
    /// Where the store is, and its id.
    pub store: &'a Path,
    pub id: StoreId,
    /// Of the relay.
    pub address: &'a str,
    /// A file with a one-time code, which only its owner can read.
    pub code_file: &'a Path,
}

/// Asks to join: the centre does so when it takes what is in the relay. The same line may be repeated.
///
/// From now on the store keeps, within bounds, what the centre has not confirmed.
///
/// # Errors
/// If the code or the relay cannot be used, or the store cannot be written.
pub fn join_relay(request: &JoinRelay<'_>, store: &mut impl CollectorState) -> Result<(), WatchError> {
    let place = RelayPlace::parse(request.address)?;
    let text = CODE_FILE.secret(request.code_file).map_err(CentreError::from)?;
    let no_code = || CentreError::NoCode { path: request.code_file.to_owned() };
    let code = FleetSecret::parse(&text).filter(FleetSecret::is_code).ok_or_else(no_code)?.hash();
    let memberships = MembershipFile::beside(request.store);
    let known = memberships.find(place.address())?;
    let key_of = |secret: &FleetSecret| -> Result<(Signer, SharedKey), RelayError> {
        let signer = Signer::of(secret)?;
        let confirm_key = SharedKey::of_confirmations(&code, request.id, &signer.public_key());
        Ok((signer, confirm_key))
    };
    // The same code once more: the centre may have heard of the key, and takes no other one.
    let mut secret = FleetSecret::new_key().map_err(CentreError::Random)?;
    if let Some(known) = &known
        && let Some(earlier) = known.keys.first().and_then(Key::secret)
        && known.confirm_key.as_deref() == Some(hex(key_of(&earlier)?.1.bytes()).as_str())
    {
        secret = earlier;
    }
    let (signer, confirm_key) = key_of(&secret)?;
    let file = JoinFile {
        store: request.id,
        public_key: hex(&signer.public_key()),
        host: Instance::here(request.store).host,
        version: PROGRAM_VERSION.to_owned(),
    };
    let body = SharedKey::of_code(&code).authenticated(serde_json::to_vec(&file).unwrap_or_default());
    let membership = Membership {
        address: place.address().to_owned(),
        certificate: None,
        name: None,
        keys: vec![Key::new(&secret, utc_now())],
        confirm_key: Some(hex(confirm_key.bytes())),
    };
    // Its key is in the file before the centre can hear of it.
    memberships.put(&membership)?;
    put_next(&place, request.id, &body)?;
    Ok(begin_confirming(store, place.address())?)
}

fn put_next(place: &RelayPlace, store: StoreId, body: &[u8]) -> Result<(), WatchError> {
    let names = place.list()?.into_iter().map(|(name, _)| name);
    let last =
        names.filter(|name| name.store == store && name.kind == FileKind::Join).map(|name| name.number).max();
    let first = last.unwrap_or(0).saturating_add(1);
    for number in first..first.saturating_add(TRIES_MAX) {
        if place.put_new(FileName { store, kind: FileKind::Join, number }, body)? {
            break;
        }
    }
    Ok(())
}
