//! What says of an object which upload it comes from: the answer to the request that completes one may be lost, and then the next try
//! finds the upload gone, or its own object in the way.

use object_store::path::Path as Key;
use object_store::{Attribute, Attributes, GetOptions, ObjectStore, PutMultipartOptions};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

const NAME: &str = "iostall-uploaded-as";

/// A name as it stands in an address or in a header.
pub(crate) fn encoded(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}

/// Begins an upload of which this is the mark: a name that no other upload has.
pub(crate) fn options(mark: &Key) -> PutMultipartOptions {
    let mark = (Attribute::Metadata(NAME.into()), encoded(mark.as_ref()));
    PutMultipartOptions { attributes: Attributes::from_iter([mark]), ..PutMultipartOptions::default() }
}

pub(crate) async fn is_of(store: &dyn ObjectStore, key: &Key, mark: &Key) -> object_store::Result<bool> {
    let options = GetOptions { head: true, ..GetOptions::default() };
    match store.get_opts(key, options).await {
        Ok(found) => {
            let named = found.attributes.get(&Attribute::Metadata(NAME.into()));
            Ok(named.is_some_and(|named| named.as_ref() == encoded(mark.as_ref())))
        }
        Err(object_store::Error::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
