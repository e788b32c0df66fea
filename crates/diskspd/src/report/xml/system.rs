//! The machine and the tool.

use crate::report::input::{CpuTopology, DiskspdReport, Processor};
use crate::xml::XmlWriter;
use crate::{DISKSPD_VERSION, DISKSPD_VERSION_DATE};

pub(super) fn write(xml: &mut XmlWriter, report: &DiskspdReport) {
    xml.open("System", &[]);
    xml.leaf("ComputerName", &report.computer_name);
    xml.open("Tool", &[]);
    xml.leaf("Version", DISKSPD_VERSION);
    xml.leaf("VersionDate", DISKSPD_VERSION_DATE);
    xml.close();
    xml.leaf("RunTime", report.start_time());
    let power = &report.power_scheme;
    xml.empty("PowerScheme", &[("Name", &power.name), ("Guid", &power.guid)]);
    write_topology(xml, &report.topology);
    xml.close();
}

/// A 64-bit mask of processors. Windows' groups have at most 64, so a mask cannot hold more.
fn mask<'a>(processors: impl Iterator<Item = &'a Processor>) -> String {
    let bits = processors.filter(|cpu| cpu.id < 64).fold(0_u64, |bits, cpu| bits | 1 << cpu.id);
    format!("0x{bits:x}")
}

fn write_topology(xml: &mut XmlWriter, topology: &CpuTopology) {
    let count = topology.cpu_count;
    let all = if count >= 64 { u64::MAX } else { (1 << count) - 1 };
    xml.open("ProcessorTopology", &[("Heterogeneous", &topology.is_heterogeneous())]);
    xml.empty(
        "Group",
        &[
            ("Group", &0),
            ("MaximumProcessors", &count),
            ("ActiveProcessors", &count),
            ("ActiveProcessorMask", &format!("0x{all:x}")),
        ],
    );
    let processors = &topology.processors;
    for (name, pick) in [("Node", (|cpu| cpu.node) as fn(&Processor) -> u32), ("Socket", |cpu| cpu.socket)] {
        for number in distinct(processors, pick) {
            xml.open(name, &[(name, &number)]);
            let mask = mask(processors.iter().filter(|cpu| pick(cpu) == number));
            xml.empty("Group", &[("Group", &0), ("Mask", &mask)]);
            xml.close();
        }
    }
    for number in distinct(processors, |cpu| cpu.core) {
        let of_core = || processors.iter().filter(|cpu| cpu.core == number);
        let class = of_core().map(|cpu| cpu.efficiency_class).max().unwrap_or(0);
        let mask = mask(of_core());
        let attributes: [(&str, &dyn std::fmt::Display); 4] =
            [("Group", &0), ("Core", &number), ("Mask", &mask), ("EfficiencyClass", &class)];
        xml.empty("Core", &attributes);
    }
    xml.close();
}

fn distinct(processors: &[Processor], pick: fn(&Processor) -> u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = processors.iter().map(pick).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
