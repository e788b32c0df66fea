use std::os::unix::fs::symlink;
use std::path::Path;

use iostall_model::device::{
    Cloud, CloudVolume, DeviceIdentity, Discard, Link, Partition, Transport, WorldWideNames,
};

use crate::system::{System, made_up};

/// A made-up machine with one disk in `directory` (below `sys/devices`), its device number 8:0 and that of its
/// first partition 8:1. Paths of `files` are below the disk unless they begin with `/`.
fn machine(directory: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, System) {
    let files: Vec<(String, &str)> = files
        .iter()
        .map(|(path, text)| match path.strip_prefix('/') {
            Some(path) => (path.to_owned(), *text),
            None => (format!("sys/devices/{directory}/{path}"), *text),
        })
        .chain([("sys/dev/block/README".to_owned(), ""), (format!("sys/devices/{directory}/dev"), "8:0\n")])
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let (root, system) = made_up(&files);
    let name = Path::new(directory).file_name().unwrap().to_str().unwrap();
    let partition = format!("{directory}/{name}1");
    for (number, to) in [("8:0", directory), ("8:1", partition.as_str())] {
        symlink(Path::new("../../devices").join(to), root.path().join("sys/dev/block").join(number)).unwrap();
    }
    (root, system)
}

fn identity(directory: &str, files: &[(&str, &str)]) -> DeviceIdentity {
    let (_root, system) = machine(directory, files);
    system.identity_of_number("8:0").unwrap()
}

#[test]
fn an_nvme_drive_tells_its_names_its_link_and_its_limits() {
    let found = identity(
        "pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1",
        &[
            ("device/model", "FastDrive 9 3.84TB  \n"),
            ("device/serial", "  S64XN0 \n"),
            ("device/firmware_rev", "GDC5\n"),
            ("device/transport", "pcie\n"),
            ("device/device/vendor", "0x144d\n"),
            ("device/device/current_link_width", "2\n"),
            ("device/device/max_link_width", "4\n"),
            ("device/device/current_link_speed", "8.0 GT/s PCIe\n"),
            ("device/device/max_link_speed", "16.0 GT/s PCIe\n"),
            ("eui", "00 25 38 ab 01 02 03 04\n"),
            ("nguid", "36434630-5285-4001-0025-3845ab010203\n"),
            ("uuid", "0c9e2d1f-6a3e-4a3b-9d51-1d7f6f3a2b11\n"),
            ("wwid", "eui.364346305285400100253845ab010203\n"),
            ("queue/logical_block_size", "512\n"),
            ("queue/physical_block_size", "4096\n"),
            ("queue/minimum_io_size", "4096\n"),
            ("queue/optimal_io_size", "0\n"),
            ("queue/max_sectors_kb", "1280\n"),
            ("queue/max_hw_sectors_kb", "2048\n"),
            ("queue/max_segments", "127\n"),
            ("queue/nr_requests", "1023\n"),
            ("queue/discard_max_bytes", "2199023255040\n"),
            ("queue/discard_granularity", "512\n"),
            ("mq/0/cpu_list", "0\n"),
            ("mq/1/cpu_list", "1\n"),
        ],
    );
    assert_eq!((found.kernel_name.as_str(), found.model.as_deref()), ("nvme0n1", Some("FastDrive 9 3.84TB")));
    assert_eq!((found.serial.as_deref(), found.firmware.as_deref()), (Some("S64XN0"), Some("GDC5")));
    let names = WorldWideNames {
        eui64: Some("002538ab01020304".into()),
        nguid: Some("364346305285400100253845ab010203".into()),
        uuid: Some("0c9e2d1f-6a3e-4a3b-9d51-1d7f6f3a2b11".into()),
        ..WorldWideNames::default()
    };
    assert_eq!(found.names, names);
    assert_eq!(found.key().as_deref(), Some("nguid.364346305285400100253845ab010203"));
    assert_eq!((found.transport, found.cloud_volume.as_ref()), (Some(Transport::NvmePcie), None));
    let link = found.link.unwrap();
    assert_eq!(
        (link.lanes, link.lanes_max, link.lane_mt_per_s, link.lane_mt_per_s_max),
        (Some(2), Some(4), Some(8000), Some(16_000))
    );
    assert_eq!(link.is_below_its_best(), Some(true), "a card in a slot of half its width");
    assert_eq!(found.discard, Some(Discard { bytes_max: 2_199_023_255_040, granularity_bytes: Some(512) }));
    let queue = found.queue;
    assert_eq!((queue.logical_sector_bytes, queue.physical_sector_bytes), (Some(512), Some(4096)));
    assert_eq!((queue.io_bytes_min, queue.io_bytes_optimal), (Some(4096), None), "0 is no favourite");
    assert_eq!(
        (queue.request_bytes_max, queue.request_bytes_hardware_max),
        (Some(1280 << 10), Some(2 << 20))
    );
    assert_eq!((queue.segments_max, queue.requests, queue.queues), (Some(127), Some(1023), Some(2)));
}

#[test]
fn a_namespace_without_names_has_none_and_zeros_are_none() {
    let found = identity(
        "pci0/nvme/nvme1/nvme1n1",
        &[
            ("eui", "00 00 00 00 00 00 00 00\n"),
            ("nguid", "00000000-0000-0000-0000-000000000000\n"),
            ("wwid", "nvme.1d0f-0\n"),
            ("device/serial", "0000000000\n"),
            ("device/transport", "tcp\n"),
        ],
    );
    assert_eq!(found.names, WorldWideNames::default());
    assert_eq!((found.serial.as_deref(), found.key()), (None, None), "a batch of disks shares such a number");
    assert_eq!((found.transport, found.link), (Some(Transport::NvmeTcp), None));
}

#[test]
fn volumes_of_clouds_are_known_by_the_names_of_their_consoles() {
    let amazon = identity(
        "pci0/nvme/nvme0/nvme0n1",
        &[
            ("device/model", "Amazon Elastic Block Store              \n"),
            ("device/serial", "vol0a1b2c3d4e5f60718\n"),
            ("device/transport", "pcie\n"),
        ],
    );
    let volume = CloudVolume { cloud: Cloud::Amazon, id: "vol-0a1b2c3d4e5f60718".into() };
    assert_eq!(amazon.cloud_volume, Some(volume));
    assert_eq!(amazon.key().as_deref(), Some("amazon:vol-0a1b2c3d4e5f60718"));
    let google = identity(
        "pci0/virtio1/host0/target0:0:1/0:0:1:0/block/sda",
        &[
            ("device/vendor", "Google\n"),
            ("device/model", "PersistentDisk\n"),
            ("device/wwid", "t10.Google  PersistentDisk  data-disk-1\n"),
        ],
    );
    assert_eq!(google.cloud_volume, Some(CloudVolume { cloud: Cloud::Google, id: "data-disk-1".into() }));
    assert_eq!(google.model.as_deref(), Some("Google PersistentDisk"));
    assert_eq!(google.transport, Some(Transport::VirtioScsi));
    let local = identity(
        "pci0/nvme/nvme1/nvme1n1",
        &[("device/model", "Amazon EC2 NVMe Instance Storage\n"), ("device/serial", "AWS1A2B3C\n")],
    );
    assert_eq!(local.cloud_volume, None, "an instance's own disk is no volume");
}

#[test]
fn a_sata_disk_tells_its_link_by_its_port() {
    let found = identity(
        "pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sda",
        &[
            ("device/vendor", "ATA\n"),
            ("device/model", "SSD 870\n"),
            ("device/wwid", "naa.5002538f00112233\n"),
            ("device/vpd_pg80", "\0\u{0}\0\0"),
            ("/sys/class/ata_link/link3/sata_spd", "3.0 Gbps\n"),
            ("/sys/class/ata_link/link3/hw_sata_spd_limit", "6.0 Gbps\n"),
        ],
    );
    assert_eq!(found.names.naa.as_deref(), Some("5002538f00112233"));
    assert_eq!((found.transport, found.serial.as_deref()), (Some(Transport::Sata), None));
    let link = found.link.unwrap();
    assert_eq!((link.lanes, link.lane_mt_per_s, link.lane_mt_per_s_max), (Some(1), Some(3000), Some(6000)));
    assert_eq!(link.is_below_its_best(), Some(true), "a cable or a port of the generation before");
}

#[test]
fn a_sas_disk_tells_the_phys_of_its_port() {
    let port = "pci0/host0/port-0:0";
    let phys = ["phy-0:0", "phy-0:1"]
        .map(|phy| (format!("/sys/devices/{port}/{phy}/sas_phy/{phy}/negotiated_linkrate"), "12.0 Gbit\n"));
    let found = identity(
        &format!("{port}/end_device-0:0/target0:0:0/0:0:0:0/block/sdb"),
        &[(phys[0].0.as_str(), phys[0].1), (phys[1].0.as_str(), phys[1].1)],
    );
    assert_eq!(found.transport, Some(Transport::Sas));
    let expected = Link { lanes: Some(2), lane_mt_per_s: Some(12_000), ..Link::default() };
    assert_eq!(found.link, Some(expected));
}

#[test]
fn each_way_of_attaching_a_device_is_known_by_its_place() {
    for (directory, transport) in [
        ("pci0/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdc", Some(Transport::Usb)),
        ("pci0/host7/rport-7:0-2/target7:0:0/7:0:0:1/block/sdd", Some(Transport::FibreChannel)),
        ("platform/host8/session1/target8:0:0/8:0:0:0/block/sde", Some(Transport::Iscsi)),
        ("pci0/virtio2/block/vda", Some(Transport::VirtioBlock)),
        ("vbd-768/block/xvda", Some(Transport::Xen)),
        ("platform/mmc_host/mmc0/mmc0:0001/block/mmcblk0", Some(Transport::Mmc)),
        ("virtual/block/loop0", Some(Transport::Loop)),
        ("virtual/block/dm-3", Some(Transport::Mapping)),
        ("virtual/block/md127", Some(Transport::Array)),
        ("virtual/block/zram0", None),
        ("platform/database/host9/block/sdf", None),
    ] {
        assert_eq!(identity(directory, &[]).transport, transport, "{directory}");
    }
}

#[test]
fn a_partition_is_told_with_its_disk_and_where_it_begins() {
    let (_root, system) = machine(
        "pci0/virtio2/block/vda",
        &[
            ("serial", "disk-1\n"),
            ("vda1/dev", "8:1\n"),
            ("vda1/partition", "1\n"),
            ("vda1/start", "63\n"),
            ("vda1/size", "2048\n"),
            ("vda1/alignment_offset", "3584\n"),
            ("queue/discard_max_bytes", "0\n"),
            ("queue/discard_granularity", "0\n"),
        ],
    );
    let found = system.identity_of_number("8:1").unwrap();
    assert_eq!((found.kernel_name.as_str(), found.serial.as_deref()), ("vda", Some("disk-1")));
    assert_eq!(found.discard, Some(Discard { bytes_max: 0, granularity_bytes: None }), "it takes none");
    let partition = found.partition.unwrap();
    let expected = Partition {
        number: 1,
        start_bytes: 63 * 512,
        size_bytes: Some(1 << 20),
        misaligned_bytes: Some(3584),
    };
    assert_eq!(partition, expected);
    assert!(!partition.is_aligned_to(4096), "the layout of a time before large sectors");
    assert_eq!(system.identity_of_number("8:0").unwrap().partition, None);
    assert_eq!(system.identity_of_number("9:9"), None);
}

#[test]
fn a_mapping_and_an_array_are_known_by_their_uuid() {
    let mapping = identity("virtual/block/dm-0", &[("dm/uuid", "LVM-abc\n"), ("dm/name", "vg-data\n")]);
    assert_eq!((mapping.names.uuid.as_deref(), mapping.model.as_deref()), (Some("LVM-abc"), Some("vg-data")));
    let array = identity("virtual/block/md0", &[("md/uuid", "1:2:3:4\n"), ("md/level", "raid10\n")]);
    assert_eq!(array.key().as_deref(), Some("uuid.1:2:3:4"));
    assert_eq!(array.model.as_deref(), Some("raid10"));
}

#[test]
fn the_device_under_a_file_of_this_machine_can_be_asked_for() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let device = crate::device_of(here);
    let found = crate::identity_of(here);
    // A file system on several devices, or on none, has no one identity.
    assert!(device.is_some() || found.is_none());
    if let Some(found) = found {
        assert!(!found.kernel_name.is_empty());
    }
}
