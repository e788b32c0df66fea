//! Why a process may not use io_uring, and how to allow it.

use std::io;

use crate::request::EngineError;

const ENGINE: &str = "io_uring";

/// The current setting that disables rings; `None` on kernels before 6.6, which have none.
pub(super) fn policy() -> Option<String> {
    let setting = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok()?;
    Some(setting.trim().to_owned())
}

pub(super) fn explain(source: io::Error, policy: Option<&str>) -> EngineError {
    let unavailable =
        |cause: String, hint: &str| EngineError::Unavailable { engine: ENGINE, cause, hint: hint.into() };
    match (source.raw_os_error(), policy) {
        (Some(libc::EPERM), Some("2")) => unavailable(
            "kernel.io_uring_disabled is 2: disabled for everybody".into(),
            "sysctl -w kernel.io_uring_disabled=0",
        ),
        (Some(libc::EPERM), Some("1")) => unavailable(
            "kernel.io_uring_disabled is 1: allowed only for root and the group in kernel.io_uring_group"
                .into(),
            "sysctl -w kernel.io_uring_disabled=0, or sysctl -w kernel.io_uring_group=$(id -g)",
        ),
        (Some(libc::EPERM | libc::EACCES), _) => unavailable(
            format!(
                "io_uring_setup: {source}: a seccomp profile or a security module forbids it, as containers do by default"
            ),
            "run outside the container, or allow io_uring_setup, io_uring_enter and io_uring_register in its seccomp \
             profile (docker run --security-opt seccomp=unconfined ... allows everything)",
        ),
        (Some(libc::ENOSYS), _) => unavailable(
            format!(
                "io_uring_setup: {source}: the kernel is older than 5.1, built without CONFIG_IO_URING, or forbids it by seccomp"
            ),
            "use a kernel of 5.11 or newer with CONFIG_IO_URING=y, or a seccomp profile that allows io_uring_setup",
        ),
        (Some(libc::ENOMEM), _) => unavailable(
            format!("io_uring_setup: {source}: kernels before 5.12 count rings as locked memory"),
            "ulimit -l unlimited",
        ),
        _ => EngineError::System { call: "io_uring_setup", source },
    }
}

/// The kernel has rings, but no timeout in the wait.
pub(super) fn too_old() -> EngineError {
    EngineError::Unavailable {
        engine: ENGINE,
        cause: "this kernel's rings cannot wait with a timeout".into(),
        hint: "use a kernel of 5.11 or newer".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(errno: i32, policy: Option<&str>) -> String {
        match explain(io::Error::from_raw_os_error(errno), policy) {
            EngineError::Unavailable { cause, hint, .. } => format!("{cause} / {hint}"),
            EngineError::System { call, source } => format!("system {call} {source}"),
        }
    }

    #[test]
    fn each_refusal_names_its_cause_and_the_command_that_lifts_it() {
        let off = said(libc::EPERM, Some("2"));
        assert!(
            off.contains("disabled for everybody") && off.contains("sysctl -w kernel.io_uring_disabled=0"),
            "{off}"
        );
        let group = said(libc::EPERM, Some("1"));
        assert!(group.contains("io_uring_group") && group.contains("id -g"), "{group}");
        let seccomp = said(libc::EPERM, Some("0"));
        assert!(seccomp.contains("seccomp") && seccomp.contains("io_uring_setup"), "{seccomp}");
        assert!(said(libc::ENOSYS, None).contains("CONFIG_IO_URING"));
        assert!(said(libc::ENOMEM, None).contains("ulimit -l"));
        assert!(said(libc::EMFILE, Some("0")).starts_with("system io_uring_setup"));
    }
}
