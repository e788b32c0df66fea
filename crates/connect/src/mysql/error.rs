//! Why a server of MySQL's protocol gave no answer.

use std::io;

use thiserror::Error;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MysqlError {
    #[error("{message} (error {code})")]
    Server { code: u16, message: String },
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the server does not offer TLS")]
    NoTls,
    #[error(
        "the account logs in with {0}, which iostall does not have: mysql_native_password and caching_sha2_password it has"
    )]
    Method(String),
    #[error(
        "the server asks for the password in the way of before MySQL 4.1, which iostall does not have: set the password of the account anew, with mysql_native_password or caching_sha2_password"
    )]
    NoMethod,
    #[error(
        "the server wants the whole password, which goes only over TLS (leave out ?tls=off, or add ?ca=FILE) or through its socket (?socket=PATH)"
    )]
    NotPrivate,
    #[error("the answer is not MySQL's protocol: {0}")]
    Protocol(&'static str),
}
