//! Logins with access tokens of Entra, at the mock server and a mock of Entra.

use std::path::PathBuf;

use iostall_collect::{Address, Secret, Source, SourceError, open};

use crate::http::Web;
use crate::server::{Encrypt, Server};
use crate::tls::Certificate;
use crate::{LIMIT, assert_is_whole, server_of_2019};

const CLIENT_SECRET: &str = "client~secret";

/// A server that lets nobody in yet, with the certificate that its clients need.
fn server() -> (Server, Certificate) {
    let certificate = Certificate::new();
    let encrypt: Encrypt = certificate.encrypt.clone();
    (server_of_2019(Some(encrypt)), certificate)
}

fn source(url: &str) -> Result<Box<dyn Source>, SourceError> {
    let address: Address = url.parse().unwrap_or_else(|error| panic!("{url}: {error}"));
    open(address, Secret::typed(CLIENT_SECRET.to_owned()), LIMIT)
}

fn application(server: &Server, certificate: &Certificate, entra: &Web) -> Box<dyn Source> {
    let (port, ca) = (server.port, certificate.path());
    source(&format!(
        "sqlserver://app-1@127.0.0.1:{port}?auth=service-principal&tenant=t.example&password-env=NOT_READ&authority={}&ca={}",
        entra.url,
        ca.display()
    ))
    .unwrap()
}

fn answer(token: &str, seconds: u64) -> String {
    format!(r#"{{"token_type":"Bearer","expires_in":{seconds},"access_token":"{token}"}}"#)
}

/// Only logins with a password were known, which many servers in Azure do not have.
#[test]
fn an_application_gets_a_token_with_its_secret_and_keeps_it_until_it_expires() {
    let ((server, certificate), entra) = (server(), Web::start());
    entra.answer("200 OK", answer("first-token", 3599));
    server.let_in_with("first-token");
    let mut source = application(&server, &certificate, &entra);
    assert_is_whole(&source.read().unwrap());
    let [request] = &entra.requests()[..] else { panic!("{:?}", entra.requests()) };
    assert!(request.head.starts_with("POST /t.example/oauth2/v2.0/token "), "{}", request.head);
    for field in [
        "grant_type=client_credentials",
        "client_id=app-1",
        "client_secret=client%7Esecret",
        "scope=https%3A%2F%2Fdatabase.windows.net%2F.default",
    ] {
        let body = request.body.replace('~', "%7E");
        assert!(body.split('&').any(|part| part == field), "{field}: {body}");
    }
    // Another connection needs no other token.
    server.end_connections();
    assert_is_whole(&source.read().unwrap());
    assert_eq!((server.tokens().len(), entra.requests().len()), (2, 1));
}

#[test]
fn a_token_in_its_last_minutes_is_not_used_for_another_connection() {
    let ((server, certificate), entra) = (server(), Web::start());
    entra.answer("200 OK", answer("short-token", 240));
    entra.answer("200 OK", answer("next-token", 3599));
    server.let_in_with("short-token");
    let mut source = application(&server, &certificate, &entra);
    source.read().unwrap();
    // The connection itself lasts: no token is needed for it.
    source.read().unwrap();
    assert_eq!(entra.requests().len(), 1);
    server.let_in_with("next-token");
    server.end_connections();
    source.read().unwrap();
    assert_eq!(server.tokens(), ["short-token", "next-token"]);
}

/// An administrator who takes a right away and gives it back should not have to wait for an hour.
#[test]
fn a_token_that_the_server_refused_is_not_used_again() {
    let ((server, certificate), entra) = (server(), Web::start());
    entra.answer("200 OK", answer("old-token", 3599));
    entra.answer("200 OK", answer("new-token", 3599));
    server.let_in_with("new-token");
    let mut source = application(&server, &certificate, &entra);
    let error = source.read().unwrap_err();
    assert!(
        matches!(&error, SourceError::Login { user, .. } if user == "service principal app-1"),
        "{error:?}"
    );
    assert!(error.hint().contains("iostall collect grants sqlserver"), "{}", error.hint());
    assert!(!format!("{error:?}").contains("old-token"), "the server repeats it: {error:?}");
    assert_is_whole(&source.read().unwrap());
}

#[test]
fn a_refusal_of_entra_is_shown_with_its_number_and_without_the_secret() {
    let ((server, certificate), entra) = (server(), Web::start());
    let refused = format!(
        r#"{{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret {CLIENT_SECRET}. Trace ID: 7"}}"#
    );
    entra.answer("401 Unauthorized", refused);
    let error = application(&server, &certificate, &entra).read().unwrap_err();
    assert!(matches!(error, SourceError::TokenRefused { .. }), "{error:?}");
    let said = format!("{error} {} {error:?}", error.hint());
    assert!(said.contains("answered 401: AADSTS7000215: Invalid client secret"), "{said}");
    assert!(said.contains("AADSTS can be looked up") && !said.contains("Trace ID"), "{said}");
    assert!(!said.contains(CLIENT_SECRET), "{said}");
    assert!(server.tokens().is_empty());
    // A service that is busy may not be in a minute.
    let busy = Web::start();
    busy.answer("503 Service Unavailable", "");
    let error = application(&server, &certificate, &busy).read().unwrap_err();
    assert!(matches!(error, SourceError::Token { .. }), "{error:?}");
    assert!(error.longest_pause() < SourceError::Defect.longest_pause(), "{error:?}");
    // A redirect would take the secret elsewhere.
    let elsewhere = Web::start();
    elsewhere.answer("307 Temporary Redirect", "");
    let error = application(&server, &certificate, &elsewhere).read().unwrap_err();
    assert!(error.to_string().contains("answered 307"), "{error}");
}

/// A file that the user renews.
struct File {
    directory: tempfile::TempDir,
}

impl File {
    fn new(text: &str) -> Self {
        let file = Self { directory: tempfile::tempdir().unwrap() };
        file.write(text);
        file
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("token")
    }

    fn write(&self, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(self.path(), text).unwrap();
        std::fs::set_permissions(self.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// `{"aud":"https://management.azure.com/","exp":4000000000}`, what `az account get-access-token` gives on its own.
const FOR_MANAGEMENT: &str = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJodHRwczovL21hbmFnZW1lbnQuYXp1cmUuY29tLyIsImV4cCI6NDAwMDAwMDAwMH0.c2lnbmF0dXJl";

#[test]
fn a_token_of_the_user_is_read_again_for_each_connection_and_a_wrong_one_is_explained() {
    let (server, certificate) = server();
    let file = File::new(FOR_MANAGEMENT);
    let (port, ca) = (server.port, certificate.path());
    let url = |token: &str| format!("sqlserver://127.0.0.1:{port}?auth=entra&{token}&ca={}", ca.display());
    let by_file = url(&format!("token-file={}", file.path().display()));
    let by_command = url(&format!("token-command=cat {}", file.path().display()));
    server.let_in_with("good-token");
    for url in [&by_file, &by_command] {
        file.write(FOR_MANAGEMENT);
        let mut source = source(url).unwrap();
        let error = source.read().unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(said.contains("the token is for https://management.azure.com/"), "{said}");
        assert!(!said.contains(FOR_MANAGEMENT), "{said}");
        file.write("good-token\n");
        assert_is_whole(&source.read().unwrap());
    }
    file.write("ERROR: not logged in");
    let error = source(&by_file).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("is not an access token"), "{error}");
    let error = source(&url("token-file=/nowhere/token")).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("/nowhere/token"), "{error}");
    let error = source(&url("token-env=IOSTALL_NOT_SET")).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("IOSTALL_NOT_SET"), "{error}");
    let error = source(&url("token-command=false")).unwrap().read().unwrap_err();
    assert!(error.to_string().contains("false ended with exit status: 1"), "{error}");
}

/// A token is worth as much as a password.
#[test]
fn a_token_is_never_sent_to_a_server_that_was_not_verified() {
    let server = server_of_2019(None);
    let file = File::new("good-token");
    let url =
        |port: u16| format!("sqlserver://127.0.0.1:{port}?auth=entra&token-file={}", file.path().display());
    // This machine is no exception, as it is for passwords.
    let error = source(&url(server.port)).unwrap().read().unwrap_err();
    assert!(matches!(error, SourceError::Connect { .. }), "{error:?}");
    let (other, _) = self::server();
    let error = source(&url(other.port)).unwrap().read().unwrap_err();
    assert!(matches!(error, SourceError::Certificate { .. }), "{error:?}");
    assert!(server.tokens().is_empty() && other.tokens().is_empty());
    for open in ["tls=off", "tls=unverified"] {
        let error = format!("{}&{open}", url(other.port)).parse::<Address>().unwrap_err();
        assert!(error.to_string().contains("only sent to a server whose certificate"), "{error}");
    }
}
