//! The run recorder: notes the start of a run and creates its record at the end, for both measuring and
//! moving.

use iostall_engine::cpu::{CpuTime, process_cpu};
use iostall_host as host;
use iostall_measure::clock::utc_now;
use iostall_measure::platform::{Host, Target, TargetKind};
use iostall_measure::{Clock, RunClock};
use iostall_model::device::DeviceIdentity;
use iostall_model::run::{SCHEMA, SCHEMA_VERSION};
use iostall_model::{Run, RunBody, RunId, TargetIdentity, Warning};
use jiff::Timestamp;

use crate::target_identity::target_identity_of;

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub version: String,
    /// As typed, without passwords.
    pub command_line: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct RunRecorder {
    program: Program,
    clock: RunClock,
    id: RunId,
    started_utc: Timestamp,
    started_ns: u64,
    started_cpu: CpuTime,
    host: Host,
}

pub struct Ended {
    pub name: String,
    pub targets: Vec<Target>,
    pub warnings: Vec<Warning>,
    pub interrupted: bool,
    pub body: RunBody,
}

impl RunRecorder {
    pub fn begin(program: Program, clock: RunClock) -> Self {
        let started_utc = utc_now();
        Self {
            program,
            id: RunId::new(started_utc),
            started_utc,
            started_ns: clock.now_ns(),
            clock,
            started_cpu: process_cpu(),
            host: host::host(),
        }
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn clock(&self) -> &RunClock {
        &self.clock
    }

    /// On the run's clock, nanoseconds.
    pub fn started_ns(&self) -> u64 {
        self.started_ns
    }

    pub fn elapsed_ns(&self) -> u64 {
        self.clock.now_ns() - self.started_ns
    }

    pub fn cpu(&self) -> CpuTime {
        process_cpu().since(self.started_cpu)
    }

    pub fn finish(self, ended: Ended) -> Run {
        Run {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            id: self.id,
            name: ended.name,
            tool_version: self.program.version,
            command_line: self.program.command_line,
            started_utc: self.started_utc,
            ended_utc: utc_now(),
            interrupted: ended.interrupted,
            host: self.host,
            devices: devices_of(&ended.targets),
            identities: identities_of(&ended.targets),
            targets: ended.targets,
            warnings: ended.warnings,
            verdicts: Vec::new(),
            body: ended.body,
        }
    }
}

fn identities_of(targets: &[Target]) -> Vec<Option<TargetIdentity>> {
    let all =
        targets.iter().map(|target| target_identity_of(&target.path, target.kind != TargetKind::Synthetic));
    all.collect()
}

/// The devices under the targets; empty if there are none, as for targets in memory.
fn devices_of(targets: &[Target]) -> Vec<Option<DeviceIdentity>> {
    let identity = |target: &Target| target.device.as_ref().and_then(|_| host::identity_of(&target.path));
    let devices: Vec<_> = targets.iter().map(identity).collect();
    if devices.iter().all(Option::is_none) { Vec::new() } else { devices }
}
