//! `iostall collect run --remote-write`: real receivers of remote write, through outages on both sides.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use iostall_report::exposition::metric_names;
use serde_json::Value;

use crate::running::Running;
use crate::support::{Workspace, skip, until};
use crate::unprivileged::{give, unprivileged};

/// Counts the samples of a source from 1 on: what is missing or there twice shows.
const COUNTED: &str = "iostall_source_samples_total";

/// A store of time series, in a directory and on a port of its own.
struct Store {
    directory: tempfile::TempDir,
    port: u16,
    program: &'static str,
    process: Option<Child>,
}

impl Store {
    /// `None`, said aloud, if `program` is not installed.
    fn start(program: &'static str) -> Option<Self> {
        if !Path::new("/usr/bin").join(program).exists() {
            skip("remote write", &format!("{program} is not installed"));
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("empty.yml"), "").unwrap();
        give(directory.path());
        let mut new = Self { directory, port: 0, program, process: None };
        until(program, || {
            new.port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            new.run().then_some(())
        });
        Some(new)
    }

    /// Runs it, on the port that it has. Whether that is free.
    fn run(&mut self) -> bool {
        let (place, address) = (self.directory.path(), format!("127.0.0.1:{}", self.port));
        let mut command = unprivileged(&Path::new("/usr/bin").join(self.program));
        command.current_dir(place).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let options = match self.program {
            "prometheus" => vec![
                "--config.file=empty.yml".to_owned(),
                "--storage.tsdb.path=data".into(),
                "--web.enable-remote-write-receiver".into(),
                format!("--web.listen-address={address}"),
            ],
            _ => vec!["-storageDataPath=data".to_owned(), format!("-httpListenAddr={address}")],
        };
        let mut process = command.args(options).spawn().unwrap();
        let port = self.port;
        let is_ready = until(self.program, || {
            let has_ended = process.try_wait().unwrap().is_some();
            let is_ready = get(port, "/-/healthy").starts_with("HTTP/1.");
            (is_ready || has_ended).then_some(is_ready)
        });
        self.process = Some(process);
        is_ready
    }

    fn stop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let sent = Command::new("kill").arg("-TERM").arg(process.id().to_string()).status();
        assert!(sent.unwrap().success());
        process.wait().unwrap();
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/api/v1/write", self.port)
    }

    /// The values of `selector` by time, over all that is stored.
    fn values(&self, selector: &str) -> Vec<(Value, f64)> {
        let body = |path: &str| {
            let answer = get(self.port, path);
            answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
        };
        let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut see = |time: String, value: f64| {
            let all = values.entry(time).or_default();
            // Sent twice, it must be the same both times.
            assert!(all.iter().all(|known| (known - value).abs() < 1e-9), "{selector}: {all:?} and {value}");
            all.push(value);
        };
        if self.program == "prometheus" {
            let answer: Value = serde_json::from_str(&body(&format!("/api/v1/query?query={selector}[1h]")))
                .unwrap_or_default();
            for series in answer["data"]["result"].as_array().into_iter().flatten() {
                for pair in series["values"].as_array().unwrap() {
                    see(pair[0].to_string(), pair[1].as_str().unwrap().parse().unwrap());
                }
            }
        } else {
            for line in body(&format!("/api/v1/export?match[]={selector}")).lines() {
                let series: Value = serde_json::from_str(line).unwrap();
                let times = series["timestamps"].as_array().unwrap();
                for (time, value) in times.iter().zip(series["values"].as_array().unwrap()) {
                    see(time.to_string(), value.as_f64().unwrap());
                }
            }
        }
        values.into_iter().map(|(time, all)| (Value::String(time), all[0])).collect()
    }

    /// How far the samples were counted, once there are `least`. None is missing.
    fn counted(&self, least: usize) -> usize {
        until("samples in the receiver", || {
            let counts: Vec<f64> = self.values(COUNTED).into_iter().map(|(_, value)| value).collect();
            let expected: Vec<f64> = (1..=counts.len()).map(|count| count as f64).collect();
            (counts.len() >= least && counts == expected).then_some(counts.len())
        })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Head and body of what `path` has; empty if nothing answers.
fn get(port: u16, path: &str) -> String {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
        // HTTP/1.0, so that the body is not sent in chunks.
        let _ = write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
        let _ = stream.read_to_string(&mut answer);
    }
    answer
}

fn collect(here: &Workspace, url: &str) -> Running {
    here.start(&["collect", "run", "--interval", "1s", "--remote-write", url, "linux:"])
}

fn stored(here: &Workspace) -> usize {
    let store = rusqlite::Connection::open(here.path("store.db")).unwrap();
    let count: u32 = store.query_row(include_str!("sql/stored_samples.sql"), [], |row| row.get(0)).unwrap();
    count as usize
}

/// An outage of `store`, a kill of iostall in it, and an end: everything that was sampled is there, once.
fn check_outages(store: &mut Store) {
    let here = Workspace::new();
    let mut collector = collect(&here, &store.url());
    store.counted(2);
    store.stop();
    collector.wait_for("samples wait in the store");
    let before = stored(&here);
    collector.wait_until("more samples", |_| stored(&here) > before + 1);
    collector.signal("KILL");
    collector.ended();
    let mut collector = collect(&here, &store.url());
    collector.wait_for("samples wait in the store");
    assert!(store.run());
    collector.wait_for("takes samples again");
    let more = stored(&here);
    collector.wait_until("more samples", |_| stored(&here) > more);
    collector.signal("KILL");
    collector.ended();
    let collector = collect(&here, &store.url());
    store.counted(stored(&here));
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    assert!(!ran.stderr.contains("refuse"), "{}", ran.stderr);
    let all = stored(&here);
    assert_eq!(store.counted(all), all);
}

#[test]
fn outages_of_victoria_metrics_and_kills_leave_no_gap() {
    let Some(mut store) = Store::start("victoria-metrics") else { return };
    check_outages(&mut store);
    let names = get(store.port, "/api/v1/label/__name__/values");
    let names: Value = serde_json::from_str(names.split_once("\r\n\r\n").unwrap().1).unwrap();
    let known = metric_names();
    let names: Vec<&str> =
        names["data"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(names.len() > 10 && names.iter().all(|name| known.contains(*name)), "{names:?}");
    let instances = get(store.port, "/api/v1/label/instance/values");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(instances.contains(host.trim()), "{instances}");
}

/// Prometheus refuses a whole request for one value that is older than one it has.
#[test]
fn outages_of_prometheus_and_kills_leave_no_gap() {
    let Some(mut store) = Store::start("prometheus") else { return };
    check_outages(&mut store);
}

#[test]
fn a_receiver_that_cannot_be_used_is_refused_before_the_first_sample() {
    let here = Workspace::new();
    let open = here.path("open");
    std::fs::write(&open, "hunter2\n").unwrap();
    let (open, token) = (open.display().to_string(), here.secret("token", "hunter2\n").display().to_string());
    let url = "https://metrics.invalid/api/v1/write";
    for (arguments, words) in [
        (vec!["https://me:hunter2@metrics.invalid/"], "password in the address"),
        (vec!["metrics.invalid:8428"], "http"),
        (vec!["http://metrics.invalid/", "--push-token-file", &token], "only sent over https"),
        (vec![url, "--push-token-file", &open], "chmod 600"),
        (vec![url, "--push-certificate", &token], "no certificate in PEM form"),
        (vec![url, "--push-label", "source=x"], "no label"),
    ] {
        let ran = here.run(&[&["collect", "run", "linux:", "--remote-write"], &arguments[..]].concat());
        let ran = ran.expect_status(2);
        assert!(ran.stderr.contains(words) && !ran.stderr.contains("hunter2"), "{words}: {}", ran.stderr);
    }
    here.run(&["report", "server"]).expect_status(2);
}
