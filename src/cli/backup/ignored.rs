//! No option of a verb is taken and read by nobody.

use clap::error::ErrorKind;
use clap::{Args as _, Command};

use super::{BackupVerifyArgs, DrillArgs};

const SERVER: [&str; 4] = ["verb", "--sqlserver", "sqlserver://dba@db1", "--from=x.bak"];
/// Options that are for everything, and those that go with each other, which the drill and the check on a server read.
const READ: [&str; 15] = [
    "database",
    "headers",
    "disks",
    "file",
    "sqlserver",
    "then",
    "stop_at",
    "name",
    "move_to",
    "dry_run",
    "check",
    "keep",
    "no_store",
    "require",
    "help",
];

fn value(id: &str) -> &'static str {
    match id {
        "timeout" | "until" => "2h",
        "nice" => "low",
        "limit" => "1MB/s",
        "set" => "a=b",
        "expect" => "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        _ => "1",
    }
}

/// The options of `verb` that are taken together with a server, and are no output.
fn taken(verb: &Command, more: &[&str]) -> Vec<String> {
    let options = verb.get_arguments().filter(|arg| arg.get_long().is_some());
    let options = options.filter(|arg| {
        let is_output = arg.get_help_heading() == Some("Output");
        !is_output && !READ.contains(&arg.get_id().as_str())
    });
    let is_taken = |arg: &&clap::Arg| {
        let long = format!("--{}", arg.get_long().unwrap_or_default());
        let takes_value = arg.get_action().takes_values();
        let word = if takes_value { format!("{long}={}", value(arg.get_id().as_str())) } else { long };
        let line: Vec<String> =
            SERVER.iter().chain(more).map(|word| (*word).to_owned()).chain([word]).collect();
        match verb.clone().try_get_matches_from(line) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ArgumentConflict, "{}: {error}", arg.get_id());
                false
            }
        }
    };
    options.filter(is_taken).map(|arg| arg.get_id().to_string()).collect()
}

/// The story: `backup drill --sqlserver … --until 2h` proved another point in time than the one asked for, and said nothing.
#[test]
fn a_drill_or_a_check_on_a_server_refuses_each_option_that_it_would_not_read() {
    let drill = DrillArgs::augment_args(Command::new("verb"));
    assert_eq!(taken(&drill, &["--as=y", "--move-to=z"]), Vec::<String>::new());
    let verify = BackupVerifyArgs::augment_args(Command::new("verb"));
    assert_eq!(taken(&verify, &[]), Vec::<String>::new());
}
