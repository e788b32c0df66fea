//! TLS: one configuration for all drivers.

mod pinned;
mod words;

use std::io;
use std::path::Path;
use std::sync::Arc;

use iostall_engine::Input;
use iostall_measure::ByteCount;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{AlertDescription, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use self::pinned::Named;
use crate::address::{Address, Tls};
use crate::error::SourceError;

pub(crate) use words::of_text;

/// The TLS configuration that `address` asks for; `None` without TLS.
pub(crate) fn client(address: &Address) -> Result<Option<ClientConfig>, SourceError> {
    let fail = |reason: String| SourceError::Tls { source_name: address.to_string(), reason };
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| fail(error.to_string()))?;
    let verifier: Arc<dyn ServerCertVerifier> = match &address.tls {
        Tls::Off => return Ok(None),
        Tls::Unverified => Arc::new(BelieveAnyone(provider)),
        Tls::Verify => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                let reason =
                    "this machine trusts no certificate authorities; name a file of them with ?ca=PATH";
                return Err(fail(reason.into()));
            }
            return Ok(Some(builder.with_root_certificates(roots).with_no_client_auth()));
        }
        Tls::VerifyWith(_) => Arc::new(Named::new(authorities(address)?, provider).map_err(fail)?),
    };
    Ok(Some(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()))
}

/// The certificates that `address` names with `?ca=`; empty if there are none.
pub(crate) fn authorities(address: &Address) -> Result<Vec<CertificateDer<'static>>, SourceError> {
    let Tls::VerifyWith(path) = &address.tls else { return Ok(Vec::new()) };
    read_certificates(path).map_err(|reason| SourceError::Tls { source_name: address.to_string(), reason })
}

/// Why connecting failed: `reason`, or the certificate error if there is a rustls error among the causes of
/// `error`.
pub(crate) fn connect_error(
    source_name: String,
    reason: String,
    error: &(dyn std::error::Error + 'static),
) -> SourceError {
    match cause(error) {
        Some(Error::InvalidCertificate(fault)) => {
            SourceError::Certificate { source_name, reason: words::of(fault), hint: words::advice(fault) }
        }
        Some(Error::AlertReceived(alert)) if NOTHING_IN_COMMON.contains(alert) => {
            SourceError::Tls { source_name, reason: NO_COMMON_CIPHER.into() }
        }
        _ => SourceError::Connect { source_name, reason },
    }
}

/// The alerts of a server that has no cipher or version that we offer.
const NOTHING_IN_COMMON: [AlertDescription; 3] = [
    AlertDescription::HandshakeFailure,
    AlertDescription::ProtocolVersion,
    AlertDescription::InsufficientSecurity,
];
/// MySQL 8.0.15 and before offer RSA and DHE alone, which today's libraries no longer have.
const NO_COMMON_CIPHER: &str = "the server accepts neither TLS 1.3 nor a cipher of TLS 1.2 with ECDHE, and iostall has no \
                                other; a newer version of the server does (MySQL: 8.0.16)";

/// The rustls error in the chain. `io::Error` skips the error it contains, so it is unpacked.
fn cause<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<Error>() {
            return Some(found);
        }
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = held.map(|held| held as &'a (dyn std::error::Error + 'static)).or_else(|| error.source());
    }
    None
}

/// The verifier of `tls=unverified`: encryption without authentication. Signatures are still checked.
#[derive(Debug)]
struct BelieveAnyone(Arc<CryptoProvider>);

impl ServerCertVerifier for BelieveAnyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Ten times the size of a distribution's trust store.
const CERTIFICATES: Input = Input { what: "file of certificates", limit: ByteCount(4 << 20) };

/// The certificates in the file at `path`, one or more in PEM form or one in DER form, as exported by Windows; otherwise what is wrong.
fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let bytes = CERTIFICATES.read(path).map_err(|error| error.to_string())?;
    // Windows programs begin text files with a byte order mark.
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let fail = |what: &str| Err(format!("{}: {what}", path.display()));
    let found: Vec<_> = if is_pem(text) {
        match CertificateDer::pem_slice_iter(text).collect() {
            Ok(found) => found,
            Err(_) => return fail("a certificate in it is damaged"),
        }
    } else {
        vec![CertificateDer::from(bytes)]
    };
    if found.is_empty() {
        return fail("there is no certificate in it");
    }
    for certificate in &found {
        if RootCertStore::empty().add(certificate.clone()).is_err() {
            return fail("it holds no certificate in PEM or DER form");
        }
    }
    Ok(found)
}

fn is_pem(text: &[u8]) -> bool {
    let marker = b"-----BEGIN ";
    text.starts_with(marker)
        || text.windows(marker.len() + 1).any(|part| part[0] == b'\n' && &part[1..] == marker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair};

    #[test]
    fn a_missing_authority_file_is_an_error_that_names_it() {
        let address: Address = "postgres://u@db1/x?ca=/nowhere/ca.pem".parse().unwrap();
        let message = client(&address).unwrap_err().to_string();
        assert!(message.contains("/nowhere/ca.pem"), "{message}");
    }

    #[test]
    fn no_configuration_is_made_where_none_is_wanted() {
        let address: Address = "postgres://u@localhost/x".parse().unwrap();
        assert!(client(&address).unwrap().is_none());
    }

    #[test]
    fn both_forms_are_read_and_what_is_neither_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.cer");
        let key = KeyPair::generate().unwrap();
        let made = CertificateParams::new(vec!["db1".to_owned()]).unwrap().self_signed(&key).unwrap();
        let of = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            read_certificates(&path)
        };
        assert_eq!(of(made.der()).unwrap(), [made.der().clone()]);
        assert_eq!(of(format!("\u{feff}{0}note\n{0}", made.pem()).as_bytes()).unwrap().len(), 2);
        for (content, wanted) in [
            (&b""[..], "no certificate"),
            (b"hello", "no certificate"),
            (key.serialize_pem().as_bytes(), "no certificate in it"),
            (&made.der()[..100], "no certificate in PEM or DER form"),
            (b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n", "damaged"),
        ] {
            let said = of(content).unwrap_err();
            assert!(said.contains(wanted) && said.contains("server.cer"), "{said}");
        }
    }
}
