//! Logins of Windows accounts, with a Kerberos server of the test's own. `./check --long` builds and runs this, because it
//! needs the system's Kerberos library.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use crate::sqlserver::server::Server;
use crate::support::{Ran, Workspace, skip, until};

const REALM: &str = "IOSTALL.TEST";
/// Debian's own, which has Debian's modules; another one may come first in the path.
const PYTHON: &str = "/usr/bin/python3";
const PASSWORD: &str = "of-the-account";

/// The server's side of GSSAPI: reads a ticket in hexadecimal, and prints the answer and who it was.
const ACCEPT: &str = "import gssapi, sys\n\
    context = gssapi.SecurityContext(usage='accept')\n\
    answer = context.step(bytes.fromhex(sys.stdin.read()))\n\
    print((answer or b'').hex(), context.initiator_name, context.complete)\n";

/// A Kerberos server with one account and one service.
struct Realm {
    directory: PathBuf,
    process: Child,
}

impl Realm {
    /// Starts a server that knows `service`; what is missing if it cannot.
    fn start(directory: &Path, service: &str) -> Result<Self, String> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let place = directory.display();
        let client = format!(
            "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n rdns = false\n \
             dns_canonicalize_hostname = false\n[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n[logging]\n \
             kdc = FILE:{place}/kdc.log\n"
        );
        let server = format!(
            "[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n[realms]\n {REALM} = {{\n  \
             database_name = {place}/principal\n  key_stash_file = {place}/stash\n }}\n"
        );
        std::fs::write(directory.join("krb5.conf"), client).unwrap();
        std::fs::write(directory.join("kdc.conf"), server).unwrap();
        run(directory, "kdb5_util", &["create", "-s", "-r", REALM, "-P", "master"], "")?;
        for query in [
            format!("addprinc -pw {PASSWORD} iostall"),
            format!("addprinc -randkey {service}"),
            format!("ktadd -k {place}/server.keytab {service}"),
        ] {
            run(directory, "kadmin.local", &["-r", REALM, "-q", &query], "")?;
        }
        run(directory, PYTHON, &["-c", "import gssapi"], "")?;
        let mut command = program(directory, "krb5kdc");
        let process =
            command.args(["-n", "-r", REALM]).spawn().map_err(|error| format!("krb5kdc: {error}"))?;
        Ok(Self { directory: directory.to_owned(), process })
    }

    /// Gets a ticket for the account, as soon as the server answers.
    fn kinit(&self) {
        let password = format!("{PASSWORD}\n");
        until("a ticket", || run(&self.directory, "kinit", &["iostall"], &password).ok());
    }

    /// Accepts tickets for the service.
    fn accept(&self) -> impl Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync + 'static {
        let directory = self.directory.clone();
        move |ticket| {
            let ticket: String = ticket.iter().map(|byte| format!("{byte:02x}")).collect();
            let said = run(&directory, PYTHON, &["-c", ACCEPT], &ticket).ok()?;
            let mut words = said.split_whitespace();
            let answer = words.next()?;
            if words.next()? != format!("iostall@{REALM}") || words.next()? != "True" {
                return None;
            }
            (0..answer.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(answer.get(at..at + 2)?, 16).ok())
                .collect()
        }
    }
}

impl Drop for Realm {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The variables that keep a program away from this machine's own Kerberos.
fn variables(directory: &Path) -> [(&'static str, PathBuf); 4] {
    [
        ("KRB5_CONFIG", directory.join("krb5.conf")),
        ("KRB5_KDC_PROFILE", directory.join("kdc.conf")),
        ("KRB5CCNAME", directory.join("tickets")),
        ("KRB5_KTNAME", directory.join("server.keytab")),
    ]
}

fn program(directory: &Path, name: &str) -> Command {
    let mut command = Command::new(name);
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    command.envs(variables(directory)).env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The output of a program, or why there is none.
fn run(directory: &Path, name: &str, arguments: &[&str], input: &str) -> Result<String, String> {
    let mut command = program(directory, name);
    let mut child =
        command.args(arguments).stdin(Stdio::piped()).spawn().map_err(|error| format!("{name}: {error}"))?;
    // A program that reads nothing may be gone already.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().map_err(|error| format!("{name}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    Err(format!("{name}: {said}{}", String::from_utf8_lossy(&output.stderr)))
}

/// `Integrated Security=SSPI` was refused, which is how many DBAs log in.
#[test]
fn a_windows_account_logs_in_with_its_kerberos_ticket() {
    let workspace = Workspace::new();
    let server = Server::start(None);
    server.answer_with(
        "iostall:instance",
        include_str!("../crates/collect/testdata/sqlserver/2019_instance_1.tsv"),
    );
    server
        .answer_with("iostall:files", include_str!("../crates/collect/testdata/sqlserver/2019_files_1.tsv"));
    let directory = workspace.path("realm");
    std::fs::create_dir(&directory).unwrap();
    let realm = match Realm::start(&directory, &format!("MSSQLSvc/localhost:{}", server.port)) {
        Ok(realm) => realm,
        Err(missing) => {
            return skip("kerberos::a_windows_account_logs_in_with_its_kerberos_ticket", &missing);
        }
    };
    server.let_in_tickets(Arc::new(realm.accept()));
    let collect = |source: &str| -> Ran {
        let mut command = workspace.command(&["collect", "once", source, "--timeout", "10m"]);
        command.envs(variables(&directory)).output().expect("the binary runs").into()
    };
    let source = format!("sqlserver://localhost:{}?auth=integrated", server.port);
    let without_ticket = collect(&source).expect_status(2);
    assert!(without_ticket.stderr.contains("with Kerberos"), "{}", without_ticket.stderr);
    assert!(without_ticket.stderr.contains("kinit"), "{}", without_ticket.stderr);
    realm.kinit();
    for source in [source, format!("Server=localhost,{};Integrated Security=SSPI;Encrypt=no", server.port)] {
        collect(&source).expect_status(0);
    }
    assert_eq!(server.logins().len(), 2);
    // The server has another name in the ticket's realm.
    let unknown = collect(&format!("sqlserver://127.0.0.1:{}?auth=integrated", server.port)).expect_status(2);
    assert!(unknown.stderr.contains("setspn -L"), "{}", unknown.stderr);
}
