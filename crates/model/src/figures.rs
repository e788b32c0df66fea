//! Figures of a role, derived from its cells: one row per operation, a total, and commits.

use crate::outcome::{OpOutcome, RoleOutcome, SpanOutcome};
use iostall_measure::platform::CpuTicks;
use iostall_measure::{Histogram, Op, named};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    Op(Op),
    /// Reads and writes together.
    Total,
    /// From a write to the end of the sync that covers it.
    Commit,
}

impl RowKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Op(op) => op.name(),
            Self::Total => "read+write",
            Self::Commit => "commit",
        }
    }

    /// Whether the row's requests move data, so that MiB/s is meaningful.
    pub fn moves_data(self) -> bool {
        !matches!(self, Self::Op(Op::Sync) | Self::Commit)
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LatencyKind {
        /// From submit to completion.
        Service = "service",
        /// From intended start to completion (open loop).
        Response = "response",
    }
}

/// One kind of request of a role in the measured part.
#[derive(Clone, Debug)]
pub struct Row {
    pub kind: RowKind,
    pub count: u64,
    pub bytes: u64,
    pub failed: u64,
    /// Submit to completion, nanoseconds. `None` for commits of an open loop, which have only a response
    /// time.
    pub service_ns: Option<Histogram>,
    /// Intended start to completion, nanoseconds; open loop only.
    pub response_ns: Option<Histogram>,
}

impl Row {
    fn of(kind: RowKind, outcome: OpOutcome) -> Self {
        Self {
            kind,
            count: outcome.count(),
            bytes: outcome.bytes,
            failed: outcome.failed,
            service_ns: Some(outcome.service_ns),
            response_ns: outcome.response_ns,
        }
    }

    pub fn iops(&self, measured_ns: u64) -> Option<f64> {
        per_second(self.count as f64, measured_ns)
    }

    /// MiB a second; `None` if the time is zero, and for requests that move no data.
    pub fn mib_per_s(&self, measured_ns: u64) -> Option<f64> {
        self.kind.moves_data().then(|| per_second(self.bytes as f64 / 1_048_576.0, measured_ns)).flatten()
    }

    /// Its latencies, in the order in which they are shown.
    pub fn latencies(&self) -> impl Iterator<Item = (LatencyKind, &Histogram)> {
        let service = self.service_ns.as_ref().map(|histogram| (LatencyKind::Service, histogram));
        let response = self.response_ns.as_ref().map(|histogram| (LatencyKind::Response, histogram));
        service.into_iter().chain(response)
    }

    /// What a user waits for: response in an open loop, otherwise service.
    pub fn waited_ns(&self) -> Option<&Histogram> {
        self.response_ns.as_ref().or(self.service_ns.as_ref())
    }
}

pub fn per_second(amount: f64, measured_ns: u64) -> Option<f64> {
    (measured_ns > 0).then(|| amount / (measured_ns as f64 / 1e9))
}

/// The rows of a role: each of its operations, the total if it reads and writes, commits if it syncs.
pub fn rows(role: &RoleOutcome) -> Vec<Row> {
    let op = |op: Op| role.op(op).map(|outcome| Row::of(RowKind::Op(op), outcome));
    let (read, write) = (op(Op::Read), op(Op::Write));
    let total = if read.is_some() && write.is_some() {
        role.reads_and_writes().map(|outcome| Row::of(RowKind::Total, outcome))
    } else {
        None
    };
    let commit = role.commit.as_ref().filter(|commit| !commit.is_empty()).map(|commit| {
        let open = role.open_loop.is_some();
        Row {
            kind: RowKind::Commit,
            count: commit.count(),
            bytes: 0,
            failed: 0,
            service_ns: (!open).then(|| commit.clone()),
            response_ns: open.then(|| commit.clone()),
        }
    });
    [read, write, total, op(Op::Sync), commit].into_iter().flatten().collect()
}

/// Reads and writes of all roles of a span; `None` if there were none.
pub fn span_total(span: &SpanOutcome) -> Option<OpOutcome> {
    OpOutcome::sum(span.roles.iter().flat_map(|role| &role.cells).filter(|cell| cell.op != Op::Sync))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuUse {
    pub user_ns: u64,
    pub system_ns: u64,
    /// Completed requests including sync calls, which cost CPU time too.
    pub requests: u64,
}

impl CpuUse {
    pub fn of_role(role: &RoleOutcome) -> Self {
        let requests = role.cells.iter().map(|cell| cell.service_ns.count()).sum();
        Self { user_ns: role.cpu_user_ns, system_ns: role.cpu_system_ns, requests }
    }

    pub fn of_process(span: &SpanOutcome) -> Self {
        let cells = span.roles.iter().flat_map(|role| &role.cells);
        Self {
            user_ns: span.process_user_ns,
            system_ns: span.process_system_ns,
            requests: cells.map(|cell| cell.service_ns.count()).sum(),
        }
    }

    /// User and kernel time, nanoseconds.
    pub fn total_ns(self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }

    pub fn ns_per_request(self) -> Option<f64> {
        (self.requests > 0).then(|| self.total_ns() as f64 / self.requests as f64)
    }

    pub fn requests_per_cpu_second(self) -> Option<f64> {
        (self.total_ns() > 0).then(|| self.requests as f64 / (self.total_ns() as f64 / 1e9))
    }
}

/// Share of the machine's CPU time that was not idle, 0 to 1; `None` if unknown. Waiting for I/O counts as
/// idle, because the CPU could have done other work.
pub fn machine_busy(span: &SpanOutcome) -> Option<f64> {
    let total: u64 = span.cpus.iter().map(CpuTicks::total).sum();
    let idle: u64 = span.cpus.iter().map(|cpu| cpu.idle + cpu.iowait).sum();
    (total > 0).then(|| (total - idle) as f64 / total as f64)
}
