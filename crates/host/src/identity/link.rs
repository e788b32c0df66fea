//! How a device is attached: transport, link width and link speed.

use std::path::{Path, PathBuf};

use iostall_model::device::{Link, Transport};

use crate::system::System;

/// Path components in sysfs that identify a transport. SCSI over SAS, Fibre Channel and USB devices are all
/// named `sd`, so only the path distinguishes them.
const ATTACHED: [(&str, Transport); 8] = [
    ("end_device-", Transport::Sas),
    ("rport-", Transport::FibreChannel),
    ("session", Transport::Iscsi),
    ("usb", Transport::Usb),
    ("ata", Transport::Sata),
    ("mmc", Transport::Mmc),
    ("vbd-", Transport::Xen),
    ("virtio", Transport::VirtioScsi),
];

impl System {
    pub(super) fn transport(&self, disk: &Path) -> Option<Transport> {
        if let Some(fabric) = self.line(disk.join("device/transport")) {
            return match fabric.as_str() {
                "pcie" => Some(Transport::NvmePcie),
                "tcp" => Some(Transport::NvmeTcp),
                "rdma" => Some(Transport::NvmeRdma),
                "fc" => Some(Transport::NvmeFc),
                _ => None,
            };
        }
        let name = disk.file_name()?.to_str()?;
        let by_name = [
            ("vd", Transport::VirtioBlock),
            ("loop", Transport::Loop),
            ("dm-", Transport::Mapping),
            ("md", Transport::Array),
        ];
        if let Some((_, transport)) = by_name.iter().find(|(prefix, _)| name.starts_with(prefix)) {
            return Some(*transport);
        }
        let found = ATTACHED.iter().find(|(prefix, _)| above(disk, prefix).is_some());
        found.map(|(_, transport)| *transport)
    }

    /// The PCI Express link of an NVMe controller, else the SATA link, else the phys of a SAS port.
    pub(super) fn link(&self, disk: &Path) -> Option<Link> {
        let link = match self.transport(disk)? {
            Transport::NvmePcie => self.pcie_link(&disk.join("device/device")),
            Transport::Sata => self.sata_link(disk)?,
            Transport::Sas => self.sas_link(disk)?,
            _ => return None,
        };
        (link != Link::default()).then_some(link)
    }

    fn pcie_link(&self, controller: &Path) -> Link {
        let speed = |file: &str| self.line(controller.join(file)).and_then(|line| mega_transfers(&line));
        Link {
            // A bridge reports 0 or 255 for a link that is down.
            lanes: self
                .number(controller.join("current_link_width"))
                .filter(|lanes| (1..=32).contains(lanes)),
            lanes_max: self
                .number(controller.join("max_link_width"))
                .filter(|lanes| (1..=32).contains(lanes)),
            lane_mt_per_s: speed("current_link_speed"),
            lane_mt_per_s_max: speed("max_link_speed"),
        }
    }

    fn sata_link(&self, disk: &Path) -> Option<Link> {
        let port = above(disk, "ata")?;
        let number = port.file_name()?.to_str()?.strip_prefix("ata")?.to_owned();
        let own = Path::new("/sys/class/ata_link").join(format!("link{number}"));
        let speed = |file: &str| self.line(own.join(file)).and_then(|line| mega_transfers(&line));
        Some(Link {
            lanes: Some(1),
            lanes_max: Some(1),
            lane_mt_per_s: speed("sata_spd"),
            lane_mt_per_s_max: speed("hw_sata_spd_limit"),
        })
    }

    fn sas_link(&self, disk: &Path) -> Option<Link> {
        let port = above(disk, "end_device-")?.parent()?.to_owned();
        let phys: Vec<PathBuf> = self
            .names_in(&port)
            .into_iter()
            .filter(|name| name.starts_with("phy-"))
            .map(|name| port.join(&name).join("sas_phy").join(name))
            .collect();
        let slowest = |file: &str| {
            phys.iter()
                .filter_map(|phy| self.line(phy.join(file)).and_then(|line| mega_transfers(&line)))
                .min()
        };
        Some(Link {
            lanes: u32::try_from(phys.len()).ok().filter(|lanes| *lanes > 0),
            lanes_max: None,
            lane_mt_per_s: slowest("negotiated_linkrate"),
            lane_mt_per_s_max: slowest("maximum_linkrate"),
        })
    }
}

/// The parent directory of `disk` whose name is `prefix` followed by a number or an address.
fn above(disk: &Path, prefix: &str) -> Option<PathBuf> {
    let is_it = |directory: &Path| {
        let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    disk.ancestors().skip(1).find(|directory| is_it(directory)).map(Path::to_owned)
}

/// `16.0 GT/s PCIe`, `6.0 Gbps`, `12.0 Gbit`: a thousand times the number in front.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and a thousand Gbit/s"
)]
fn mega_transfers(line: &str) -> Option<u32> {
    let giga: f64 = line.split(' ').next()?.parse().ok()?;
    (giga > 0.0 && giga < 1000.0).then_some((giga * 1000.0).round() as u32)
}
