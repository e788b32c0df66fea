//! Everything in `tsql/`, and the collector, on a real SQL Server: the one that `IOSTALL_TEST_SQLSERVER_URL` names, such as
//! `sqlserver://sa@db1:1433`, with its password in `IOSTALL_TEST_SQLSERVER_PASSWORD`. The login must be a sysadmin. A
//! database of its own is made and dropped.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use iostall_collect::{Address, History, Position, Secret, open};
use jiff::Timestamp;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

use crate::LIMIT;

/// A connection that runs scripts.
struct Server {
    runtime: Runtime,
    client: Client<Compat<TcpStream>>,
}

impl Server {
    fn connect(address: &Address, password: &str, database: &str) -> Self {
        let mut config = Config::new();
        config.host(&address.host);
        config.port(address.port);
        config.database(database);
        config.authentication(AuthMethod::sql_server(&address.user, password));
        config.encryption(EncryptionLevel::Required);
        config.trust_cert();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let stream = TcpStream::connect(config.get_addr()).await.unwrap();
            Box::pin(Client::connect(config, stream.compat_write())).await.unwrap()
        });
        Self { runtime, client }
    }

    /// Runs a batch; it must succeed.
    fn run(&mut self, batch: &str) {
        let done =
            self.runtime.block_on(async { self.client.simple_query(batch).await?.into_results().await });
        done.unwrap_or_else(|error| panic!("{error}\nin: {batch}"));
    }

    /// Runs a script as sqlcmd does: batch by batch.
    fn run_script(&mut self, script: &str) {
        let mut batch = String::new();
        for line in script.lines().chain(["GO"]) {
            if line.trim() == "GO" {
                if !batch.trim().is_empty() {
                    self.run(&batch);
                }
                batch.clear();
            } else {
                batch.push_str(line);
                batch.push('\n');
            }
        }
    }

    fn number(&mut self, query: &str) -> i64 {
        let row = self.runtime.block_on(async { self.client.simple_query(query).await?.into_row().await });
        row.unwrap().and_then(|row| row.get::<i64, _>(0)).unwrap_or_else(|| panic!("no number: {query}"))
    }
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tsql")
}

/// What an administrator does for a new version: upgrades, then everything in install/.
fn install(server: &mut Server) {
    for directory in ["upgrades", "install"] {
        let files = std::fs::read_dir(scripts().join(directory)).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> =
            files.filter(|path| path.extension().is_some_and(|end| end == "sql")).collect();
        files.sort();
        for file in files {
            server.run_script(&std::fs::read_to_string(file).unwrap());
        }
    }
}

const FILL_TABLE: &str = include_str!("../../testdata/sql/sqlserver_fill_table.sql");
const SAMPLES: &str = include_str!("../../testdata/sql/sqlserver_samples.sql");
const RATES: &str = include_str!("../../testdata/sql/sqlserver_rates.sql");
const OBJECTS: &str = include_str!("../../testdata/sql/sqlserver_objects.sql");
const TABLES: &str = include_str!("../../testdata/sql/sqlserver_tables.sql");

#[test]
fn a_real_server_installs_samples_is_read_upgrades_and_uninstalls() {
    let Ok(url) = std::env::var("IOSTALL_TEST_SQLSERVER_URL") else {
        let text = "SKIPPED: IOSTALL_TEST_SQLSERVER_URL is not set: nothing was tested on a real SQL Server";
        // Written to the stream itself, past the test harness's capture.
        let _ = writeln!(std::io::stderr(), "{text}");
        return;
    };
    let password = std::env::var("IOSTALL_TEST_SQLSERVER_PASSWORD").expect("a password");
    let address: Address = url.parse().unwrap();
    let name = format!("iostall_test_{}", std::process::id());
    let mut master = Server::connect(&address, &password, "master");
    master.run(&format!("CREATE DATABASE {name}"));
    let mut server = Server::connect(&address, &password, &name);

    // Twice: the second time nothing is made and nothing is lost.
    install(&mut server);
    server.run("EXEC iostall.take_sample");
    install(&mut server);
    assert_eq!(server.number(SAMPLES), 1);
    server.run_script(FILL_TABLE);
    server.run("EXEC iostall.run_samples @interval_s = 1, @duration_s = 4, @database = NULL, @file = NULL");
    server.run(&format!("EXEC iostall.take_sample @database = N'{name}'"));
    assert!(server.number(SAMPLES) >= 4);
    assert!(server.number(RATES) > 0, "what was written is in the rates");
    server.run("EXEC iostall.roll_up_samples; EXEC iostall.roll_up_samples; EXEC iostall.purge_history");

    // The collector reads what was gathered there, and the server itself.
    let address =
        Address { database: name.clone(), tls: iostall_collect::address::Tls::Unverified, ..address };
    let mut history = History::open(address.clone(), &Secret::typed(password.clone()), LIMIT).unwrap();
    let filters = history.filters().unwrap();
    assert_eq!(filters.len(), 2, "{filters:?}");
    let batch = history.read("", &Position::after(Timestamp::UNIX_EPOCH)).unwrap();
    assert!(batch.samples.len() >= 4 && batch.samples.iter().all(|sample| !sample.rows.is_empty()));
    let own =
        open(Address { database: String::new(), ..address }, Secret::typed(password), LIMIT).unwrap().read();
    let own = own.unwrap();
    let last = batch.samples.last().unwrap();
    assert_eq!((&own.epoch, &own.taken.clock), (&last.epoch, &last.taken.clock), "one server, one life");

    // Uninstalled, the history stays; installed again it is there; deleted only in so many words.
    let uninstall = std::fs::read_to_string(scripts().join("uninstall.sql")).unwrap();
    server.run_script(&uninstall);
    assert_eq!(server.number(OBJECTS), 0);
    assert!(server.number(SAMPLES) >= 4);
    install(&mut server);
    assert!(server.number(RATES) > 0);
    server.run_script(
        &uninstall
            .replace("@history NVARCHAR(40) = N'keep'", "@history NVARCHAR(40) = N'delete all history'"),
    );
    assert_eq!(server.number(TABLES), 0);
    drop(server);
    master
        .run(&format!("ALTER DATABASE {name} SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE {name}"));
}

/// The loop of `tsql/README.md` went on after a script that failed, up to the last one, which recorded a version.
#[test]
fn the_installation_stops_at_a_script_that_fails() {
    use std::os::unix::fs::PermissionsExt;
    let readme = std::fs::read_to_string(scripts().join("README.md")).unwrap();
    let (_, after) = readme.split_once("```sh\n").unwrap();
    let (commands, _) = after.split_once("```").unwrap();
    let place = tempfile::tempdir().unwrap();
    let fake = place.path().join("sqlcmd");
    let log = place.path().join("log");
    let script =
        format!("#!/bin/sh\necho \"$*\" >> {}\ncase \"$*\" in *05_*) exit 1;; esac\n", log.display());
    std::fs::write(&fake, script).unwrap();
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", commands]).current_dir(scripts().join("..")).env("PATH", path);
    let output = shell.output().unwrap();
    let ran = std::fs::read_to_string(&log).unwrap();
    assert!(
        ran.contains("04_create_rate_views.sql") && ran.contains("05_create_sample_procedure.sql"),
        "{ran}"
    );
    assert!(!ran.contains("06_") && !ran.contains("09_record_version"), "{ran}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("stopped at"), "{output:?}");
}
