//! The certificate of the server.

use std::path::Path;
use std::sync::Arc;

use iostall_engine::{Input, InputError};
use iostall_measure::ByteCount;
use iostall_remote::Fingerprint;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

const CERTIFICATES: Input = Input { what: "certificate", limit: ByteCount(1 << 20) };
const PRIVATE_KEY: Input = Input { what: "private key", limit: ByteCount(1 << 20) };

#[derive(Debug, Error)]
pub enum TlsError {
    #[error(transparent)]
    Read(#[from] InputError),
    #[error("{path}: {reason}")]
    Content { path: String, reason: String },
}

/// The configuration of a server with the certificates and the key in these files, and which certificate clients see.
pub(crate) fn config(certificates: &Path, key: &Path) -> Result<(Arc<ServerConfig>, Fingerprint), TlsError> {
    let wrong = |path: &Path, reason: &str| TlsError::Content {
        path: path.display().to_string(),
        reason: reason.to_owned(),
    };
    let text = CERTIFICATES.read(certificates)?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|_| wrong(certificates, "a certificate in it is damaged"))?;
    let first =
        chain.first().ok_or_else(|| wrong(certificates, "there is no certificate in PEM form in it"))?;
    let fingerprint = Fingerprint::of(first);
    let secret = PrivateKeyDer::from_pem_slice(PRIVATE_KEY.secret(key)?.as_bytes())
        .map_err(|_| wrong(key, "there is no private key in PEM form in it"))?;
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| wrong(key, &error.to_string()))?;
    Ok((Arc::new(config), fingerprint))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    #[test]
    fn what_is_no_certificate_and_what_is_no_key_is_said_with_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
        let pair = KeyPair::generate().unwrap();
        let made = CertificateParams::new(vec!["central".to_owned()]).unwrap().self_signed(&pair).unwrap();
        let of = |first: &str, second: &str| {
            fs::write(&certificate, first).unwrap();
            fs::write(&key, second).unwrap();
            fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
            config(&certificate, &key).map(|(_, fingerprint)| fingerprint).map_err(|error| error.to_string())
        };
        assert_eq!(of(&made.pem(), &pair.serialize_pem()), Ok(Fingerprint::of(made.der())));
        let said = of("nothing", &pair.serialize_pem()).unwrap_err();
        assert!(said.contains("cert.pem: there is no certificate in PEM form"), "{said}");
        let said = of(&made.pem(), "nothing").unwrap_err();
        assert!(said.contains("key.pem: there is no private key in PEM form"), "{said}");
    }
}
