//! How a store joins a centre.

use std::io::{self, BufRead as _, Read as _};
use std::path::Path;

use iostall_engine::{Input, InputError};
use iostall_measure::ByteCount;
use iostall_measure::clock::utc_now;
use iostall_remote::centre::{CentreClient, centre_address};
use iostall_store::{CollectorState, FleetSecret, StoreId};

use super::client::{Instance, PROGRAM_VERSION, answer_of};
use super::membership::{Key, Membership, MembershipFile};
use crate::centre_error::{CODE_FILE_NAME, CentreError};
use crate::centre_protocol::{JoinAnswer, JoinRequest, Verb};
use crate::confirmed::begin_confirming;
use crate::error::WatchError;

const CODE_FILE: Input = Input { what: CODE_FILE_NAME, limit: ByteCount(1 << 10) };

#[derive(Debug)]
pub struct JoinCentre<'a> {
    pub store: &'a Path,
    pub id: StoreId,
    pub address: &'a str,
    /// A file with a one-time code, which only its owner can read; `-` is standard input.
    pub code_file: &'a Path,
    /// The fingerprint of the centre's certificate; without one an authority of this machine issued it.
    pub certificate: Option<&'a str>,
}

/// Joins, and returns what this server is called there. Its key is in the file beside the store before the centre hears of it; if the
/// answer is lost, the same line may be repeated.
///
/// From then on the store keeps, within bounds, what the centre has not confirmed.
pub fn join_centre(request: &JoinCentre<'_>, store: &mut impl CollectorState) -> Result<String, WatchError> {
    let address = centre_address(request.address).map_err(CentreError::from)?;
    let name = ask_to_join(request, &address)?;
    begin_confirming(store, &address)?;
    Ok(name)
}

fn ask_to_join(request: &JoinCentre<'_>, address: &str) -> Result<String, CentreError> {
    let text = code_text(request.code_file)?;
    let no_code = || CentreError::NoCode { path: request.code_file.to_owned() };
    let code = FleetSecret::parse(&text).filter(FleetSecret::is_code).ok_or_else(no_code)?;
    let file = MembershipFile::beside(request.store);
    let (mut membership, secret) = candidate(&file, address)?;
    membership.certificate = request.certificate.map(str::to_owned);
    let client = CentreClient::new(address, membership.fingerprint()?)?;
    file.put(&membership)?;
    let join = JoinRequest {
        code: code.digits(),
        key_hash: secret.hash().to_string(),
        store: request.id,
        host: Instance::here(request.store).host,
        version: PROGRAM_VERSION.to_owned(),
    };
    let body = serde_json::to_vec(&join).unwrap_or_default();
    let JoinAnswer { name } = answer_of(&client, address, &Verb::Join.path(), None, &body)?;
    membership.name = Some(name.clone());
    file.put(&membership)?;
    Ok(name)
}

/// A line of standard input for `-`, so that a code need not lie in a file at all.
fn code_text(path: &Path) -> Result<String, CentreError> {
    if path != Path::new("-") {
        return Ok(CODE_FILE.secret(path)?);
    }
    let mut line = String::new();
    let read = io::stdin().lock().take(CODE_FILE.limit.bytes()).read_line(&mut line);
    read.map_err(|source| InputError::System { what: CODE_FILE.what, path: path.to_owned(), source })?;
    Ok(line)
}

/// The membership with a key that nobody has used: that of an attempt whose answer was lost, or a new one before those that are there.
fn candidate(file: &MembershipFile, address: &str) -> Result<(Membership, FleetSecret), CentreError> {
    let known = file.find(address)?;
    if let Some(known) = known.as_ref().filter(|known| known.name.is_none())
        && let Some(secret) = known.keys.first().and_then(Key::secret)
    {
        return Ok((known.clone(), secret));
    }
    let none = Membership { address: address.to_owned(), certificate: None, name: None, keys: Vec::new() };
    let mut membership = Membership { name: None, ..known.unwrap_or(none) };
    let secret = FleetSecret::new_key().map_err(CentreError::Random)?;
    membership.add_key(Key::new(&secret, utc_now()));
    Ok((membership, secret))
}
