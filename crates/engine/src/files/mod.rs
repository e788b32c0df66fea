//! File operations other than reading and writing: identity, holes, preallocation, reflinks, atomic renames,
//! metadata and the page cache.

mod allocation;
mod attributes;
mod cache;
mod creation;
mod extents;
mod file_system;
mod metadata;
mod names;
mod ownership;
mod page_cache;
mod placing;
mod positioned;
mod removal;
mod stamp;
mod standard_input;
mod standard_streams;
mod unfinished;
mod unnamed;
mod writers;

pub use crate::cpu::{Niceness, set_niceness};
pub use allocation::{Allocation, allocation};
pub use attributes::{Attribute, Loss, attributes_of_link};
pub(crate) use cache::{WRITE_RANGE_BACK, write_range_back};
pub use cache::{drop_read, drop_written, start_writeback, write_back};
pub use creation::{
    create_new, create_new_directory_private, create_new_private, make_private, make_symlink,
    open_in_shared_directory, open_or_create_private, open_to_lock, set_mode,
};
pub use extents::{clone_blocks, data_ranges, discard, preallocate, punch_hole};
pub use file_system::file_system_uuid;
pub use metadata::{
    NewMetadata, copy_metadata, copy_symlink_metadata, has_metadata_of, set_metadata, set_times,
};
pub use names::{
    effective_group, effective_user, exchange, free_bytes, has_no_links, has_no_locks, is_direct,
    largest_file_bytes, make_special, path_bytes, path_from_bytes, raise_open_file_limit, rename_new,
    rename_over, sync_directory, sync_file_system, usable_bytes,
};
pub use ownership::{give, is_open_to_others, is_own, open_to_others, remove_own};
pub use page_cache::{drop_from_cache, has_dirty_pages, page_cache_share};
pub use positioned::{read_at, write_all_at};
pub use removal::OpenDirectory;
pub use stamp::{
    FileKind, FileNow, FileStamp, PathNow, is_block_device, stamp, stamp_of_link, stamp_of_path,
};
pub use standard_input::StandardInput;
pub(crate) use standard_streams::was_closed;
pub use standard_streams::{is_given_pipe, is_standard_output, standard_input, standard_output};
pub use unfinished::{UnfinishedFile, remove_unfinished};
pub use unnamed::{INPUT_NAME, in_memory, unnamed};
pub use writers::{Writers, writers};
