//! `iostall drive`.

mod atomic;
mod endurance;
mod flash;
mod guard;
mod limits;
mod plan;
mod powerfail;
mod qualify;

use clap::{Args, Subcommand};

pub(crate) use atomic::AtomicArgs;
pub(super) use endurance::BRANCHES as ENDURANCE;
pub(crate) use endurance::EnduranceArgs;
pub(crate) use flash::FlashArgs;
pub(crate) use guard::GuardArgs;
pub(super) use limits::BRANCHES as LIMITS;
pub(crate) use limits::LimitsArgs;
pub(crate) use plan::DrivePlanArgs;
pub(crate) use powerfail::{
    PowerfailArgs, PowerfailCheckArgs, PowerfailCommand, PowerfailWitnessArgs, PowerfailWriteArgs,
};
pub(super) use qualify::BRANCHES as QUALIFY;
pub(crate) use qualify::QualifyArgs;

/// Judge drives and volumes: their wear, limits and steady state, power failure, and what to build of them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall drive endurance /dev/nvme0                   what one drive says of itself, as root\n  \
    iostall drive endurance /var/lib/smart               saved documents of many drives, over time\n  \
    iostall drive qualify --size 64G data.dat            load it until its figures no longer change\n  \
    iostall drive limits /var/lib/db/probe.dat           is there a bucket of credits, a cap?\n  \
    iostall drive guard --baseline 12 /var/lib/db/probe.dat   is it as fast as in run 12?\n  \
    iostall drive flash --spare 28%                      how much a drive writes for each write of the host\n  \
    iostall drive flash --hot 10:90 --want-wa 2          the spare area that a pattern needs\n  \
    iostall drive powerfail write --witness host:4420 data.dat    then pull the plug, and check\n  \
    iostall drive atomic --require 16KiB /var/lib/mysql/ibdata1    may the doublewrite buffer go?\n  \
    iostall drive plan --data 2T,3000,30% --log 200G,60MB/s    what to build a server of\n\n\
    docs/qualify.md, docs/endurance.md, docs/limits.md, docs/flash.md, docs/powerfail.md, docs/atomic.md and docs/plan.md \
     are the guides.")]
pub(crate) struct DriveArgs {
    #[command(subcommand)]
    pub(crate) command: DriveCommand,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum DriveCommand {
    /// Say what the stack promises about writes that are not torn, and what databases may turn off
    Atomic(AtomicArgs),
    /// Say how long drives last: bytes written, write amplification, percentage used, and four projections
    Endurance(Box<EnduranceArgs>),
    /// Simulate a flash device: how much does it write, how long does it last, how much spare area does it need?
    Flash(Box<FlashArgs>),
    /// Compare a volume with what it was, or with what is paid for, by short probes
    Guard(Box<GuardArgs>),
    /// Find the limits of a volume: credits and how fast they come back, caps, and how requests count
    Limits(Box<LimitsArgs>),
    /// Plan drives for a database server: how many of which RAID level, and what comes of it
    Plan(Box<DrivePlanArgs>),
    /// Find out whether a device loses what it said was durable, when its power fails
    Powerfail(PowerfailArgs),
    /// Load a drive in rounds until its figures no longer change, and say whether that is its steady state
    Qualify(Box<QualifyArgs>),
}
