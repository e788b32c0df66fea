//! Whose a connection is.

use iostall_store::{Member, SecretHash};

/// So long a server is not looked up again on its connection, nanoseconds. Whether it may send is looked up with each batch.
const SEEN_NS: u64 = 5_000_000_000;

#[derive(Debug, Default)]
pub(super) struct Seen(Option<(SecretHash, Member, u64)>);

impl Seen {
    pub(super) fn put(&mut self, key: SecretHash, member: &Member, now_ns: u64) {
        self.0 = Some((key, member.clone(), now_ns));
    }

    /// The server with this key, if that was looked up a short time ago.
    pub(super) fn with_key(&self, key: SecretHash, now_ns: u64) -> Option<&Member> {
        let (seen, member, at_ns) = self.0.as_ref()?;
        (*seen == key && now_ns.saturating_sub(*at_ns) < SEEN_NS).then_some(member)
    }
}
