//! Programs that must not outlive this one.
#![expect(unsafe_code, reason = "what happens between fork and exec has no safe form")]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};

/// Has the kernel send SIGQUIT to the program that `command` starts as soon as the thread that starts it is gone, also if this
/// process is killed.
pub fn quits_with_us(command: &mut Command) {
    let ask = || set_parent_process_death_signal(Some(Signal::QUIT)).map_err(io::Error::from);
    // SAFETY: between fork and exec, `ask` makes one system call with a number, takes no lock and allocates nothing.
    unsafe { command.pre_exec(ask) };
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, PipeReader, Read as _};
    use std::process::{Child, Stdio};

    use super::*;

    /// A shell that says which signal ends it. Whoever runs the tests may ignore that signal, and what they start with them.
    fn start() -> (Child, BufReader<PipeReader>) {
        let (reader, writer) = io::pipe().unwrap();
        let mut command = Command::new("env");
        let script = "trap 'echo quit; exit' QUIT; echo up; while :; do sleep 0.01; done";
        command.args(["--default-signal=QUIT", "/bin/sh", "-c", script]);
        command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::null());
        quits_with_us(&mut command);
        (command.spawn().unwrap(), BufReader::new(reader))
    }

    /// iostall was killed in a drill, and its server went on for weeks, on files that somebody had deleted.
    #[test]
    fn a_program_is_sent_a_signal_when_the_thread_that_started_it_is_gone() {
        let (mut child, mut output) = std::thread::spawn(|| {
            let (child, mut output) = start();
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert_eq!(line, "up\n");
            (child, output)
        })
        .join()
        .unwrap();
        let mut said = String::new();
        output.read_to_string(&mut said).unwrap();
        assert_eq!(said, "quit\n");
        child.wait().unwrap();
    }
}
