//! Encryption for the mock server: a certificate of its own, and the handshake inside pre-login packets.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::server::{Encrypt, HEADER_SIZE, PACKET_SIZE, PRELOGIN, write_packet};

/// What a server needs to encrypt, and what a client needs to believe it.
pub(crate) struct Certificate {
    directory: tempfile::TempDir,
    pub(crate) encrypt: Encrypt,
}

impl Certificate {
    /// Makes a key and a certificate that it signs itself, for this machine's loopback address.
    pub(crate) fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), made.cert.pem()).unwrap();
        std::fs::write(directory.path().join("server.cer"), made.cert.der()).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        // SQL Server speaks 1.2 inside pre-login packets: 1.3 would send tickets after the handshake is over.
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS12])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let encrypt: Encrypt = Arc::new(move |mut handshake| {
            let mut connection = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
            while connection.is_handshaking() {
                connection.complete_io(&mut handshake)?;
            }
            handshake.flush()?;
            handshake.finish();
            Ok(Box::new(StreamOwned::new(connection, handshake)))
        });
        Self { directory, encrypt }
    }

    /// The same in DER form.
    pub(crate) fn exported(&self) -> PathBuf {
        self.directory.path().join("server.cer")
    }

    /// The certificate's file.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }
}

/// A connection during its TLS handshake, whose bytes travel in pre-login packets, and after it, when they do not.
pub(crate) struct Handshake {
    stream: TcpStream,
    /// What is left of the packet that is being read.
    left: usize,
    is_over: bool,
}

impl Handshake {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, left: 0, is_over: false }
    }

    /// From here on the bytes stand for themselves.
    fn finish(&mut self) {
        self.is_over = true;
    }
}

impl Read for Handshake {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_over {
            return self.stream.read(buffer);
        }
        if self.left == 0 {
            let mut header = [0; HEADER_SIZE];
            self.stream.read_exact(&mut header)?;
            self.left = usize::from(u16::from_be_bytes([header[2], header[3]])).saturating_sub(HEADER_SIZE);
        }
        let wanted = buffer.len().min(self.left);
        let read = self.stream.read(&mut buffer[..wanted])?;
        self.left -= read;
        Ok(read)
    }
}

impl Write for Handshake {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_over {
            return self.stream.write(bytes);
        }
        let part = &bytes[..bytes.len().min(PACKET_SIZE - HEADER_SIZE)];
        write_packet(&mut self.stream, PRELOGIN, true, part)?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
