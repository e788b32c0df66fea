//! Errors of object stores, in the words of their servers.

use std::error::Error;
use std::io;

use iostall_measure::foreign::said;
use quick_xml::escape::unescape;
use thiserror::Error;
use ureq::http::StatusCode;

/// Why a request failed. It travels inside of an [`io::Error`], so that places that read files need to know nothing of it.
#[derive(Clone, Debug, Error)]
#[error("{reason}")]
pub struct RemoteError {
    reason: String,
    hint: Option<&'static str>,
}

/// What the user can do, in the words of one kind of store.
#[derive(Debug)]
pub(crate) struct Hints {
    pub(crate) keys: &'static str,
    place: &'static str,
    network: &'static str,
    pub(crate) http: &'static str,
    pub(crate) lock: &'static str,
}

pub(crate) static S3: Hints = Hints {
    keys: "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, the region in AWS_REGION, what this account \
           may do in the bucket, and the clock of this machine",
    place: "check the name of the bucket, AWS_REGION, and AWS_ENDPOINT_URL, which names a store that is not Amazon's",
    network: "check AWS_ENDPOINT_URL and the network; without AWS_ACCESS_KEY_ID the keys are asked of the cloud's own metadata service",
    http: "name an https:// address in AWS_ENDPOINT_URL, or set AWS_ALLOW_HTTP=true to send everything unencrypted",
    lock: "lock backups in a bucket that has object lock enabled, with an account that has the right s3:PutObjectRetention, \
           or leave out --lock",
};

pub(crate) static AZURE: Hints = Hints {
    keys: "check AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, what they may do in the \
           container, and the clock of this machine",
    place: "check the name of the container, AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ENDPOINT, which names a store that is not \
            Microsoft's",
    network: "check AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ENDPOINT and the network; without a key or a token the cloud's own \
              metadata service is asked for one",
    http: "name an https:// address in AZURE_STORAGE_ENDPOINT, or set AZURE_ALLOW_HTTP=true to send everything unencrypted",
    lock: "lock backups in a container that has version-level immutability enabled, with an account that may set policies of its blobs, or \
           leave out --lock",
};

pub(crate) static GCS: Hints = Hints {
    keys: "check GOOGLE_SERVICE_ACCOUNT or GOOGLE_APPLICATION_CREDENTIALS, which name a file with a key, what this account may do in \
           the bucket (create, get, list and delete objects), and the clock of this machine",
    place: "check the name of the bucket, and GOOGLE_BASE_URL, which names a store that is not Google's",
    network: "check GOOGLE_BASE_URL and the network; without GOOGLE_SERVICE_ACCOUNT or GOOGLE_APPLICATION_CREDENTIALS the cloud's own \
              metadata service is asked for a token",
    http: "name an https:// address in GOOGLE_BASE_URL, or set GOOGLE_ALLOW_HTTP=true to send everything unencrypted",
    lock: "lock backups in a bucket that has object retention enabled, with an account that has the right storage.objects.setRetention, \
           or leave out --lock",
};

pub(crate) const OF_GCS_ENDPOINT: &str =
    "write GOOGLE_BASE_URL=https://HOST, or leave it out for Google's own";
pub(crate) const OF_ACCOUNT: &str =
    "set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN";
pub(crate) const OF_AZURE_ENDPOINT: &str = "write AZURE_STORAGE_ENDPOINT=https://HOST, with the account after it where it is not in the name of the host";
pub(crate) const OF_OTHERS: &str = "name a store that speaks S3 as s3://BUCKET/NAME, with its address in AWS_ENDPOINT_URL, Azure's as az://CONTAINER/NAME, or \
                                     Google's as gs://BUCKET/NAME";
pub(crate) const OF_ADDRESS: &str = "write s3://BUCKET/NAME, az://CONTAINER/NAME or gs://BUCKET/NAME";
pub(crate) const OF_CENTRE_ADDRESS: &str = "write https://HOST:PORT, where `iostall fleet serve` listens";
const OF_CENTRE: &str = "check that `iostall fleet serve` runs there, its port, and the network between; what was not sent stays in the store";
const OF_CENTRE_CERTIFICATE: &str = "`iostall fleet serve` shows the fingerprint of its certificate when it starts: sha256: and 64 digits. If it has a new \
                                     one, say so with `iostall fleet join --certificate`";
const OF_CLOCK: &str = "set the clock of this machine, or that of the store";

/// The code of S3 that says what to do by itself.
const CLOCK_CODE: &str = "RequestTimeTooSkewed";

/// A header of the centre's answers: code and reason of a refusal.
pub const REFUSAL: &str = "x-iostall-refusal";

pub fn hint(error: &io::Error) -> Option<&'static str> {
    error.get_ref()?.downcast_ref::<RemoteError>()?.hint
}

/// An error that is not a server's.
pub(crate) fn refused(reason: impl Into<String>, hint: Option<&'static str>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, RemoteError { reason: reason.into(), hint })
}

/// The same error once more, for another who must know.
pub(crate) fn again(error: &io::Error) -> io::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<RemoteError>()) {
        Some(remote) => io::Error::new(error.kind(), remote.clone()),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// Azure's codes of what a condition of ours has prevented; it has the same statuses for other conflicts.
const IT_EXISTS: [&str; 3] = ["BlobAlreadyExists", "ConditionNotMet", "TargetConditionNotMet"];

/// In the words of the server, without addresses and keys that may stand around them.
pub(crate) fn of_store(error: &object_store::Error, hints: &Hints) -> io::Error {
    use object_store::Error as Store;
    let text = chain(error);
    let status = status_of(&text);
    let code = element(&text, "Code");
    let is_of_azure = std::ptr::eq(hints, &raw const AZURE);
    let (kind, hint) = match error {
        // A bucket that does not exist is another fault than an object that does not.
        Store::NotFound { .. } if matches!(code, Some("NoSuchBucket" | "ContainerNotFound")) => {
            (io::ErrorKind::Other, Some(hints.place))
        }
        Store::NotFound { .. } => (io::ErrorKind::NotFound, None),
        Store::AlreadyExists { .. } | Store::Precondition { .. }
            if is_of_azure && code.is_some_and(|code| !IT_EXISTS.contains(&code)) =>
        {
            (io::ErrorKind::Other, None)
        }
        Store::AlreadyExists { .. } | Store::Precondition { .. } => (io::ErrorKind::AlreadyExists, None),
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => {
            (io::ErrorKind::PermissionDenied, Some(hints.keys))
        }
        Store::NotSupported { .. } => (io::ErrorKind::Unsupported, None),
        // Without a key the cloud's own service is asked for one, and its refusal has no kind.
        _ if status.starts_with("401") || status.starts_with("403") => {
            (io::ErrorKind::PermissionDenied, Some(hints.keys))
        }
        // Redirections are answers of another region.
        _ if status.starts_with('3') => (io::ErrorKind::Other, Some(hints.place)),
        _ if status.is_empty() => (io::ErrorKind::Other, Some(hints.network)),
        _ => (io::ErrorKind::Other, None),
    };
    let hint = if code == Some(CLOCK_CODE) { Some(OF_CLOCK) } else { hint };
    io::Error::new(kind, RemoteError { reason: reason(error, &text, &status, kind), hint })
}

pub(crate) fn of_centre(error: &ureq::Error, address: &str) -> RemoteError {
    let of_tls = match error {
        ureq::Error::Io(error) => error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()),
        _ => None,
    };
    let (reason, hint) = match of_tls {
        Some(rustls::Error::InvalidCertificate(rustls::CertificateError::Other(other))) => {
            (other.to_string(), OF_CENTRE_CERTIFICATE)
        }
        Some(rustls::Error::InvalidCertificate(_)) => (
            "no authority that this machine trusts issued the certificate of the centre for this host"
                .to_owned(),
            OF_CENTRE_CERTIFICATE,
        ),
        _ => (said(error.to_string().trim_start_matches("io: ")), OF_CENTRE),
    };
    RemoteError { reason: format!("{address}: {reason}"), hint: Some(hint) }
}

/// The same of an answer to a request that the library does not know.
pub(crate) fn of_answer(status: StatusCode, body: &[u8], hints: &Hints) -> io::Error {
    let source = format!("status code: {status}: {}", String::from_utf8_lossy(body)).into();
    let (path, store) = (String::new(), "store");
    let error = match status {
        StatusCode::NOT_FOUND => object_store::Error::NotFound { path, source },
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            object_store::Error::PermissionDenied { path, source }
        }
        StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => {
            object_store::Error::NotSupported { source }
        }
        _ => object_store::Error::Generic { store, source },
    };
    of_store(&error, hints)
}

fn reason(error: &object_store::Error, text: &str, status: &str, kind: io::ErrorKind) -> String {
    // Azure has it where others have none.
    let code = element(text, "Code").filter(|code| *code != "BlobNotFound");
    // Azure adds lines with the id and the time of the request.
    let message = element(text, "Message").and_then(|message| message.lines().next());
    let message = message.map(|message| unescape(message).unwrap_or(message.into()));
    match (code, message) {
        (Some(code), Some(message)) => said(&format!("the store answered {status} {code}: {message}")),
        (Some(code), None) => said(&format!("the store answered {status} {code}")),
        _ if kind == io::ErrorKind::NotFound => "there is no such object".to_owned(),
        _ if kind == io::ErrorKind::AlreadyExists => "it exists".to_owned(),
        _ if !status.is_empty() => format!("the store answered {status}"),
        _ => said(&innermost(error).to_string()),
    }
}

/// What the innermost cause says: those around it repeat it, with the address of the request.
fn innermost(error: &object_store::Error) -> &(dyn Error + 'static) {
    let mut last: &(dyn Error + 'static) = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last
}

fn chain(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push('\n');
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// The status of an answer, such as `403 Forbidden`, if there was one.
fn status_of(text: &str) -> String {
    let after = text.split_once("status code: ").map_or("", |(_, after)| after);
    after.split([':', '\n']).next().unwrap_or_default().trim().to_owned()
}

/// The text of the first element of this name in an answer in XML.
pub(crate) fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, after) = text.split_once(&format!("<{name}>"))?;
    after.split_once(&format!("</{name}>")).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to a wrong key repeats the key's id and what was signed, which belongs into no log.
    #[test]
    fn of_an_answer_only_code_and_message_are_repeated() {
        let answer = "Server returned non-2xx status code: 403 Forbidden: <Error><Code>SignatureDoesNotMatch</Code>\
                      <Message>The signature does not match</Message><AWSAccessKeyId>AKIDEXAMPLE</AWSAccessKeyId></Error>";
        let error = object_store::Error::PermissionDenied { path: "a".to_owned(), source: answer.into() };
        let error = of_store(&error, &S3);
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(
            error.to_string(),
            "the store answered 403 Forbidden SignatureDoesNotMatch: The signature does not match"
        );
        assert!(hint(&error).is_some_and(|hint| hint.contains("AWS_SECRET_ACCESS_KEY")));
    }

    /// Without any key, the answer was "403 Forbidden" and nothing to do about it.
    #[test]
    fn a_refusal_of_any_kind_says_which_keys_to_check() {
        let answer = "Server returned non-2xx status code: 403 Forbidden: no";
        let error = of_store(&object_store::Error::Generic { store: "S3", source: answer.into() }, &S3);
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(hint(&error).is_some_and(|hint| hint.contains("AWS_ACCESS_KEY_ID")));
    }

    #[test]
    fn a_missing_object_and_a_missing_bucket_are_two_faults() {
        let missing = |answer: &str| {
            of_store(&object_store::Error::NotFound { path: "a".to_owned(), source: answer.into() }, &S3)
        };
        assert_eq!(missing("").kind(), io::ErrorKind::NotFound);
        let bucket =
            missing("status code: 404 Not Found: <Code>NoSuchBucket</Code><Message>No bucket</Message>");
        assert_eq!(bucket.kind(), io::ErrorKind::Other);
        assert!(hint(&bucket).is_some_and(|hint| hint.contains("bucket")));
    }

    /// Azure has the status of a condition for what policies and leases forbid, too: "it exists" was said of a blob that could not
    /// be deleted.
    #[test]
    fn of_azures_conflicts_only_those_of_names_say_that_something_exists() {
        let kind = |code: &str| {
            let answer =
                format!("status code: 409 Conflict: <Code>{code}</Code><Message>No.\nRequestId:1</Message>");
            let error = object_store::Error::AlreadyExists { path: "a".to_owned(), source: answer.into() };
            of_store(&error, &AZURE)
        };
        assert_eq!(kind("BlobAlreadyExists").kind(), io::ErrorKind::AlreadyExists);
        let leased = kind("LeaseIdMissing");
        assert_eq!(leased.kind(), io::ErrorKind::Other);
        assert_eq!(leased.to_string(), "the store answered 409 Conflict LeaseIdMissing: No.");
    }

    #[test]
    fn a_wrong_clock_is_to_be_set() {
        let answer =
            "status code: 403 Forbidden: <Code>RequestTimeTooSkewed</Code><Message>Too far</Message>";
        let error = object_store::Error::PermissionDenied { path: "a".to_owned(), source: answer.into() };
        assert_eq!(hint(&of_store(&error, &S3)), Some(OF_CLOCK));
    }
}
