//! Inputs that users name must not exhaust memory or block forever.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use crate::support::{Ran, Workspace};

/// Runs the program with so little address space that unbounded reading fails early.
fn run_small(workspace: &Workspace, arguments: &[&str]) -> Ran {
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 3000000; exec \"$@\"", "sh"]);
    limited.arg(crate::support::binary()).args(arguments);
    limited.current_dir(workspace.path("")).env("IOSTALL_STORE", workspace.path("store.db"));
    limited.stdin(Stdio::null()).output().expect("a shell").into()
}

/// `diskspd -X/dev/zero` was killed at 22 GB, as was every other command that reads a file.
#[test]
fn an_input_without_an_end_is_refused_and_not_read_until_memory_is_gone() {
    let workspace = Workspace::new();
    std::fs::write(workspace.path("jobs.csv"), "a,1\n").unwrap();
    // A device under another name, left by an attacker or by mistake.
    std::os::unix::fs::symlink("/dev/zero", workspace.path("link")).unwrap();
    for endless in ["/dev/zero", "link"] {
        let option = format!("-X{endless}");
        let source = format!("mysql://u@127.0.0.1:9?password-file={endless}");
        let ca = format!("postgres://u@127.0.0.1:9?ca={endless}");
        for (arguments, status) in [
            (&["diskspd", &option][..], 3),
            (&["load", "--profile", endless, "t"], 2),
            (&["compare", "--fresh", "2", "--profile", endless, "t"], 2),
            (&["compare", "--work", endless, "jobs.csv"], 2),
            (&["alerts", "check", endless], 2),
            (&["verify", endless], 2),
            (&["collect", "once", &source], 2),
            (&["collect", "once", &ca], 2),
        ] {
            let ran = run_small(&workspace, arguments).expect_status(status);
            assert!(ran.stderr.contains("is a device and not a"), "{arguments:?}: {}", ran.stderr);
        }
    }
}

/// A file named by mistake, such as a database or a disk image.
#[test]
fn a_file_that_is_too_large_is_named_and_not_read() {
    let workspace = Workspace::new();
    let image = std::fs::File::create(workspace.path("image")).unwrap();
    image.set_len(1 << 40).unwrap();
    for arguments in [
        &["load", "--profile", "image", "t"][..],
        &["compare", "--work", "image", "image"],
        &["alerts", "check", "image"],
        &["verify", "image"],
    ] {
        let ran = run_small(&workspace, arguments).expect_status(2);
        assert!(ran.stderr.contains("image is larger than"), "{arguments:?}: {}", ran.stderr);
    }
}

/// `iostall load --profile <(make-profile)` and `vault read … | iostall verify /dev/stdin` are normal uses;
/// an endless pipe is not.
#[test]
fn a_pipe_is_read_to_its_end_and_not_beyond_what_there_can_be() {
    let workspace = Workspace::new();
    let profile = "name = 'piped'\n[[role]]\nname = 'data'\nblock-size = '8K'\n";
    let piped = |arguments: &[&str], write: &dyn Fn(&mut dyn std::io::Write)| -> Ran {
        let mut command = workspace.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        write(&mut child.stdin.take().unwrap());
        child.wait_with_output().unwrap().into()
    };
    let arguments = ["load", "--profile", "/dev/stdin", "--warmup", "0", "--duration", "1s", "--size", "1M"];
    let ran = piped(&arguments, &|pipe| pipe.write_all(profile.as_bytes()).unwrap());
    assert!(ran.expect_status(0).stdout.contains("piped"));

    // The writer gets a broken pipe.
    let endless =
        |line: &'static [u8]| move |pipe: &mut dyn std::io::Write| while pipe.write_all(line).is_ok() {};
    let ran = piped(&arguments, &endless(b"# a remark\n")).expect_status(2);
    assert!(ran.stderr.contains("is larger than 1 MiB"), "{}", ran.stderr);
    let ran = piped(&["verify", "/dev/stdin"], &endless(b"no list\n")).expect_status(2);
    assert!(ran.stderr.contains("line 1 is not a checksum"), "{}", ran.stderr);
    let ran = piped(&["verify", "/dev/stdin"], &endless(b"x")).expect_status(2);
    assert!(ran.stderr.contains("line 1 is longer than"), "{}", ran.stderr);
}

/// A password file readable by everyone was accepted silently. PostgreSQL's own clients refuse it.
#[test]
fn a_password_file_that_others_can_read_is_refused() {
    let workspace = Workspace::new();
    let path = workspace.secret("pw", "hunter2\n");
    let ask = |mode| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let url = format!("mysql://u@127.0.0.1:9?password-file={}", path.display());
        workspace.run(&["collect", "once", &url]).expect_status(2).stderr
    };
    for (mode, octal) in [(0o666, "0666"), (0o644, "0644"), (0o640, "0640"), (0o604, "0604")] {
        let said = ask(mode);
        assert!(said.contains(&format!("has mode {octal}")), "{said}");
        assert!(said.contains(&format!("hint: chmod 600 {}", path.display())), "{said}");
    }
    for mode in [0o600, 0o400] {
        let said = ask(mode);
        assert!(said.contains("cannot connect"), "{said}");
    }
}

/// The same for secrets of channels, which are checked before a collector runs for months.
#[test]
fn a_secret_of_a_channel_that_others_can_read_is_said_when_the_file_of_alerts_is_read() {
    let workspace = Workspace::new();
    let token = workspace.secret("token", "s3cret\n");
    let text = "[channels.hook]\nwebhook = 'http://127.0.0.1:9/'\ntoken-file = 'token'\n\
                [[rules]]\nname = 'silent'\nwhen = 'silent'\nfor = '1m'\nnotify = ['hook']\n";
    std::fs::write(workspace.path("alerts.toml"), text).unwrap();
    workspace.run(&["alerts", "check", "alerts.toml"]).expect_status(0);
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ran = workspace.run(&["alerts", "check", "alerts.toml"]).expect_status(2);
    assert!(ran.stderr.contains("has mode 0644") && ran.stderr.contains("chmod 600"), "{}", ran.stderr);
}

/// Before writing to a directory, iostall checks whether it belongs to a database. A pipe named like a
/// database's version file blocked it until something was written to the pipe.
#[test]
fn a_pipe_named_like_a_database_s_version_holds_nothing_up() {
    let workspace = Workspace::new();
    let made = Command::new("mkfifo").arg(workspace.path("PG_VERSION")).status().unwrap();
    assert!(made.success());
    std::fs::write(workspace.path("t"), vec![0; 1 << 20]).unwrap();
    let mut running = workspace.start(&["load", "--write-pct", "100", "--duration", "1s", "t"]);
    running.wait_until_ended();
    let ran = running.ended().expect_status(2);
    assert!(ran.stderr.contains("--overwrite"), "{}", ran.stderr);
}
