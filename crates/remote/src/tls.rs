//! TLS to another iostall: its certificate is the one that was named, or one that this machine's authorities issued.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, OtherError,
    RootCertStore, SignatureScheme, StreamOwned,
};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};

/// SHA-256 of a certificate, which says which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of a certificate in DER form.
    pub fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }

    /// From `sha256:` and 64 hexadecimal digits, with colons between them or without, as `openssl x509` prints them.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (_, digits) =
            text.split_at_checked(7).filter(|(mark, _)| mark.eq_ignore_ascii_case("sha256:"))?;
        let digits: Vec<u32> =
            digits.chars().filter(|c| *c != ':').map(|c| c.to_digit(16)).collect::<Option<_>>()?;
        let bytes: Vec<u8> = digits
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |all, digit| all * 16 + digit))
            .map_while(|byte| u8::try_from(byte).ok())
            .collect();
        if digits.len() == 64 { bytes.try_into().map(Self).ok() } else { None }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[derive(Debug, Error)]
#[error("the server has the certificate {found}, and the one that was named is {named}")]
pub(crate) struct OtherCertificate {
    found: Fingerprint,
    named: Fingerprint,
}

/// Takes one certificate, whatever names and dates are in it: who named it means this one.
#[derive(Debug)]
struct Pinned {
    named: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let found = Fingerprint::of(end_entity);
        if found == self.named {
            return Ok(ServerCertVerified::assertion());
        }
        let other = OtherCertificate { found, named: self.named };
        Err(CertificateError::Other(OtherError(Arc::new(other))).into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Makes encrypted connections of plain ones. Both sides are iostall, so that nothing older than TLS 1.3 is spoken.
pub(crate) struct TlsConnector(Arc<ClientConfig>);

impl TlsConnector {
    /// To a server with this certificate; without one, with a certificate that this machine's authorities issued.
    pub(crate) fn new(named: Option<Fingerprint>) -> Result<Self, Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])?;
        let builder = if let Some(named) = named {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Pinned { named, provider }))
        } else {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            builder.with_root_certificates(roots)
        };
        Ok(Self(Arc::new(builder.with_no_client_auth())))
    }
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsConnector")
    }
}

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = TlsTransport;

    fn connect(
        &self,
        details: &ConnectionDetails,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let Some(transport) = chained else { return Ok(None) };
        let host = details.uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(host).map_err(std::io::Error::other)?;
        let mut connection =
            ClientConnection::new(Arc::clone(&self.0), name).map_err(std::io::Error::other)?;
        let boxed: Box<dyn Transport> = Box::new(transport);
        let mut socket = TransportAdapter::new(boxed, Arc::clone(&details.current_time));
        socket.set_timeout(details.timeout);
        connection.complete_io(&mut socket)?;
        let config = &details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(TlsTransport { buffers, stream: StreamOwned::new(connection, socket) }))
    }
}

pub(crate) struct TlsTransport {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl fmt::Debug for TlsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsTransport")
    }
}

impl Transport for TlsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        Ok(std::io::Write::write_all(&mut self.stream, &self.buffers.output()[..amount])?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        let amount = std::io::Read::read(&mut self.stream, self.buffers.input_append_buf())?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_it_is_shown_and_as_openssl_prints_it() {
        let one = Fingerprint::of(b"a certificate");
        assert_eq!(Fingerprint::parse(&one.to_string()), Some(one));
        let digits = one.to_string().split_off(7).to_uppercase();
        let pairs: Vec<&str> = (0..32).map(|at| &digits[2 * at..2 * at + 2]).collect();
        assert_eq!(Fingerprint::parse(&format!("SHA256:{}", pairs.join(":"))), Some(one));
        for wrong in ["", "sha256:", "sha256:00", &digits, &format!("sha256:{digits}00"), "sha256é:"] {
            assert_eq!(Fingerprint::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Fingerprint::parse(&format!("sha256:{}", "zz".repeat(32))), None);
    }
}
