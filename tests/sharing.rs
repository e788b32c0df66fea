//! Files that others use, remove, truncate or replace while iostall works on them, and misleading names.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::devices::LoopDevice;
use crate::running::Running;
use crate::support::{Workspace, skip, unmount, warnings};

const SCRATCH: &str = "iostall-scratch.dat";

/// A load that lasts until it is interrupted.
fn endless<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    ["load", "--warmup", "0", "--duration", "1h"].into_iter().chain(rest.iter().copied()).collect()
}

fn short<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    ["load", "--warmup", "0", "--duration", "300ms"].into_iter().chain(rest.iter().copied()).collect()
}

/// A run that has finished its preparation.
fn loading(here: &Workspace, arguments: &[&str]) -> Running {
    let mut run = here.start(arguments);
    run.wait_until("the load", Running::is_loading);
    run
}

fn interrupt(run: Running) {
    run.signal("INT");
    run.ended().expect_status(130);
}

/// DiskSpd returns 1 if it fails.
fn refusal_status(command: &[&str]) -> i32 {
    if command[0] == "diskspd" { 1 } else { 2 }
}

/// Creates a file that iostall recognises as its own.
fn made(here: &Workspace, name: &str) {
    here.run(&short(&["--preset", "random-read", "--size", "8M", name])).expect_status(0);
}

/// A process that holds a lock on a file until told to end.
struct Holder {
    child: Child,
}

impl Holder {
    /// `None`, with a message, if Python is not installed.
    fn start(path: &Path, lock: &str) -> Option<Self> {
        let program = format!(
            "import fcntl, struct, sys\nf = open(sys.argv[1], 'r+b')\n{lock}\nprint('locked', flush=True)\nsys.stdin.read()"
        );
        let mut python = Command::new("python3");
        python.arg("-c").arg(program).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut child) = python.spawn() else {
            skip("a file that another program has locked", "python3 is not installed");
            return None;
        };
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "locked\n");
        Some(Self { child })
    }

    fn end(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.end();
    }
}

/// Two people ran iostall in one directory. Both used the same scratch file, and the first to finish removed
/// it.
#[test]
fn a_second_run_on_the_same_scratch_file_is_refused_and_takes_nothing_from_the_first() {
    let here = Workspace::new();
    let first = loading(&here, &endless(&["--size", "8M"]));
    let inode = fs::metadata(here.path(SCRATCH)).unwrap().ino();
    for second in
        [&short(&["--size", "8M"])[..], &["sweep", "--size", "8M"], &["write", "--size", "8M", SCRATCH]]
    {
        let refused = here.run(second).expect_status(2);
        let message = format!("is in use by another run of iostall (process {})", first.id());
        assert!(refused.stderr.contains(&message), "{second:?}: {}", refused.stderr);
        assert_eq!(fs::metadata(here.path(SCRATCH)).unwrap().ino(), inode, "{second:?} replaced it");
    }
    interrupt(first);
    assert!(!here.path(SCRATCH).exists(), "the first removes what it made");
}

/// One load read a file while another wrote it, so each measured the other.
#[test]
fn readers_of_one_file_share_it_and_a_writer_of_a_file_that_is_read_is_refused() {
    let here = Workspace::new();
    made(&here, "t.dat");
    let reader = loading(&here, &endless(&["--preset", "random-read", "t.dat"]));
    made(&here, "t.dat");
    for writer in [&short(&["--preset", "random-write", "t.dat"])[..], &["write", "--size", "8M", "t.dat"]] {
        let refused = here.run(writer).expect_status(2);
        assert!(refused.stderr.contains("is in use by another run of iostall"), "{}", refused.stderr);
    }
    interrupt(reader);
    let writer = loading(&here, &endless(&["--preset", "random-write", "t.dat"]));
    let refused = here.run(&short(&["--preset", "random-read", "t.dat"])).expect_status(2);
    assert!(refused.stderr.contains("is in use by another run of iostall"), "{}", refused.stderr);
    interrupt(writer);
    assert!(here.path("t.dat").exists(), "a file that was named stays");
}

/// A database had its file open and locked; with the flag for stopped databases, iostall wrote into it while
/// it was running.
#[test]
fn a_file_that_another_program_has_locked_is_not_written_whatever_the_flags() {
    let here = Workspace::new();
    fs::write(here.path("foreign.dat"), vec![1; 8 << 20]).unwrap();
    let write = short(&["--preset", "random-write", "--overwrite", "foreign.dat", "foreign.dat"]);
    // Locks on ranges far from the start, as databases and virtual machines use, and on the whole file.
    for lock in [
        "fcntl.fcntl(f, fcntl.F_SETLK, struct.pack('hhqqi', fcntl.F_RDLCK, 0, 4096, 16, 0))",
        "fcntl.fcntl(f, fcntl.F_SETLK, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 1 << 30, 1, 0))",
        "fcntl.flock(f, fcntl.LOCK_SH)",
        "fcntl.flock(f, fcntl.LOCK_EX)",
    ] {
        let Some(mut holder) = Holder::start(&here.path("foreign.dat"), lock) else { return };
        let refused = here.run(&write).expect_status(2);
        let message = format!("is in use by python3 (process {}), which has locked it", holder.child.id());
        assert!(refused.stderr.contains(&message), "{lock}: {}", refused.stderr);
        here.run(&short(&["--preset", "random-read", "foreign.dat"])).expect_status(0);
        holder.end();
    }
    assert!(fs::read(here.path("foreign.dat")).unwrap() == vec![1; 8 << 20], "a locked file was written");
    here.run(&write).expect_status(0);
}

/// A virtual machine used the device as its disk, without a mount or exclusive open, but with locks on a few
/// bytes.
#[test]
fn a_device_that_a_virtual_machine_has_locked_is_not_written_and_one_that_udev_looks_at_is() {
    let here = Workspace::new();
    let Some(device) = LoopDevice::new(&here, "a locked device", 16) else { return };
    let write = short(&["--preset", "random-write", "--overwrite", device.name(), device.name()]);
    let bytes = "fcntl.fcntl(f, fcntl.F_SETLK, struct.pack('hhqqi', fcntl.F_RDLCK, 0, 100, 1, 0))";
    let Some(mut machine) = Holder::start(Path::new(device.name()), bytes) else { return };
    let refused = here.run(&write).expect_status(2);
    assert!(refused.stderr.contains("is in use by python3"), "{}", refused.stderr);
    machine.end();
    let Some(_udev) = Holder::start(Path::new(device.name()), "fcntl.flock(f, fcntl.LOCK_SH)") else {
        return;
    };
    here.run(&write).expect_status(0);
}

/// The same with a real database in the middle of a transaction.
#[test]
fn a_database_in_use_by_sqlite_is_not_destroyed() {
    let here = Workspace::new();
    let mut command = Command::new("sqlite3");
    command.arg(here.path("live.db")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut shell) = command.spawn() else {
        return skip("a locked SQLite database", "sqlite3 is not installed");
    };
    let mut input = shell.stdin.take().unwrap();
    input
        .write_all(b"create table t(a); begin exclusive; insert into t values(1);\n.print locked\n")
        .unwrap();
    let mut line = String::new();
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "locked\n");
    let refused = here.run(&short(&["--preset", "random-write", "--destroy-database", "live.db", "live.db"]));
    let refused = refused.expect_status(2);
    assert!(refused.stderr.contains("is in use by sqlite3"), "{}", refused.stderr);
    drop(input);
    shell.wait().unwrap();
}

/// The file was deleted or truncated during a load: the numbers came from an unlinked file, or from holes,
/// without any warning.
#[test]
fn a_target_that_is_removed_replaced_or_cut_during_the_run_is_told_with_the_run() {
    let here = Workspace::new();
    let change_during = |preset: &str, change: &dyn Fn(&Path)| {
        let _ = fs::remove_file(here.path("t.dat"));
        made(&here, "t.dat");
        let run = loading(&here, &endless(&["--preset", preset, "--json", "o.json", "t.dat"]));
        change(&here.path("t.dat"));
        run.signal("INT");
        // Requests in flight while the file was short have failed, which takes precedence.
        let status = run.ended().status;
        assert!(matches!(status, Some(130 | 1)), "{status:?}");
        warnings(&here.json("o.json"))
    };
    for preset in ["random-read", "random-write"] {
        let codes = change_during(preset, &|path| fs::remove_file(path).unwrap());
        assert!(codes.contains(&"target-replaced".to_owned()), "{preset}: {codes:?}");
        let codes = change_during(preset, &|path| {
            fs::write(path.with_extension("new"), vec![2; 8 << 20]).unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        });
        assert!(codes.contains(&"target-replaced".to_owned()), "{preset}: {codes:?}");
    }
    let codes = change_during("random-read", &|path| {
        fs::File::options().write(true).open(path).unwrap().set_len(4 << 20).unwrap();
    });
    assert!(codes.contains(&"target-cut".to_owned()), "cut: {codes:?}");
    let codes = change_during("random-read", &|path| {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_len(0).unwrap();
        file.set_len(8 << 20).unwrap();
    });
    assert!(codes.contains(&"target-cut".to_owned()), "cut and long again: {codes:?}");
}

/// The scratch file was removed by name at the end, even if the name belonged to another file by then.
#[test]
fn what_was_put_in_the_place_of_the_scratch_file_is_not_removed_with_it() {
    let here = Workspace::new();
    let run = loading(&here, &endless(&["--size", "8M"]));
    fs::remove_file(here.path(SCRATCH)).unwrap();
    fs::write(here.path(SCRATCH), "precious").unwrap();
    interrupt(run);
    assert_eq!(fs::read(here.path(SCRATCH)).unwrap(), b"precious");
    let refused = here.run(&short(&[])).expect_status(2);
    assert!(refused.stderr.contains("is in the way"), "{}", refused.stderr);
    assert_eq!(fs::read(here.path(SCRATCH)).unwrap(), b"precious");
}

/// A bind mount, undone on drop.
struct Bound(PathBuf);

impl Drop for Bound {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

/// A load on two hard links of one file was reported as the sum of two volumes.
#[test]
fn two_names_of_one_file_are_refused_as_two_targets() {
    let here = Workspace::new();
    made(&here, "t.dat");
    fs::hard_link(here.path("t.dat"), here.path("hard")).unwrap();
    symlink("t.dat", here.path("soft")).unwrap();
    symlink("new.dat", here.path("to-new")).unwrap();
    fs::write(here.path("bound"), "").unwrap();
    let bind = Command::new("mount").arg("--bind").arg(here.path("t.dat")).arg(here.path("bound")).output();
    let is_bound = bind.is_ok_and(|output| output.status.success());
    let _mount = is_bound.then(|| Bound(here.path("bound")));
    let mut others = vec![("t.dat", "hard"), ("t.dat", "soft"), ("to-new", "new.dat")];
    if is_bound {
        others.push(("t.dat", "bound"));
    } else {
        skip("a bind mount as a second name", "mount --bind is not allowed");
    }
    for (one, other) in others {
        for command in [
            &short(&["--preset", "random-read", "--size", "8M", one, other])[..],
            &["diskspd", "-d1", "-W0", "-c8M", one, other],
            &["matrix", "--quick", "--read-only", "--size", "8M", one, other],
            &["compare", "--fresh", "1", "--duration", "200ms", "--size", "8M", one, other],
        ] {
            let refused = here.run(command).expect_status(refusal_status(command));
            let message = format!("{one} and {other} are the same file or device");
            assert!(refused.stderr.contains(&message), "{command:?}: {}", refused.stderr);
        }
    }
    assert!(!here.path("new.dat").exists());
    here.run(&[
        "compare",
        "--fresh",
        "1",
        "--duration",
        "200ms",
        "--preset",
        "random-write",
        "t.dat",
        "t.dat",
    ])
    .expect_status(0);
}

/// `write --overwrite LINK` wrote to the link's target, and then removed the link.
#[test]
fn a_paced_writing_follows_a_link_and_removes_only_what_it_made() {
    let here = Workspace::new();
    let write = |rest: &[&str]| {
        let base =
            ["write", "--size", "4M", "--packet", "512K", "--interval", "1M", "--methods", "buffered,direct"];
        here.run(&[&base, rest].concat())
    };
    fs::write(here.path("users.dat"), "precious").unwrap();
    symlink("users.dat", here.path("link")).unwrap();
    write(&["link"]).expect_status(2);
    let ran = write(&["--overwrite", "link", "link"]).expect_status(0);
    assert!(ran.stderr.contains("existed before and is kept"), "{}", ran.stderr);
    assert!(fs::symlink_metadata(here.path("link")).unwrap().is_symlink(), "the link is still one");
    assert_eq!(fs::metadata(here.path("users.dat")).unwrap().len(), 4 << 20);
    // The user's file remains the user's.
    write(&["users.dat"]).expect_status(2);
    here.run(&short(&["--preset", "random-write", "users.dat"])).expect_status(2);

    fs::write(here.path("empty"), "").unwrap();
    write(&["empty"]).expect_status(0);
    assert_eq!(fs::metadata(here.path("empty")).unwrap().len(), 0, "an empty file is left as it was");
    write(&["new"]).expect_status(0);
    assert!(!here.path("new").exists());
}

/// Repeating `write --keep f` reported that iostall had not created the file.
#[test]
fn a_file_that_was_kept_is_known_again() {
    let here = Workspace::new();
    let keep = ["write", "--keep", "--size", "4M", "--packet", "512K", "--interval", "1M", "f"];
    for _ in 0..2 {
        here.run(&keep).expect_status(0);
        assert_eq!(fs::metadata(here.path("f")).unwrap().len(), 4 << 20);
    }
    here.run(&short(&["--preset", "random-write", "f"])).expect_status(0);
    here.run(&["write", "--size", "4M", "f"]).expect_status(0);
    assert!(!here.path("f").exists());
}

/// A scratch file in a database's directory ended up in its backups, or filled its volume.
#[test]
fn no_new_file_is_made_in_a_databases_directory_without_its_name() {
    let here = Workspace::new();
    for (name, sign) in
        [("pg", "PG_VERSION"), ("mysql", "ibdata1"), ("mysql8", "mysql.ibd"), ("mssql", "sales.MDF")]
    {
        fs::create_dir_all(here.path(name).join("below")).unwrap();
        fs::write(here.path(name).join(sign), "15\n").unwrap();
    }
    symlink("pg", here.path("link")).unwrap();
    for path in ["pg/t", "pg/below/t", "link/t", "mysql/t", "mysql/below/t", "mysql8/t", "mssql/t"] {
        for command in [
            &short(&["--preset", "random-read", "--size", "8M", path])[..],
            &["write", "--size", "8M", path],
            &["diskspd", "-d1", "-W0", "-c8M", path],
        ] {
            let refused = here.run(command).expect_status(refusal_status(command));
            assert!(refused.stderr.contains("would be a new file in a directory of"), "{}", refused.stderr);
            assert!(refused.stderr.contains("--overwrite "), "{}", refused.stderr);
            assert!(!here.path(path).exists(), "{path}");
        }
        let made = short(&["--preset", "random-read", "--size", "8M", "--overwrite", path, path]);
        here.run(&made).expect_status(0);
        fs::remove_file(here.path(path)).unwrap();
    }
    // iostall's own files do not make a directory look like a database's.
    for name in ["a.mdf", "b.mdf"] {
        made(&here, name);
    }
}
