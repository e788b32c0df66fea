//! Certificates named with `?ca=`: one or more in PEM form, or one in DER form, as exported by Windows.

use std::path::Path;

use iostall_engine::Input;
use iostall_measure::ByteCount;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Ten times the size of a distribution's trust store.
const CERTIFICATES: Input = Input { what: "file of certificates", limit: ByteCount(4 << 20) };

/// The certificates in the file at `path`, at least one and all readable; otherwise what is wrong.
pub(crate) fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
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
    fn both_forms_are_read_and_what_is_neither_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.cer");
        let key = KeyPair::generate().unwrap();
        let made = CertificateParams::new(vec!["db1".to_owned()]).unwrap().self_signed(&key).unwrap();
        let of = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            read(&path)
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
