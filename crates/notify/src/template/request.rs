//! What is sent to a web server.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The path below the webhook's address, with its query; nothing where the address is whole.
    pub(crate) path: String,
    /// What stands before the token in the `Authorization` header; `None`: the token is in the body.
    pub(crate) scheme: Option<&'static str>,
    pub(crate) body: String,
}
