//! `iostall collect run --metrics`: the page for Prometheus, from a real host.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use crate::running::Running;
use crate::support::{Ran, Workspace, skip, until};

/// Starts a collector that serves metrics on a free port. Returns its address.
fn start(workspace: &Workspace) -> (Running, String) {
    let mut collector =
        workspace.start(&["collect", "run", "--interval", "1s", "--metrics", "127.0.0.1:0", "linux:"]);
    let line = collector.wait_for("metrics at ");
    let address =
        line.trim().strip_prefix("metrics at http://").and_then(|rest| rest.strip_suffix("/metrics"));
    (collector, address.unwrap_or_else(|| panic!("{line:?} tells the address")).to_owned())
}

fn fetch(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Fetches the metrics until they contain `wanted`.
fn fetch_until(address: &str, wanted: &str) -> String {
    until(wanted, || {
        let page = fetch(address, "/metrics");
        page.contains(wanted).then_some(page)
    })
}

#[test]
fn a_host_is_scraped_over_http_while_it_is_sampled() {
    let workspace = Workspace::new();
    let (collector, address) = start(&workspace);
    let page = fetch_until(&address, "iostall_source_up{source=\"linux:\"} 1");
    let (head, body) = page.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    if body.contains("iostall_device_") {
        assert!(body.contains("# TYPE iostall_device_read_stall_seconds_total counter"), "{body}");
    } else {
        skip("metrics of devices", "no block device is counted here");
    }
    assert!(fetch(&address, "/").contains("href=\"/metrics\""));
    assert!(fetch(&address, "/favicon.ico").starts_with("HTTP/1.1 404"));
    check_with_promtool(body);
    collector.signal("INT");
    collector.ended().expect_status(0);
}

/// Checks with Prometheus's own parser and linter.
fn check_with_promtool(body: &str) {
    let spawned = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = spawned else {
        return skip("promtool check metrics", "promtool is not installed");
    };
    promtool.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    let ran: Ran = promtool.wait_with_output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_port_in_use_and_a_bad_address_are_refused_before_the_first_sample() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let in_use = taken.local_addr().unwrap().to_string();
    for (address, hint) in [(in_use.as_str(), "another port"), ("9497", "HOST:PORT")] {
        let workspace = Workspace::new();
        let ran = workspace.run(&["collect", "run", "--metrics", address, "linux:"]).expect_status(2);
        assert!(ran.stderr.contains(&format!("cannot listen on {address}")), "{}", ran.stderr);
        assert!(ran.stderr.contains(hint), "{}", ran.stderr);
        workspace.run(&["report", "server"]).expect_status(2);
    }
}
