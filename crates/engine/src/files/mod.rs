//! File operations other than reading and writing: identity, holes, preallocation, reflinks, atomic renames,
//! metadata and the page cache.

mod allocation;
mod attributes;
mod cache;
mod creation;
mod discard;
mod extents;
mod loss;
mod metadata;
mod names;
mod ownership;
mod page_cache;
mod path_bytes;
mod placing;
mod positioned;
mod presence;
mod priority;
mod removal;
mod stamp;
mod standard_input;
mod unfinished;
mod unnamed;
mod writers;

pub use allocation::{Allocation, allocation};
pub use attributes::{Attribute, attributes_of_link};
pub(crate) use cache::{WRITE_RANGE_BACK, write_range_back};
pub use cache::{drop_read, drop_written, start_writeback, write_back};
pub use creation::{
    create_new, create_new_directory_private, create_new_private, make_private, make_symlink,
    open_in_shared_directory, open_or_create_private, open_to_lock, set_mode,
};
pub use discard::discard;
pub use extents::{clone_blocks, data_ranges, preallocate, punch_hole};
pub use loss::Loss;
pub use metadata::{NewMetadata, copy_metadata, copy_symlink_metadata, set_metadata, set_times};
pub use names::{
    effective_group, effective_user, exchange, free_bytes, has_no_links, has_no_locks, is_direct,
    largest_file_bytes, make_special, raise_open_file_limit, rename_new, rename_over, sync_directory,
    sync_file_system, usable_bytes,
};
pub use ownership::give_tree;
pub use page_cache::{drop_from_cache, has_dirty_pages, page_cache_share};
pub use path_bytes::{path_bytes, path_from_bytes};
pub use positioned::{read_at, write_all_at};
pub use presence::{FileNow, PathNow};
pub use priority::{Niceness, set_niceness};
pub use removal::OpenDirectory;
pub use stamp::{FileKind, FileStamp, is_block_device, stamp, stamp_of_link, stamp_of_path};
pub use standard_input::StandardInput;
pub use unfinished::{UnfinishedFile, remove_unfinished};
pub use unnamed::{INPUT_NAME, in_memory, unnamed};
pub use writers::{Writers, writers};
