//! Buckets in memory, for tests.

use std::sync::Arc;

use object_store::memory::InMemory;

use crate::bucket::Bucket;

/// Makes an empty bucket of this name in this process. Each test needs a name of its own.
pub fn make(bucket: &str) {
    Bucket::install(bucket, Arc::new(InMemory::new()));
}
