//! Explains what is wrong with a server's certificate.

use jiff::Timestamp;
use rustls::CertificateError;
use rustls::pki_types::UnixTime;

/// The library's text for an authority's certificate used by a server. It has no variant for it.
const AUTHORITY: &str = "CaUsedAsEndEntity";
/// The same for an X.509 version 1 certificate.
const OLD_VERSION: &str = "UnsupportedCertVersion";

const UNVERIFIED: &str = "?tls=unverified encrypts without verifying the server";
/// PostgreSQL's driver leaves verification to us; the other drivers cannot accept a certificate by itself.
const SHOWN_BY_AUTHORITY: &str = "of PostgreSQL, ?ca=FILE with this certificate is enough; other servers need one with \
                                  CA:FALSE (openssl req -x509 -addext basicConstraints=critical,CA:FALSE)";

pub(super) fn is_of_an_authority(fault: &CertificateError) -> bool {
    matches!(fault, CertificateError::Other(other) if other.to_string().contains(AUTHORITY))
}

/// What is wrong, as a clause about "it".
pub(super) fn of(fault: &CertificateError) -> String {
    let words = match fault {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "it was not issued by a trusted authority"
        }
        CertificateError::ExpiredContext { not_after, .. } => {
            return format!("it expired on {}", day(*not_after));
        }
        CertificateError::Expired => "it has expired",
        CertificateError::NotValidYetContext { not_before, .. } => {
            return format!("it is not valid before {}", day(*not_before));
        }
        CertificateError::NotValidYet => "it is not valid yet",
        CertificateError::NotValidForNameContext { expected, presented } => {
            let expected = expected.to_str();
            return match presented.as_slice() {
                [] => format!("it contains no host name, so it is not valid for {expected}"),
                names => format!("it is for {} and not for {expected}", plain(names)),
            };
        }
        CertificateError::NotValidForName => "it is for another host",
        CertificateError::Revoked => "it was revoked",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is for another purpose than a server's"
        }
        CertificateError::BadEncoding => "it is damaged",
        CertificateError::Other(other) => return of_other(&other.to_string()).to_owned(),
        _ => "it failed verification",
    };
    words.to_owned()
}

fn of_other(name: &str) -> &'static str {
    if name.contains(AUTHORITY) {
        "it is an authority's certificate and not one issued to a server"
    } else if name.contains(OLD_VERSION) {
        "its form is too old (X.509 version 1)"
    } else {
        "it failed verification"
    }
}

pub(super) fn advice(fault: &CertificateError) -> &'static str {
    match fault {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "name the certificates of its authority with ?ca=FILE; ?tls=unverified encrypts without verifying the server"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "write the host name as in the certificate; ?tls=unverified encrypts without verifying the server"
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "renew the server's certificate, or check this machine's clock"
        }
        fault if is_of_an_authority(fault) => SHOWN_BY_AUTHORITY,
        _ => UNVERIFIED,
    }
}

/// What is wrong and what to do, for a driver that reports only the library's text.
pub(crate) fn of_text(text: &str) -> (String, &'static str) {
    let known = [
        ("UnknownIssuer", CertificateError::UnknownIssuer),
        ("BadSignature", CertificateError::BadSignature),
        ("not valid for name", CertificateError::NotValidForName),
        ("expired", CertificateError::Expired),
        ("not valid yet", CertificateError::NotValidYet),
        ("InvalidPurpose", CertificateError::InvalidPurpose),
        ("BadEncoding", CertificateError::BadEncoding),
    ];
    match known.into_iter().find(|(part, _)| text.contains(part)) {
        Some((_, fault @ CertificateError::NotValidForName)) => {
            let names = text.split_once("only valid for ").map_or("another host", |(_, names)| names);
            (format!("it is for {}", plain(&[names.to_owned()])), advice(&fault))
        }
        Some((_, fault)) => (of(&fault), advice(&fault)),
        None if text.contains(AUTHORITY) => (of_other(text).to_owned(), SHOWN_BY_AUTHORITY),
        None => (of_other(text).to_owned(), UNVERIFIED),
    }
}

/// The library writes host names as `DnsName("db1")` and addresses as `IpAddress(…)`.
fn plain(names: &[String]) -> String {
    let inner = |name: &String| {
        let (_, rest) = name.split_once('(').unwrap_or(("", name));
        rest.trim_end_matches(')').trim_matches('"').to_owned()
    };
    names.iter().map(inner).collect::<Vec<_>>().join(", ")
}

fn day(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX).strftime("%Y-%m-%d").to_string()
}
