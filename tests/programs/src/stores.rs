//! Object stores that more than one suite of tests uses.

use std::path::PathBuf;

use crate::{cargo, python};

const MOTO: &str = "5.2.1";
/// Newer ones need a newer compiler than iostall does.
const S3S: &str = "0.14.1";

/// moto's server, which takes any key.
pub fn moto() -> Option<PathBuf> {
    let package = format!("moto[server]=={MOTO}");
    Some(python(&format!("moto-{MOTO}"), &[&package])?.join("moto_server"))
}

/// `s3s-fs`, which keeps buckets in a directory and checks signatures.
pub fn s3s() -> Option<PathBuf> {
    cargo("s3s-fs", S3S, &["--features", "binary"], "s3s-fs")
}
