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

/// More than Linux supports. A limit is needed because a run may come from an untrusted source.
const PROCESSORS_MAX: u32 = 65_536;

/// A processor mask of any width. Windows has at most 64 processors per group, but Linux has a single group,
/// so large machines have masks of more than 64 bits, as in other Linux tools.
fn mask(ids: impl Iterator<Item = u32>) -> String {
    let mut digits: Vec<u32> = vec![0];
    for id in ids.filter(|id| *id < PROCESSORS_MAX) {
        let place = id as usize / 4;
        digits.resize(digits.len().max(place + 1), 0);
        digits[place] |= 1 << (id % 4);
    }
    let hex = digits.iter().rev().filter_map(|digit| char::from_digit(*digit, 16));
    format!("0x{}", hex.collect::<String>())
}

fn ids<'a>(processors: impl IntoIterator<Item = &'a Processor>) -> impl Iterator<Item = u32> {
    processors.into_iter().map(|cpu| cpu.id)
}

fn write_topology(xml: &mut XmlWriter, topology: &CpuTopology) {
    let (count, processors) = (topology.cpu_count, &topology.processors);
    let all = if processors.is_empty() { mask(0..count) } else { mask(ids(processors)) };
    xml.open("ProcessorTopology", &[("Heterogeneous", &topology.is_heterogeneous())]);
    xml.empty(
        "Group",
        &[
            ("Group", &0),
            ("MaximumProcessors", &count),
            ("ActiveProcessors", &count),
            ("ActiveProcessorMask", &all),
        ],
    );
    for (name, pick) in [("Node", (|cpu| cpu.node) as fn(&Processor) -> u32), ("Socket", |cpu| cpu.socket)] {
        for number in distinct(processors, pick) {
            xml.open(name, &[(name, &number)]);
            let mask = mask(ids(processors.iter().filter(|cpu| pick(cpu) == number)));
            xml.empty("Group", &[("Group", &0), ("Mask", &mask)]);
            xml.close();
        }
    }
    for number in distinct(processors, |cpu| cpu.core) {
        let of_core = || processors.iter().filter(|cpu| cpu.core == number);
        let class = of_core().map(|cpu| cpu.efficiency_class).max().unwrap_or(0);
        let mask = mask(ids(of_core()));
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
