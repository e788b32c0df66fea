//! Object stores as places of backups: what is read is read in ranges, and what is written is uploaded in parts.
//!
//! ```text
//! RemoteEngine ─┬─ files ────► the engine of this machine
//!               ├─ reads ────► threads ──► GET with a range
//!               └─ writes ───► Upload ──► parts ──► threads ──► PUT of a part … complete
//! ```
//!
//! Inside it is asynchronous, because the library is; outside it blocks. An address is a path that begins with `s3://`, `az://` or
//! `gs://`.

mod ask;
mod azure;
mod bucket;
pub mod centre;
mod endpoint;
mod engine;
mod error;
mod gcs;
mod http;
mod lock;
mod mark;
#[cfg(any(test, feature = "memory"))]
pub mod memory;
mod object;
mod post;
mod reads;
#[cfg(test)]
mod tests;
mod tls;
mod upload;
mod uploads;
mod wait;

pub use engine::{EngineFile, RemoteEngine};
pub use error::{REFUSAL, RemoteError, hint};
pub use object::{Listed, Object, ObjectReader, is_object};
pub use post::{Answer, PostAddress, PostError, Poster, basic_authorization};
pub use tls::Fingerprint;
pub use upload::Upload;
pub use uploads::{OpenUpload, UploadParts};
pub use wait::{Waiting, notify_of_slow_requests};
