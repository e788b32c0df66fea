//! `iostall drive powerfail`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use iostall_measure::{BlockSize, ByteCount, Nanos};
use iostall_model::powerfail::Primitive;
use iostall_session::powerfail::{BLOCK_BYTES, CheckRequest, WRITES_PER_FLUSH, WitnessRequest, WriteRequest};

use crate::cli::load::SafetyArgs;
use crate::cli::target::target;

/// Find out whether a device loses what it said was durable, when its power fails.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall drive powerfail witness --listen 0.0.0.0:4420 --log witness.log    on a machine that keeps its power\n  \
    iostall drive powerfail write --witness witness:4420 data.dat              then pull the plug\n  \
    iostall drive powerfail check data.dat --witness-log witness.log           when it is back\n\n\
    docs/powerfail.md is the guide.")]
pub(crate) struct PowerfailArgs {
    #[command(subcommand)]
    pub(crate) command: PowerfailCommand,
}

/// The steps.
#[derive(Debug, Subcommand)]
pub(crate) enum PowerfailCommand {
    /// Write, make it durable, and tell the witness, until the power fails
    Write(Box<PowerfailWriteArgs>),
    /// Keep what writers say is durable
    Witness(PowerfailWitnessArgs),
    /// Say what was acknowledged and is lost, torn, stale or out of order
    Check(PowerfailCheckArgs),
}

/// What to write.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall drive powerfail write --witness witness:4420 data.dat\n  \
    iostall drive powerfail write --witness witness:4420 --method rwf_dsync data.dat\n  \
    iostall drive powerfail write --witness witness:4420 --overwrite /dev/nvme1n1 /dev/nvme1n1\n\n\
    What may be written is decided as for `iostall load`. It ends when the power does; an error of the device ends it with status 2.")]
pub(crate) struct PowerfailWriteArgs {
    /// File, partition or device
    #[arg(value_name = "TARGET", value_parser = target())]
    pub(crate) target: PathBuf,
    /// Where `powerfail witness` listens
    #[arg(long, value_name = "HOST:PORT", help_heading = "What")]
    witness: String,
    /// The call after which a write must be durable
    #[arg(long, value_name = "NAME", default_value = "fdatasync", help_heading = "What")]
    method: PrimitiveChoice,
    /// Size of a new file; of an existing target, write only this much from its start
    #[arg(long, value_name = "SIZE", default_value = "64M", help_heading = "What")]
    size: ByteCount,
    /// Bytes of a write: a multiple of 512
    #[arg(long, short, value_name = "SIZE", default_value = "16K", value_parser = block, help_heading = "What")]
    block_size: BlockSize,
    /// Writes before each fdatasync or fsync
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(i64::from(*WRITES_PER_FLUSH.start())..=i64::from(*WRITES_PER_FLUSH.end())), help_heading = "What")]
    writes_per_flush: u32,
    /// End after this time, although the power did not fail
    #[arg(long, value_name = "TIME", help_heading = "What")]
    duration: Option<Nanos>,
    #[command(flatten)]
    safety: SafetyArgs,
}

impl PowerfailWriteArgs {
    /// What was typed, as a request.
    pub(crate) fn request(&self) -> WriteRequest {
        WriteRequest {
            target: self.target.clone(),
            consent: self.safety.consent(),
            size: self.size,
            block: self.block_size,
            primitive: self.method.into(),
            writes_per_flush: self.writes_per_flush,
            witness: self.witness.clone(),
            duration: self.duration,
        }
    }
}

/// Where to listen.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall drive powerfail witness --listen 0.0.0.0:4420 --log witness.log\n  \
    iostall drive powerfail witness --listen 127.0.0.1:0 --log witness.log     a free port, which it names\n\n\
    It asks nobody who they are: listen where only the machines under test can connect. Ctrl-C ends it.")]
pub(crate) struct PowerfailWitnessArgs {
    /// Address and port
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// A new file, or the log of an earlier witness, which is continued
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    /// The log never becomes larger
    #[arg(long, value_name = "SIZE", default_value = "4G")]
    limit: ByteCount,
}

impl PowerfailWitnessArgs {
    /// What was typed, as a request.
    pub(crate) fn request(&self) -> WitnessRequest {
        WitnessRequest { listen: self.listen, log: self.log.clone(), limit: self.limit }
    }
}

/// What to compare.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    iostall drive powerfail check data.dat --witness-log witness.log\n  \
    iostall drive powerfail check /dev/nvme1n1 --witness-log witness.log --cuts nvme1n1.cuts\n  \
    iostall drive powerfail check data.dat --witness-log witness.log --cuts data.cuts --below 0.1\n\n\
    Nothing is written to TARGET. Exit status 1: something that was acknowledged is lost.")]
pub(crate) struct PowerfailCheckArgs {
    /// The file or device that was written
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// The log of the witness
    #[arg(long, value_name = "FILE")]
    pub(crate) witness_log: PathBuf,
    /// The run to look for [default: the newest of the log]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Add this cut to a file of all cuts, and judge them together
    #[arg(long, value_name = "FILE")]
    pub(crate) cuts: Option<PathBuf>,
    /// The share of cuts with a loss that is to be excluded, in percent: says how many cuts that takes
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = share)]
    below: f64,
    /// As JSON; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,
    /// As Markdown; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) markdown: Option<PathBuf>,
}

impl PowerfailCheckArgs {
    /// What was typed, as a request.
    pub(crate) fn request(&self) -> CheckRequest {
        CheckRequest {
            target: self.target.clone(),
            log: self.witness_log.clone(),
            run: self.run.clone(),
            cuts: self.cuts.clone(),
            below: self.below / 100.0,
        }
    }
}

/// The call after which a write must be durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum PrimitiveChoice {
    /// Writes, then fdatasync
    Fdatasync,
    /// Writes, then fsync
    Fsync,
    /// Each write with O_DSYNC
    OpenDatasync,
    /// Each write with RWF_DSYNC, which is FUA where the device has it
    RwfDsync,
}

impl From<PrimitiveChoice> for Primitive {
    fn from(choice: PrimitiveChoice) -> Self {
        match choice {
            PrimitiveChoice::Fdatasync => Self::Fdatasync,
            PrimitiveChoice::Fsync => Self::Fsync,
            PrimitiveChoice::OpenDatasync => Self::OpenDatasync,
            PrimitiveChoice::RwfDsync => Self::RwfDsync,
        }
    }
}

/// The size of a write.
fn block(text: &str) -> Result<BlockSize, String> {
    let size: BlockSize =
        text.parse().map_err(|error: iostall_measure::units::UnitError| error.to_string())?;
    if BLOCK_BYTES.contains(&size.bytes()) && size.bytes().is_multiple_of(512) {
        Ok(size)
    } else {
        Err(format!("{size} is not a multiple of 512 bytes up to 1 MiB, such as 16K"))
    }
}

/// A share in percent.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if (1e-4..100.0).contains(&percent) => Ok(percent),
        _ => Err("give a percentage between 0.0001 and 100, such as 1".to_owned()),
    }
}
