//! Trusts certificates that a user named, either an authority's or the server's own.
//!
//! A server's own certificate, often self-signed, identifies it by its key: a byte-for-byte match is accepted
//! whatever the certificate says about its issuer, its use as an authority, and its names. Its validity dates
//! are always checked.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

#[derive(Debug)]
pub(super) struct Named {
    certificates: Vec<CertificateDer<'static>>,
    authorities: Arc<WebPkiServerVerifier>,
}

impl Named {
    /// Trusts these and what they issued; otherwise what is wrong with them.
    pub(super) fn new(
        certificates: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self { certificates, authorities })
    }
}

/// Whether `error` counts against a certificate that was named itself. Dates are checked first, so that
/// nothing here hides them.
fn counts(error: &Error) -> bool {
    let Error::InvalidCertificate(fault) = error else { return true };
    match fault {
        CertificateError::UnknownIssuer
        | CertificateError::NotValidForName
        | CertificateError::NotValidForNameContext { .. }
        | CertificateError::InvalidPurpose
        | CertificateError::InvalidPurposeContext { .. } => false,
        other => !super::words::is_of_an_authority(other),
    }
}

impl ServerCertVerifier for Named {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            Err(error) if !counts(&error) && self.certificates.iter().any(|named| named == end_entity) => {
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, KeyPair, date_time_ymd};
    use rustls::crypto::aws_lc_rs;

    /// Now, for a certificate that is valid from 1975 to 4096 unless set otherwise.
    fn now() -> UnixTime {
        UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_800_000_000))
    }

    fn made(change: impl FnOnce(&mut CertificateParams)) -> Certificate {
        let mut params = CertificateParams::new(vec!["db1".to_owned()]).unwrap();
        change(&mut params);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap()
    }

    fn verify(named: &Certificate, shown: &Certificate, host: &str) -> Result<(), String> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = Named::new(vec![named.der().clone()], provider).unwrap();
        let name = ServerName::try_from(host.to_owned()).unwrap();
        match verifier.verify_server_cert(shown.der(), &[], &name, &[], now()) {
            Ok(_) => Ok(()),
            Err(Error::InvalidCertificate(fault)) => Err(super::super::words::of(&fault)),
            Err(other) => Err(other.to_string()),
        }
    }

    /// `openssl req -x509` creates a self-signed certificate marked as an authority: it was refused even when
    /// named.
    #[test]
    fn the_very_certificate_is_accepted_whatever_it_is_for() {
        let plain = made(|_| {});
        let authority = made(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
        for certificate in [&plain, &authority] {
            for host in ["db1", "db2", "10.0.0.1"] {
                verify(certificate, certificate, host).unwrap();
            }
        }
    }

    #[test]
    fn another_certificate_is_refused_even_with_the_same_name() {
        let (named, other) = (made(|_| {}), made(|_| {}));
        let said = verify(&named, &other, "db1").unwrap_err();
        assert!(said.contains("not issued by a trusted authority"), "{said}");
        let authority = made(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
        let said = verify(&named, &authority, "db1").unwrap_err();
        assert!(said.contains("an authority's certificate"), "{said}");
    }

    #[test]
    fn dates_count_for_the_very_certificate_too() {
        let old = |params: &mut CertificateParams| params.not_after = date_time_ymd(2020, 1, 1);
        let expired = made(old);
        let of_authority = made(|params| {
            old(params);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        });
        for certificate in [&expired, &of_authority] {
            for host in ["db1", "db2"] {
                let said = verify(certificate, certificate, host).unwrap_err();
                assert!(said.contains("expired on 2020-01-01"), "{said}");
            }
        }
        let early = made(|params| params.not_before = date_time_ymd(2040, 1, 1));
        let said = verify(&early, &early, "db1").unwrap_err();
        assert!(said.contains("not valid before 2040-01-01"), "{said}");
    }
}
