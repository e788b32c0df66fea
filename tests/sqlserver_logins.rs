//! `iostall collect` with accounts that have no password in SQL Server: managed identities and applications of Entra, tokens
//! of the user, and Windows accounts. The server and the web services that hand out tokens are mocks.

use crate::sqlserver::http::Web;
use crate::sqlserver::server::Server;
use crate::sqlserver::tls::Certificate;
use crate::support::{Ran, Workspace};

/// `{"aud":"https://database.windows.net/","exp":4000000000}`, signed by nobody.
const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJodHRwczovL2RhdGFiYXNlLndpbmRvd3MubmV0LyIsImV4cCI6NDAwMDAwMDAwMH0.c2lnbmF0dXJl";

const INSTANCE: &str = include_str!("../crates/collect/testdata/sqlserver/azure_instance.tsv");
const FILES: &str = include_str!("../crates/collect/testdata/sqlserver/azure_files.tsv");

/// What says where an identity is.
const VARIABLES: [&str; 3] = ["IDENTITY_ENDPOINT", "IDENTITY_HEADER", "AZURE_POD_IDENTITY_AUTHORITY_HOST"];

/// An Azure SQL database that lets in who sends [`TOKEN`].
struct Azure {
    workspace: Workspace,
    server: Server,
    certificate: Certificate,
}

impl Azure {
    fn new() -> Self {
        let certificate = Certificate::new();
        let server = Server::start(Some(certificate.encrypt.clone()));
        server.answer_with("iostall:instance", INSTANCE);
        server.answer_with("iostall:files", FILES);
        server.let_in_with(TOKEN);
        Self { workspace: Workspace::new(), server, certificate }
    }

    fn url(&self, user: &str, settings: &str) -> String {
        let (port, ca) = (self.server.port, self.certificate.path());
        format!("sqlserver://{user}127.0.0.1:{port}/sales?{settings}&ca={}", ca.display())
    }

    /// Takes one sample, and checks that no file and no message contains the token.
    #[track_caller]
    fn collect(&self, url: &str, variables: &[(&str, &str)]) -> Ran {
        let mut command = self.workspace.command(&["collect", "once", url, "--timeout", "10m"]);
        for name in VARIABLES {
            command.env_remove(name);
        }
        let ran: Ran = command.envs(variables.iter().copied()).output().expect("the binary runs").into();
        let (stdout, stderr) = (&ran.stdout, &ran.stderr);
        assert!(!stdout.contains(TOKEN) && !stderr.contains(TOKEN), "{stdout}\n{stderr}");
        for entry in std::fs::read_dir(self.workspace.path("")).unwrap() {
            let path = entry.unwrap().path();
            let is_store = path.to_string_lossy().contains("store.db");
            let bytes = std::fs::read(&path).unwrap_or_default();
            let has_token = bytes.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes());
            assert!(!(is_store && has_token), "{}", path.display());
        }
        ran
    }
}

fn answer(token: &str) -> String {
    format!(
        r#"{{"access_token":"{token}","expires_in":"86399","expires_on":"4000000000","token_type":"Bearer"}}"#
    )
}

/// Databases in Azure often accept accounts of Entra alone, and `auth=` was not known.
#[test]
fn a_machine_in_azure_logs_in_with_its_identity() {
    let (azure, metadata) = (Azure::new(), Web::start());
    metadata.answer("200 OK", answer(TOKEN));
    let here = [("AZURE_POD_IDENTITY_AUTHORITY_HOST", metadata.url.as_str())];
    for (user, client_id) in [("", None), ("id-1@", Some("client_id=id-1"))] {
        azure.collect(&azure.url(user, "auth=managed-identity"), &here).expect_status(0);
        let requests = metadata.requests();
        let head = &requests.last().expect("a request").head;
        let line = head.lines().next().unwrap_or_default();
        assert!(line.starts_with("GET /metadata/identity/oauth2/token?"), "{line}");
        assert!(line.contains("api-version=2018-02-01") && line.contains("database.windows.net"), "{line}");
        assert_eq!(client_id.is_some_and(|part| line.contains(part)), line.contains("client_id"), "{line}");
        assert!(head.to_ascii_lowercase().contains("metadata: true"), "{head}");
    }
    assert_eq!(azure.server.tokens(), [TOKEN, TOKEN]);
    let report = azure.workspace.run(&["report", "files", "--json", "-"]);
    assert!(!report.stdout.contains(TOKEN), "{}", report.stdout);
}

#[test]
fn an_app_in_azure_logs_in_with_its_identity() {
    let (azure, service) = (Azure::new(), Web::start());
    service.answer("200 OK", answer(TOKEN));
    let endpoint = format!("{}/msi/token", service.url);
    let variables = [("IDENTITY_ENDPOINT", endpoint.as_str()), ("IDENTITY_HEADER", "key-of-this-app")];
    let ran = azure.collect(&azure.url("", "auth=managed-identity"), &variables).expect_status(0);
    assert!(!ran.stderr.contains("key-of-this-app"), "{}", ran.stderr);
    let head = &service.requests()[0].head;
    assert!(head.starts_with("GET /msi/token?") && head.contains("api-version=2019-08-01"), "{head}");
    assert!(head.to_ascii_lowercase().contains("x-identity-header: key-of-this-app"), "{head}");
}

#[test]
fn an_identity_that_is_not_there_is_an_error_with_what_to_do() {
    let (azure, metadata) = (Azure::new(), Web::start());
    let refusal = r#"{"error":"invalid_request","error_description":"Identity not found"}"#;
    metadata.answer("400 Bad Request", refusal);
    let url = azure.url("", "auth=managed-identity");
    let nobody = "http://127.0.0.1:9";
    for (host, reason, hint) in [
        (metadata.url.as_str(), "answered 400: Identity not found", "hint: assign an identity"),
        (nobody, "there is no access token for sqlserver://127.0.0.1", "exist only on Azure"),
    ] {
        let ran = azure.collect(&url, &[("AZURE_POD_IDENTITY_AUTHORITY_HOST", host)]).expect_status(2);
        assert!(ran.stderr.contains(reason) && ran.stderr.contains(hint), "{}", ran.stderr);
    }
    let arc = [("IDENTITY_ENDPOINT", "http://localhost:40342/metadata/identity/oauth2/token")];
    let ran = azure.collect(&url, &arc).expect_status(2);
    assert!(ran.stderr.contains("Azure Arc") && ran.stderr.contains("token-command"), "{}", ran.stderr);
    assert!(azure.server.tokens().is_empty());
}

#[test]
fn an_application_logs_in_with_its_secret_from_a_file() {
    let (azure, entra) = (Azure::new(), Web::start());
    entra.answer("200 OK", answer(TOKEN));
    let secret = azure.workspace.secret("secret", "of-the-app\n");
    let settings = |tenant: &str| {
        let (authority, file) = (&entra.url, secret.display());
        format!("auth=service-principal&tenant={tenant}&authority={authority}&password-file={file}")
    };
    azure.collect(&azure.url("app-1@", &settings("t.example")), &[]).expect_status(0);
    assert!(entra.requests()[0].body.contains("client_secret=of-the-app"), "{:?}", entra.requests());
    let expired = r#"{"error":"invalid_client","error_description":"AADSTS7000222: The secret of-the-app expired.\r\nTrace ID: 1"}"#;
    let entra = Web::start();
    entra.answer("401 Unauthorized", expired);
    let settings =
        format!("auth=service-principal&tenant=t&authority={}&password-file={}", entra.url, secret.display());
    let ran = azure.collect(&azure.url("app-1@", &settings), &[]).expect_status(2);
    assert!(ran.stderr.contains("answered 401: AADSTS7000222: The secret … expired"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("hint: check the client id") && !ran.stderr.contains("Trace"),
        "{}",
        ran.stderr
    );
}

/// The token of `az` without `--resource` is for another service, and SQL Server says no more than that the login failed.
#[test]
fn a_token_of_the_user_is_sent_and_one_that_is_refused_is_explained() {
    let azure = Azure::new();
    let file = azure.workspace.secret("token", TOKEN);
    for setting in [format!("token-file={}", file.display()), format!("token-command=cat {}", file.display())]
    {
        azure.collect(&azure.url("", &format!("auth=entra&{setting}")), &[]).expect_status(0);
    }
    azure.collect(&azure.url("", "auth=entra&token-env=THE_TOKEN"), &[("THE_TOKEN", TOKEN)]).expect_status(0);
    azure.server.let_in_with("another");
    let ran = azure.collect(&azure.url("", "auth=entra&token-env=THE_TOKEN"), &[("THE_TOKEN", TOKEN)]);
    let ran = ran.expect_status(2);
    assert!(ran.stderr.contains("Login failed for user '<token-identified principal>'"), "{}", ran.stderr);
    assert!(ran.stderr.contains("iostall collect grants sqlserver"), "{}", ran.stderr);
    let failing = azure.url("", "auth=entra&token-command=sh -c exit");
    let ran = azure.collect(&failing, &[]).expect_status(2);
    assert!(ran.stderr.contains("the output of sh is not an access token"), "{}", ran.stderr);
}

/// `Integrated Security=SSPI` was answered as if no version of iostall could ever log in with a Windows account.
#[test]
fn a_windows_account_in_a_build_without_kerberos_is_answered_with_how_to_build_one() {
    if cfg!(feature = "kerberos") {
        return;
    }
    let workspace = Workspace::new();
    for source in
        ["sqlserver://db1.corp.example?auth=integrated", "Server=db1.corp.example;Trusted_Connection=yes"]
    {
        let ran = workspace.run(&["collect", "once", source]).expect_status(2);
        assert!(ran.stderr.contains("built without Kerberos"), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("hint: build it with `cargo build --release --features kerberos`"),
            "{}",
            ran.stderr
        );
    }
}
