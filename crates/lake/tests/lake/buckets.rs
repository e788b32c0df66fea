//! A lake in a bucket: moto's server, and s3s-fs, which checks every signature.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use iostall_measure::{Clock as _, MonotonicClock};
use iostall_test_programs::{moto, s3s};
use serde_json::json;

use crate::postgres::{Postgres, day, fill};
use crate::reader::Reader;
use crate::{printed, skip};

const KEY: &str = "AKIDOFLAKE";
const SECRET: &str = "averysecretkey";

/// A store with the bucket `history`, which ends with this.
struct Store {
    process: Child,
    port: u16,
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Store {
    /// Waits for the port that it says in its log.
    fn started(mut command: Command, log: &Path) -> Self {
        let mut store = Self { process: command.spawn().unwrap(), port: 0 };
        let clock = MonotonicClock::new();
        for _ in 0..6000 {
            let said = fs::read_to_string(log).unwrap_or_default();
            let after = said.split_once("http://127.0.0.1:").map(|(_, after)| after);
            let port =
                after.and_then(|after| after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
            if let Some(port) = port {
                store.port = port;
                return store;
            }
            clock.sleep_until(clock.now_ns() + 20_000_000);
        }
        panic!("no store: {}", fs::read_to_string(log).unwrap_or_default());
    }

    fn of_moto(directory: &Path) -> Option<Self> {
        let Some(program) = moto() else {
            skip("the lake in a bucket", "moto cannot be installed");
            return None;
        };
        let log = directory.join("moto.log");
        let mut command = Command::new(program);
        command
            .args(["-H", "127.0.0.1", "-p", "0"])
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap());
        let store = Self::started(command, &log);
        let head = format!(
            "PUT /history HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\nAuthorization: AWS4-HMAC-SHA256 \
             Credential={KEY}/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0\r\n\r\n"
        );
        let mut answer = String::new();
        let mut stream = TcpStream::connect(("127.0.0.1", store.port)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(" 200 "), "{answer}");
        Some(store)
    }

    fn of_s3s(directory: &Path) -> Option<Self> {
        let Some(program) = s3s() else {
            skip("the lake in a bucket", "s3s-fs cannot be built");
            return None;
        };
        let (root, log) = (directory.join("s3s"), directory.join("s3s.log"));
        fs::create_dir_all(root.join("history")).unwrap();
        let mut command = Command::new(program);
        command
            .args(["--host", "127.0.0.1", "--port", "0", "--access-key", KEY, "--secret-key", SECRET])
            .arg(&root);
        command.env("RUST_LOG", "s3s_fs=info").env("NO_COLOR", "1");
        command.stdout(fs::File::create(&log).unwrap()).stderr(Stdio::null());
        Some(Self::started(command, &log))
    }

    /// Moves two days to the store, and reads them there.
    fn check(&self) {
        let Some(server) = Postgres::start() else { return };
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        let properties = json!({
            "s3.endpoint": endpoint, "s3.access-key-id": KEY, "s3.secret-access-key": SECRET, "s3.region": "us-east-1",
        });
        let Some(mut reader) = Reader::start(&server.python_url(), &properties) else { return };
        let mut history = server.history();
        fill(&mut history, "sqlserver://db1", day(1), 200);
        fill(&mut history, "sqlserver://db2", day(1), 100);
        drop(history);
        let mut command = Command::new(env!("CARGO_BIN_EXE_iostall-lake"));
        command.args(["move", &server.url(), "--to", "s3://history/fleet"]);
        let address = |command: &mut Command, secret: &str| {
            command
                .env("AWS_ENDPOINT_URL", &endpoint)
                .env("AWS_ALLOW_HTTP", "true")
                .env("AWS_REGION", "us-east-1");
            command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", secret);
        };
        address(&mut command, SECRET);
        let moved = printed(&command.output().unwrap());
        assert_eq!(moved.lines().count(), 2, "{moved}");
        assert_eq!(reader.rows_of_both(), [600, 600, 0, 2]);
        assert_eq!(reader.query(include_str!("sql/counts_there.sql"))[0][0], "600");
        assert_eq!(server.sql(include_str!("sql/counts_here.sql")), "0");
    }
}

#[test]
fn days_move_to_a_bucket_of_moto() {
    let directory = tempfile::tempdir().unwrap();
    if let Some(store) = Store::of_moto(directory.path()) {
        store.check();
    }
}

#[test]
#[ignore = "runs at length: tests/long.md"]
fn days_move_to_a_bucket_that_checks_signatures() {
    let directory = tempfile::tempdir().unwrap();
    if let Some(store) = Store::of_s3s(directory.path()) {
        store.check();
    }
}
