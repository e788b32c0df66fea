//! Decides whether a target may be written. A target that iostall did not create is written only if the user
//! names it with a flag, and some targets are refused regardless of flags.
//!
//! | Target | Needs |
//! |---|---|
//! | new file in a database's directory | `--overwrite PATH` |
//! | new file elsewhere, or an empty file that belongs to no database | nothing |
//! | a file that iostall created (see [`made_by_iostall`]) | nothing |
//! | any other file | `--overwrite PATH` |
//! | a file that belongs to a database | `--destroy-database PATH` |
//! | a block device | `--overwrite PATH` |
//! | a block device with a known signature on it | `--destroy PATH` |
//! | anything new in `/dev` (except `/dev/shm`), on devtmpfs, proc, sysfs and the like (see [`check_new_file`]) | always refused |
//! | in use by another run, or locked by another program | always refused |
//! | mounted, held, swap, behind a loop device; neither a file nor a block device | always refused |

mod block_device;
mod consent;
mod database;
mod destination;
mod free_space;
mod grant;
mod header;
mod lock;
mod mark;
mod place;
mod refusal;
mod regular_file;
mod signature;

pub use consent::WriteConsent;
pub use database::{DatabaseFile, database_at};
pub use destination::{Destinations, Removes};
pub use free_space::{FreeSpaceError, check_free_space, check_named_size};
pub use grant::{WriteGrant, check_write};
pub use header::{HEADER_BYTES, HeaderKind, write_header};
pub use lock::{FileLock, hold_for_reading};
pub use mark::{made_by_iostall, mark_made_by_iostall};
pub use place::{check_name, check_new_file, is_same_place};
pub use refusal::{GrantReason, LockHolder, Refusal};
pub use signature::Signature;
