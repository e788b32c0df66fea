//! Sets a ring up with every flag that makes it cheaper, falls back on older kernels, and explains a refusal.

use std::io;

use io_uring::{Builder, IoUring};
use iostall_measure::{Feature, Unavailable};

use crate::report::EngineReport;
use crate::request::EngineError;

struct SetupFlag {
    name: &'static str,
    kernel: &'static str,
    set: fn(&mut Builder) -> &mut Builder,
}

impl SetupFlag {
    fn unavailable(&self) -> Unavailable {
        let cause = format_args!("EINVAL (kernel {} has it)", self.kernel);
        Unavailable::new(Feature::Other(self.name.to_owned()), cause)
    }
}

/// Newest first, so that the first to be dropped is the one most likely unsupported. Each depends at most on
/// those below it: deferred task work needs a single issuer, and the flag for pending work needs either kind
/// of task work.
const SETUP_FLAGS: [SetupFlag; 6] = [
    SetupFlag { name: "NO_SQARRAY", kernel: "6.6", set: Builder::setup_no_sqarray },
    SetupFlag { name: "DEFER_TASKRUN", kernel: "6.1", set: Builder::setup_defer_taskrun },
    SetupFlag { name: "SINGLE_ISSUER", kernel: "6.0", set: Builder::setup_single_issuer },
    SetupFlag { name: TASKRUN_FLAG, kernel: "5.19", set: Builder::setup_taskrun_flag },
    SetupFlag { name: "COOP_TASKRUN", kernel: "5.19", set: Builder::setup_coop_taskrun },
    SetupFlag { name: "SUBMIT_ALL", kernel: "5.18", set: Builder::setup_submit_all },
];

const TASKRUN_FLAG: &str = "TASKRUN_FLAG";

/// Creates a ring for `capacity` requests and returns whether the kernel flags pending task work.
pub(super) fn set_up(capacity: u32, report: &mut EngineReport) -> Result<(IoUring, bool), EngineError> {
    let entries = capacity.next_power_of_two();
    let (ring, granted) = drop_refused(report, |flags| {
        let mut builder = IoUring::builder();
        // There can be only one completion for each request in flight; the default of twice as many only
        // spreads them over more cache lines.
        builder.setup_cqsize(entries);
        for flag in flags {
            (flag.set)(&mut builder);
        }
        builder.build(entries)
    })
    .map_err(|source| explain(source, policy().as_deref()))?;
    if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
        return Err(too_old());
    }
    Ok((ring, granted.iter().any(|flag| flag.name == TASKRUN_FLAG)))
}

/// Builds with all flags, then with one fewer for as long as the kernel returns `EINVAL`.
fn drop_refused<T>(
    report: &mut EngineReport,
    build: impl Fn(&[SetupFlag]) -> io::Result<T>,
) -> io::Result<(T, &'static [SetupFlag])> {
    const ALL: &[SetupFlag] = &SETUP_FLAGS;
    let mut dropped = 0;
    loop {
        let (refused, granted) = ALL.split_at(dropped);
        match build(granted) {
            Ok(ring) => {
                report.features.extend(granted.iter().map(|flag| flag.name.to_owned()));
                report.refused.extend(refused.iter().map(SetupFlag::unavailable));
                return Ok((ring, granted));
            }
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && !granted.is_empty() => dropped += 1,
            Err(error) => return Err(error),
        }
    }
}

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

    #[test]
    fn a_flag_that_the_kernel_refuses_is_dropped_and_reported() {
        let mut report = EngineReport::default();
        let kernel_6_0 = |flags: &[SetupFlag]| match flags.first() {
            Some(flag) if ["NO_SQARRAY", "DEFER_TASKRUN"].contains(&flag.name) => {
                Err(io::Error::from_raw_os_error(libc::EINVAL))
            }
            _ => Ok(flags.len()),
        };
        let (count, granted) = drop_refused(&mut report, kernel_6_0).unwrap();
        assert_eq!((count, granted.len()), (4, 4));
        assert_eq!(report.features, ["SINGLE_ISSUER", "TASKRUN_FLAG", "COOP_TASKRUN", "SUBMIT_ALL"]);
        assert_eq!(
            report.refused.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["NO_SQARRAY: EINVAL (kernel 6.6 has it)", "DEFER_TASKRUN: EINVAL (kernel 6.1 has it)"]
        );
    }

    #[test]
    fn what_is_no_refusal_of_a_flag_ends_the_search() {
        for errno in [libc::EPERM, libc::ENOSYS, libc::EMFILE] {
            let mut report = EngineReport::default();
            let refuse = |_: &[SetupFlag]| -> io::Result<()> { Err(io::Error::from_raw_os_error(errno)) };
            let error = drop_refused(&mut report, refuse).err().unwrap();
            assert_eq!(error.raw_os_error(), Some(errno));
            assert_eq!(report, EngineReport::default());
        }
    }

    #[test]
    fn a_kernel_that_refuses_everything_is_asked_once_for_each_flag_and_no_more() {
        let asked = std::cell::Cell::new(0);
        let refuse = |_: &[SetupFlag]| -> io::Result<()> {
            asked.set(asked.get() + 1);
            Err(io::Error::from_raw_os_error(libc::EINVAL))
        };
        assert!(drop_refused(&mut EngineReport::default(), refuse).is_err());
        assert_eq!(asked.get(), SETUP_FLAGS.len() + 1);
    }

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
