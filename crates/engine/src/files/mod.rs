//! What the system offers for whole files beside reading and writing: identity, holes, preallocation,
//! block sharing, names that appear at once, metadata, and the page cache behind a file.

mod allocation;
mod cache;
mod extents;
mod metadata;
mod names;
mod page_cache;
mod presence;
mod priority;
mod stamp;
mod unfinished;
mod writers;

pub use allocation::{Allocation, allocation};
pub use cache::{drop_read, drop_written, start_writeback, write_back};
pub use extents::{clone_blocks, data_ranges, preallocate, punch_hole};
pub use metadata::{Loss, copy_metadata, copy_symlink_metadata, set_times};
pub use names::{
    NO_FOLLOW, NO_WAIT, effective_user, free_bytes, has_no_links, has_no_locks, is_direct,
    largest_file_bytes, make_special, raise_open_file_limit, rename_new, rename_over, sync_directory,
    sync_file_system, usable_bytes,
};
pub use page_cache::{drop_from_cache, has_dirty_pages, page_cache_share};
pub use presence::{FileNow, PathNow};
pub use priority::{Niceness, set_niceness};
pub use stamp::{FileKind, FileStamp, is_block_device, stamp, stamp_of_link, stamp_of_path};
pub use unfinished::{UnfinishedFile, remove_unfinished};
pub use writers::{Writers, writers};
