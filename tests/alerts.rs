//! `iostall alerts` and `iostall collect run --alerts`, with notices that are really delivered.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use iostall_measure::clock::utc_now;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::devices::LoopDevice;
use crate::support::{PATIENCE, Ran, Workspace, skip, until};

/// Reads one HTTP request. Returns head and body.
fn read_request(stream: &TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

/// A web server that answers with `statuses` in turn, and then with the last of them. Gives its port and what it got.
pub(crate) fn web_server(statuses: &'static [&'static str]) -> (u16, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, got) = channel();
    std::thread::spawn(move || {
        for (count, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let request = read_request(&stream);
            let status = statuses[count.min(statuses.len() - 1)];
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            if sender.send(request).is_err() {
                return;
            }
        }
    });
    (port, got)
}

/// A mail server that accepts one message. Returns its port and the conversation.
fn mail_server() -> (u16, Receiver<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, got) = channel();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let say = |text: &str| write!(&stream, "{text}\r\n").unwrap();
        let (mut heard, mut is_in_message) = (Vec::new(), false);
        say("220 sink ESMTP");
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap() == 0 {
                break;
            }
            let line = line.trim_end().to_owned();
            heard.push(line.clone());
            match line.split(' ').next().unwrap_or_default() {
                "." if is_in_message => {
                    is_in_message = false;
                    say("250 taken");
                }
                _ if is_in_message => {}
                "EHLO" => say("250-sink\r\n250 AUTH PLAIN"),
                "AUTH" => say("235 welcome"),
                "DATA" => {
                    is_in_message = true;
                    say("354 go on");
                }
                "QUIT" => {
                    say("221 bye");
                    break;
                }
                _ => say("250 ok"),
            }
        }
        drop(sender.send(heard));
    });
    (port, got)
}

/// Long enough that no channel times out on a stalled machine.
const PATIENT: &str = "\ntimeout = \"10m\"";

const RULE: &str = "[[rules]]\nname = \"busy\"\nwhen = \"iops\"\nover = 0.000001\nlevel = \"server\"\n\
                    operations-min = 0\nfor = \"0s\"\nnotify = [\"one\"]\n";

fn workspace(channel: &str, rules: &str) -> Workspace {
    let workspace = Workspace::new();
    std::fs::write(workspace.path("alerts.toml"), format!("[channels.one]\n{channel}\n{rules}")).unwrap();
    workspace
}

#[test]
fn a_file_is_checked_without_telling_anybody() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/alerts.toml");
    let ran = Workspace::new().run(&["alerts", "check", document]).expect_status(0);
    assert!(
        ran.stdout.contains("rule \"slow reads\": over 20 ms/read, archive 100 ms/read, flash 5 ms/read")
    );
    assert!(
        ran.stdout.contains("channel \"pager\": run /usr/local/bin/page --queue storage\n"),
        "{}",
        ran.stdout
    );
    let broken = workspace("webhook = \"https://x.example\"", "[[rules]]\nname = 1\n");
    let ran = broken.run(&["alerts", "check", "alerts.toml"]).expect_status(2);
    assert!(ran.stderr.contains("alerts.toml") && ran.stderr.contains("name = 1"), "{}", ran.stderr);
}

/// The story: a rule on the reads of PostgreSQL's tables was checked, listed and started, and could never fire: those have no times.
#[test]
fn a_rule_that_can_never_fire_is_refused_where_its_source_is_known() {
    let rule = |when: &str, over: &str, level: &str, source: &str| {
        format!(
            "[[rules]]\nname = \"r\"\nwhen = \"{when}\"\nover = {over}\nlevel = \"{level}\"\nsource = \"{source}\"\nfor = \"0s\"\n\
             notify = [\"one\"]\n"
        )
    };
    let check = |rules: &str| {
        workspace("webhook = \"https://x.example\"", rules).run(&["alerts", "check", "alerts.toml"])
    };
    let ran = check(&rule("stall-per-read", "\"1ms\"", "files", "postgres:")).expect_status(1);
    assert!(ran.stdout.contains("can never fire") && ran.stdout.contains("databases"), "{}", ran.stdout);
    for (when, over, level, source) in [
        ("size", "\"1GiB\"", "files", "mysql:"),
        ("stall-per-write", "\"1ms\"", "databases", "postgres:"),
        ("stall-per-sync", "\"1ms\"", "files", "sqlserver:"),
    ] {
        check(&rule(when, over, level, source)).expect_status(1);
    }
    for (when, over, level, source) in [
        ("stall-per-read", "\"1ms\"", "databases", "postgres:"),
        ("stall-per-sync", "\"1ms\"", "files", "mysql:"),
        ("stall-per-read", "\"1ms\"", "files", "prod-db-17"),
    ] {
        check(&rule(when, over, level, source)).expect_status(0);
    }
}

#[test]
fn a_test_reaches_a_web_server_with_its_token() {
    let (port, got) = web_server(&["200 OK"]);
    let channel = format!("webhook = \"http://127.0.0.1:{port}/hook?x=1\"\ntoken-file = \"token\"{PATIENT}");
    let workspace = workspace(&channel, RULE);
    workspace.secret("token", "s3cret\n");
    let ran = workspace.run(&["alerts", "test", "alerts.toml"]).expect_status(0);
    assert!(ran.stdout.starts_with("delivered  one: POST http://127.0.0.1"), "{}", ran.stdout);
    let (head, body) = got.recv_timeout(PATIENCE).unwrap();
    assert!(head.starts_with("POST /hook?x=1 HTTP/1.1"), "{head}");
    assert!(head.to_ascii_lowercase().contains("authorization: bearer s3cret"), "{head}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["schema"], &body["occasion"]), (&"iostall-alert".into(), &"test".into()));
}

#[test]
fn a_test_that_does_not_arrive_says_why_and_ends_with_status_1() {
    let (port, _got) = web_server(&["403 Forbidden"]);
    let refused = workspace(&format!("webhook = \"http://127.0.0.1:{port}/\"{PATIENT}"), RULE);
    let ran = refused.run(&["alerts", "test", "alerts.toml"]).expect_status(1);
    assert!(ran.stdout.contains("the server answered 403"), "{}", ran.stdout);
    let missing = workspace("command = [\"/no/such/pager\"]", RULE);
    let ran = missing.run(&["alerts", "test", "alerts.toml", "--rule", "busy"]).expect_status(1);
    assert!(ran.stdout.contains("cannot run /no/such/pager"), "{}", ran.stdout);
    let ran = missing.run(&["alerts", "test", "alerts.toml", "--rule", "other"]).expect_status(2);
    assert!(ran.stderr.contains("the rules are \"busy\""), "{}", ran.stderr);
}

#[test]
fn a_mail_is_handed_to_a_real_conversation_and_the_password_stays_out_of_the_file() {
    let (port, got) = mail_server();
    let channel = format!(
        "smtp = \"smtp://me@127.0.0.1:{port}\"\nfrom = \"iostall <iostall@example.com>\"\n\
         to = [\"dba@example.com\", \"b@example.com\"]\npassword-env = \"ALERT_TEST_PASSWORD\"{PATIENT}"
    );
    let workspace = workspace(&channel, RULE);
    let mut command = workspace.command(&["alerts", "test", "alerts.toml"]);
    let ran: Ran = command.env("ALERT_TEST_PASSWORD", "hunter2").output().unwrap().into();
    ran.expect_status(0);
    let heard = got.recv_timeout(PATIENCE).unwrap();
    let has = |text: &str| heard.iter().any(|line| line.contains(text));
    assert!(has("AUTH PLAIN"), "{heard:?}");
    assert!(has("RCPT TO:<dba@example.com>") && has("RCPT TO:<b@example.com>"), "{heard:?}");
    assert!(has("Subject: [iostall] test of busy") && has("\"schema\": \"iostall-alert\""), "{heard:?}");
    assert!(!has("hunter2"), "{heard:?}");
}

#[test]
fn a_collector_tells_of_a_silent_source_and_tries_again_where_it_was_refused() {
    let (port, got) = web_server(&["500 Internal Server Error", "200 OK"]);
    let silent = "[[rules]]\nname = \"dead\"\nwhen = \"silent\"\nsource = \"postgres\"\nfor = \"1s\"\nnotify = [\"one\"]\n";
    let workspace = workspace(&format!("webhook = \"http://127.0.0.1:{port}/\"{PATIENT}"), silent);
    let dead = "postgres://mon@127.0.0.1:9/sales";
    let arguments = ["collect", "run", "--interval", "1s", "--alerts", "alerts.toml", "linux:", dead];
    let collector = workspace.start(&arguments);
    let bodies: Vec<Value> =
        (0..2).map(|_| serde_json::from_str(&got.recv_timeout(PATIENCE).unwrap().1).unwrap()).collect();
    assert_eq!(bodies[0], bodies[1], "the same notice twice: the first was refused");
    assert_eq!((&bodies[0]["rule"], &bodies[0]["occasion"]), (&"dead".into(), &"firing".into()));
    assert_eq!(bodies[0]["source"], "postgres://127.0.0.1:9/sales");
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    assert!(
        ran.stderr.contains("alert: dead: postgres://127.0.0.1:9/sales has been silent"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("not told"), "{}", ran.stderr);
}

/// Writes a block to `device`, bypassing the page cache.
fn write_block(device: &LoopDevice) -> bool {
    let to = format!("of={}", device.name());
    let ran = Command::new("dd").args(["if=/dev/zero", &to, "bs=4k", "count=1", "oflag=direct"]).output();
    ran.is_ok_and(|output| output.status.success())
}

#[test]
fn a_collector_tells_of_a_busy_device_and_that_it_is_over() {
    let (port, got) = web_server(&["200 OK"]);
    let rule = "[[rules]]\nname = \"busy\"\nwhen = \"iops\"\nover = 0.01\noperations-min = 1\nlevel = \"volumes\"\n\
                for = \"0s\"\nnotify = [\"one\"]\n";
    let workspace = workspace(&format!("webhook = \"http://127.0.0.1:{port}/\"{PATIENT}"), rule);
    let Some(device) = LoopDevice::new(&workspace, "alerts of a device", 16) else { return };
    // A device is counted only after its first use.
    if !write_block(&device) {
        return skip("alerts of a device", "dd cannot write to a loop device");
    }
    let name = device.name().trim_start_matches("/dev/").to_owned();
    // Other devices of this machine may be busy.
    let occasion = || {
        let (_, body) = got.recv_timeout(Duration::from_millis(100)).ok()?;
        let body: Value = serde_json::from_str(&body).unwrap();
        (body["name"] == name).then(|| body["occasion"].as_str().unwrap().to_owned())
    };
    let arguments = ["collect", "run", "--interval", "1s", "--alerts", "alerts.toml", "linux:"];
    let collector = workspace.start(&arguments);
    let told = until("a notice of the busy device", || {
        assert!(write_block(&device));
        occasion()
    });
    assert_eq!(told, "firing");
    assert_eq!(until("a notice of its end", occasion), "resolved");
    collector.signal("INT");
    collector.ended().expect_status(0);
}

#[test]
fn a_channel_that_hangs_neither_delays_a_sample_nor_keeps_the_collector_from_ending() {
    let silent = "timeout = \"2s\"\nattempts = 1\n\n[[rules]]\nname = \"dead\"\nwhen = \"silent\"\n\
                  source = \"postgres\"\nfor = \"1s\"\nnotify = [\"one\"]\n";
    let workspace = workspace("command = [\"/bin/sleep\", \"3600\"]", silent);
    let dead = "postgres://mon@127.0.0.1:9/sales";
    let mut collector =
        workspace.start(&["collect", "run", "--interval", "1s", "--alerts", "alerts.toml", "linux:", dead]);
    collector.wait_for("not sent through one: did not end within 2s");
    collector.signal("INT");
    // The channel's program would sleep for an hour.
    collector.wait_until_ended();
    collector.ended().expect_status(0);
}

/// Mute hours in `zone`, relative to now: in effect only if `from_h` is not positive and `to_h` is.
fn mute(zone: &str, from_h: i64, to_h: i64) -> String {
    let here = utc_now().in_tz(zone).unwrap();
    let at = |hours: i64| (here.clone() + SignedDuration::from_hours(hours)).strftime("%H:%M").to_string();
    format!("mute = [{{ from = \"{}\", to = \"{}\", zone = \"{zone}\" }}]\n", at(from_h), at(to_h))
}

/// A quarter to six hours ahead of UTC, without daylight saving time, so that its full hours are never full
/// hours elsewhere.
const ZONE: &str = "Asia/Kathmandu";

#[test]
fn in_quiet_hours_nothing_is_told_and_the_hours_are_those_of_the_zone() {
    if TimeZone::get(ZONE).is_err() {
        return skip("quiet hours", "no time zones are known here");
    }
    let (port, got) = web_server(&["200 OK"]);
    let rule = |name: &str, mute: &str| {
        format!(
            "[[rules]]\nname = \"{name}\"\nwhen = \"silent\"\nsource = \"postgres\"\nfor = \"1s\"\n\
             notify = [\"one\"]\n{mute}\n"
        )
    };
    let all_days = format!("mute = [{{ from = \"09:30\", to = \"09:30\", zone = \"{ZONE}\" }}]\n");
    // The first two are muted now. The third is no longer muted in its own zone, but would be by London's
    // clock; the last has no mute hours. Rules are checked in this order, so a wrong notice would come first.
    let rules = [
        rule("asleep", &mute(ZONE, -2, 3)),
        rule("always asleep", &all_days),
        rule("awake", &mute(ZONE, -8, -3)),
        rule("never asleep", ""),
    ];
    let channel = format!("webhook = \"http://127.0.0.1:{port}/\"{PATIENT}");
    let workspace = workspace(&channel, &rules.concat());
    let dead = "postgres://mon@127.0.0.1:9/sales";
    let collector = workspace.start(&["collect", "run", "--interval", "1s", "--alerts", "alerts.toml", dead]);
    let told: Vec<String> = (0..2)
        .map(|_| {
            let body: Value = serde_json::from_str(&got.recv_timeout(PATIENCE).unwrap().1).unwrap();
            format!("{} {}", body["rule"].as_str().unwrap(), body["occasion"].as_str().unwrap())
        })
        .collect();
    assert_eq!(told, ["awake firing", "never asleep firing"]);
    collector.signal("INT");
    let ran = collector.ended().expect_status(0);
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("alert: ")).collect();
    assert_eq!(lines.len(), 2, "quiet is quiet on the terminal, too: {}", ran.stderr);
    assert!(got.try_recv().is_err(), "and nothing came at the end");
}

#[test]
fn a_file_of_alerts_that_cannot_be_read_is_said_before_the_first_sample() {
    let workspace = Workspace::new();
    let ran = workspace.run(&["collect", "run", "--alerts", "none.toml", "linux:"]).expect_status(2);
    assert!(
        ran.stderr.contains("cannot read the file of alerts none.toml") && ran.stderr.contains("hint:"),
        "{}",
        ran.stderr
    );
    workspace.run(&["report", "server"]).expect_status(2);
}
