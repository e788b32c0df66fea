//! Releases: what a centre may push to servers, signed by somebody whom the centre is not. `docs/formats.md` draws the file.
//!
//! ```text
//! a directory ──► make ──► signed head + objects ──► open (signature first, then everything else) ──► deploy
//! ```
//!
//! A key that signs lies offline, with who makes releases. What the centre stores and hands on it cannot change, and a server checks all of
//! it again.

mod file;
mod key;
mod make;
mod manifest;
mod sealed;

pub use crate::release_error::ReleaseError;
pub(crate) use file::sha256;
pub use file::{Opened, Permit, RELEASE_BYTES_MAX, Release, ReleaseInfo};
pub use key::{PublicKey, SigningKey};
pub use make::{MakeRelease, make_permit, make_release, read_release, write_new};
pub use manifest::{Manifest, Object, ObjectKind, ObjectState};
pub use sealed::sealed;
