//! The table of processors.

use iostall_measure::platform::CpuTicks;

use super::tables::line;
use crate::report::input::{CpuTopology, Processor};

/// Time of one processor in percent of the machine's time, without what a hypervisor took.
pub(in crate::report) struct CpuShares {
    pub(in crate::report) user: f64,
    pub(in crate::report) kernel: f64,
    pub(in crate::report) idle: f64,
}

impl CpuShares {
    pub(in crate::report) fn of(ticks: &CpuTicks) -> Self {
        let idle = ticks.idle + ticks.iowait;
        let total = ticks.user + ticks.system + idle;
        let share = |part: u64| if total > 0 { part as f64 * 100.0 / total as f64 } else { 0.0 };
        Self { user: share(ticks.user), kernel: share(ticks.system), idle: share(idle) }
    }

    pub(in crate::report) fn usage(&self) -> f64 {
        self.user + self.kernel
    }

    pub(in crate::report) fn average(cpus: &[CpuTicks]) -> Self {
        let count = cpus.len().max(1) as f64;
        let mean = |pick: fn(&Self) -> f64| cpus.iter().map(|cpu| pick(&Self::of(cpu))).sum::<f64>() / count;
        Self { user: mean(|it| it.user), kernel: mean(|it| it.kernel), idle: mean(|it| it.idle) }
    }

    fn cells(&self) -> String {
        format!("| {:6.2}%| {:6.2}%| {:6.2}%| {:6.2}%", self.usage(), self.user, self.kernel, self.idle)
    }
}

/// A column that is shown only on machines with more than one of its kind.
struct PlaceColumn {
    heading: &'static str,
    cell: fn(&Processor, &CpuTopology) -> String,
}

fn place_columns(topology: &CpuTopology) -> Vec<PlaceColumn> {
    if topology.processors.is_empty() {
        return Vec::new();
    }
    let columns: [(bool, PlaceColumn); 5] = [
        (
            topology.socket_count > 1,
            PlaceColumn { heading: "Socket | ", cell: |cpu, _| format!("{:7}| ", cpu.socket) },
        ),
        (
            topology.node_count > 1,
            PlaceColumn { heading: "Node | ", cell: |cpu, _| format!("{:5}| ", cpu.node) },
        ),
        (
            topology.group_count > 1,
            PlaceColumn { heading: "Group | ", cell: |cpu, _| format!("{:6}| ", cpu.group) },
        ),
        (
            topology.cpu_count > topology.core_count,
            PlaceColumn { heading: "Core | ", cell: |cpu, _| format!("{:5}| ", cpu.core) },
        ),
        (topology.is_heterogeneous(), PlaceColumn { heading: "Class | ", cell: class_cell }),
    ];
    columns.into_iter().filter(|(shown, _)| *shown).map(|(_, column)| column).collect()
}

/// The fastest class is marked P.
fn class_cell(cpu: &Processor, topology: &CpuTopology) -> String {
    let top = topology.processors.iter().map(|cpu| cpu.efficiency_class).max().unwrap_or(0);
    let mark = if cpu.efficiency_class == top { 'P' } else { ' ' };
    format!("{:5}{mark}| ", cpu.efficiency_class)
}

pub(super) fn write(out: &mut String, topology: &CpuTopology, cpus: &[CpuTicks]) {
    let columns = place_columns(topology);
    let headings: String = columns.iter().map(|column| column.heading).collect();
    let rule = "-".repeat(40 + headings.len());
    line(out, format!("\n{headings}CPU |  Usage |  User  | Kernel |  Idle"));
    line(out, &rule);
    for ticks in cpus {
        let processor = topology.processor(ticks.cpu).copied().unwrap_or_default();
        let place: String = columns.iter().map(|column| (column.cell)(&processor, topology)).collect();
        line(out, format!("{place}{:4}{}", ticks.cpu, CpuShares::of(ticks).cells()));
    }
    line(out, &rule);
    line(out, format!("{}avg.{}", " ".repeat(headings.len()), CpuShares::average(cpus).cells()));
}
