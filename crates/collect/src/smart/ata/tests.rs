//! Drives whose raw counters are public: the test data of `prometheus-community/smartctl_exporter`. The documents are made
//! here, with its numbers.

use iostall_model::WarningCode;
use iostall_model::drive::DriveReading;
use serde_json::{Value, json};

use super::super::parse;
use super::*;

fn document(family: Option<&str>, model: &str, attributes: &[(u64, &str, u64, u64)]) -> Value {
    let table: Vec<Value> = attributes
        .iter()
        .map(|(id, name, value, raw)| json!({"id": id, "name": name, "value": value, "raw": {"value": raw}}))
        .collect();
    json!({
        "smartctl": {"exit_status": 0}, "device": {"protocol": "ATA"}, "model_family": family, "model_name": model,
        "serial_number": "S", "logical_block_size": 512, "rotation_rate": 0,
        "ata_smart_attributes": {"table": table},
    })
}

fn read(document: &Value) -> Wear {
    parse("x", document.to_string().as_bytes()).unwrap().wear
}

const INTEL_OLD: &str = "Intel 730 and DC S35x0/3610/3700 Series SSDs";
const INTEL_NEW: &str = "Intel S4510/S4610/S4500/S4600 Series SSDs";

/// Family, units of 32 MiB by hosts and to the flash; terabytes of both, and their ratio.
const INTEL: [(&str, u64, u64, f64, f64, f64); 7] = [
    (INTEL_OLD, 62_594_010, 138_721_860, 2_100.306, 4_654.733, 2.2162),
    (INTEL_OLD, 10_301_402, 13_233_052, 345.658, 444.028, 1.2846),
    (INTEL_OLD, 22_052_942, 30_298_233, 739.974, 1_016.640, 1.3739),
    (INTEL_OLD, 849_547, 2_286_373, 28.506, 76.718, 2.6913),
    (INTEL_NEW, 4_149_381, 25_496_755, 139.230, 855.529, 6.1447),
    (INTEL_NEW, 1_649_413, 8_211_577, 55.345, 275.535, 4.9785),
    (INTEL_NEW, 215_581, 2_122_543, 7.234, 71.221, 9.8457),
];

#[test]
fn the_write_amplification_of_real_drives_is_that_of_their_own_counters() {
    for (family, host, nand, host_tb, nand_tb, ratio) in INTEL {
        let wear = read(&document(
            Some(family),
            "INTEL SSD",
            &[
                (225, "Host_Writes_32MiB", 100, host),
                (241, "Host_Writes_32MiB", 100, host),
                (243, "NAND_Writes_32MiB", 100, nand),
            ],
        ));
        let (host, nand) =
            (wear.host_bytes().unwrap() as f64 / 1e12, wear.nand_bytes().unwrap() as f64 / 1e12);
        assert!((host - host_tb).abs() < 0.0006 && (nand - nand_tb).abs() < 0.0006, "{host} {nand}");
        assert!((nand / host - ratio).abs() < 0.00006, "{}", nand / host);
        assert_eq!(wear.host.unwrap().origin, "attribute 241 Host_Writes_32MiB x 32 MiB");
    }
}

#[test]
fn pages_give_the_bytes_of_the_flash() {
    let wear = read(&document(
        Some("Micron 5100 Pro / 52x0 / 5300 SSDs"),
        "Micron_5300_MTFDDAK1T9TDS",
        &[
            (173, "Avg_Block-Erase_Count", 100, 83),
            (202, "Percent_Lifetime_Remain", 100, 0),
            (246, "Total_LBAs_Written", 100, 130_006_927_240),
            (247, "Host_Program_Page_Count", 100, 4_062_707_571),
            (248, "Bckgnd_Program_Page_Cnt", 100, 8_824_675_195),
        ],
    ));
    let host = wear.host_bytes().unwrap();
    assert_eq!(host, 66_563_546_746_880);
    assert!((wear.nand_bytes().unwrap() as f64 / host as f64 - 3.1721).abs() < 0.00006);
    assert_eq!((wear.used_percent(), wear.erase_cycles), (Some(0), Some(83)));
}

/// A label said `Total_LBAs_Written`, and 4.3 TB would have been 66 MB.
#[test]
fn a_label_that_lies_is_read_by_the_table_of_its_family() {
    let wear = read(&document(
        Some("Dell Certified Intel S3520 Series SSDs"),
        "SSDSCKJB240G7R",
        &[
            (225, "Host_Writes_32MiB", 100, 129_493),
            (233, "Total_LBAs_Written", 100, 129_493),
            (241, "Total_LBAs_Written", 100, 129_493),
            (245, "Percent_Life_Remaining", 100, 100),
        ],
    ));
    assert_eq!(wear.host_bytes(), Some(129_493 * (32 << 20)));
    assert_eq!((wear.used_percent(), wear.nand_bytes()), (Some(0), None));
}

#[test]
fn each_vendor_counts_in_its_own_unit_and_direction() {
    let kingston = read(&document(
        Some("Phison Driven SSDs"),
        "KINGSTON SKC400S371T",
        &[
            (231, "SSD_Life_Left", 100, 74),
            (233, "Flash_Writes_GiB", 100, 840_007),
            (241, "Lifetime_Writes_GiB", 100, 391_741),
            (244, "Average_Erase_Count", 100, 808),
        ],
    ));
    assert_eq!((kingston.used_percent(), kingston.erase_cycles), (Some(26), Some(808)));
    assert_eq!((kingston.host_bytes(), kingston.nand_bytes()), (Some(391_741 << 30), Some(840_007 << 30)));
    let motion = read(&document(
        Some("Silicon Motion based SSDs"),
        "TS32GMTS400",
        &[
            (169, "Remaining_Lifetime_Perc", 100, 96),
            (241, "Host_Writes_32MiB", 100, 30_245),
            (245, "TLC_Writes_32MiB", 100, 136_733),
        ],
    ));
    assert_eq!((motion.used_percent(), motion.nand_bytes()), (Some(4), Some(136_733 * (32 << 20))));
    let samsung = read(&document(
        Some("Samsung based SSDs"),
        "SAMSUNG MZ7LH1T9HMLT-00005",
        &[
            (177, "Wear_Leveling_Count", 99, 16),
            (241, "Total_LBAs_Written", 99, 63_180_483_059),
            (251, "NAND_Writes", 100, 64_213_448_960),
        ],
    ));
    assert_eq!((samsung.used_percent(), samsung.erase_cycles), (Some(1), Some(16)));
    assert_eq!(samsung.host_bytes(), Some(63_180_483_059 * 512));
    let unlisted = document(
        None,
        "SAMSUNG MZ7L3480HCHQ-00A07",
        &[(241, "Total_LBAs_Written", 99, 1_304_884_573), (251, "Unknown_Attribute", 100, 9)],
    );
    assert_eq!(
        (read(&unlisted).host_bytes(), read(&unlisted).nand_bytes()),
        (Some(1_304_884_573 * 512), None)
    );
}

#[test]
fn what_no_table_has_is_not_guessed() {
    let unknown = document(
        Some("Other SSDs"),
        "ACME",
        &[(241, "Total_LBAs_Written", 100, 5), (231, "Temperature", 60, 40)],
    );
    let reading = parse("x", unknown.to_string().as_bytes()).unwrap();
    assert_eq!((reading.wear.host, reading.wear.used), (None, None));
    assert!(reading.warnings[0].message.contains("is not guessed"), "{:?}", reading.warnings);
}

/// Public numbers of an 860 EVO: both sources agree, and Device Statistics say so themselves.
#[test]
fn device_statistics_come_before_attributes_where_they_are_valid() {
    let mut document = document(
        Some("Samsung based SSDs"),
        "Samsung SSD 860 EVO 500GB",
        &[(177, "Wear_Leveling_Count", 81, 278), (241, "Total_LBAs_Written", 99, 1)],
    );
    let line = |offset, value, valid| json!({"offset": offset, "value": value, "flags": {"valid": valid}});
    document["ata_device_statistics"] = json!({"pages": [
        {"number": 1, "table": [line(24, 64_777_770_148_u64, true)]}, {"number": 7, "table": [line(8, 19, true)]},
    ]});
    let wear = read(&document);
    assert_eq!((wear.host_bytes(), wear.used_percent()), (Some(33_166_218_315_776), Some(19)));
    assert_eq!(wear.host.unwrap().origin, "Device Statistics");
    document["ata_device_statistics"]["pages"][0]["table"][0]["flags"]["valid"] = json!(false);
    assert_eq!(read(&document).host_bytes(), Some(512), "a line that is not valid counts for nothing");
}

#[test]
fn every_bit_of_the_exit_status_leaves_a_valid_document_or_an_error_in_words() {
    let mut document: Value =
        serde_json::from_slice(include_bytes!("../../../testdata/smart/intel_sata.json")).unwrap();
    for status in 0..=255_u64 {
        document["smartctl"]["exit_status"] = json!(status);
        let read = parse("x", document.to_string().as_bytes());
        assert_eq!(read.is_err(), status & 3 != 0, "{status}");
        let Ok(reading) = read else { continue };
        assert_eq!(reading.wear.passed, Some(status & 0b1_1000 == 0), "{status}");
        assert_eq!(reading.warnings.len(), (status & 0b1111_0100).count_ones() as usize, "{status}");
    }
}

#[test]
fn a_device_that_is_no_drive_says_what_smartctl_said() {
    let text = r#"{"smartctl": {"exit_status": 1, "messages": [
        {"string": "/dev/vda: Unable to detect device type", "severity": "error"}]}}"#;
    let said = parse("/dev/vda", text.as_bytes()).unwrap_err().to_string();
    assert!(said.contains("Unable to detect device type"), "{said}");
}

#[test]
fn a_counter_of_the_wrong_type_is_an_error_that_names_it() {
    let good: Value =
        serde_json::from_slice(include_bytes!("../../../testdata/smart/intel_sata.json")).unwrap();
    for pointer in [
        "/power_on_time/hours",
        "/user_capacity/bytes",
        "/ata_smart_attributes/table/0/raw/value",
        "/smartctl/exit_status",
        "/local_time/time_t",
    ] {
        for wrong in [json!([]), json!({}), json!(1.5), json!("many"), json!(-1), json!(true)] {
            let mut document = good.clone();
            *document.pointer_mut(pointer).unwrap() = wrong.clone();
            let said = parse("x", document.to_string().as_bytes()).unwrap_err().to_string();
            assert!(said.starts_with("x: "), "{pointer} {wrong}: {said}");
        }
    }
}

fn kingston(value: u64, raw: u64, erases: Option<u64>) -> DriveReading {
    let mut attributes = vec![(231, "SSD_Life_Left", value, raw), (241, "Lifetime_Writes_GiB", 100, 5_597)];
    attributes.extend(erases.map(|erases| (244, "Average_Erase_Count", 100, erases)));
    parse("x", document(Some("Phison Driven SSDs"), "KINGSTON SA400S37", &attributes).to_string().as_bytes())
        .unwrap()
}

/// The story: a drive with 15 % of its bytes written was "86 % used", and a new one of the other firmware "replace it".
#[test]
fn of_two_numbers_that_are_complements_the_erases_tell_which_is_left() {
    let used = |value, raw, erases| kingston(value, raw, erases).wear.used_percent();
    assert_eq!(used(14, 86, Some(131)), Some(14));
    assert_eq!(used(100, 0, Some(0)), Some(0));
    assert_eq!(used(100, 0, Some(2_000)), Some(100));
    assert_eq!(used(50, 50, Some(500)), Some(50));
    assert_eq!(used(100, 74, Some(808)), Some(26), "no complements");
    let unknown = kingston(14, 86, None);
    assert_eq!(unknown.wear.used_percent(), None);
    assert!(unknown.warnings.iter().any(|one| one.code == WarningCode::NotCounted), "{:?}", unknown.warnings);
}

#[test]
fn crucial_counts_pages_although_its_family_has_the_name_of_micron_too() {
    for family in ["Crucial/Micron Client SSDs", "Silicon Motion based SSDs"] {
        let wear = read(&document(
            Some(family),
            "CT1000",
            &[
                (246, "Total_LBAs_Written", 100, 2_000_000_000),
                (247, "Host_Program_Page_Count", 100, 1_000),
                (248, "FTL_Program_Page_Count", 100, 3_000),
            ],
        ));
        let host = wear.host_bytes().unwrap();
        assert_eq!((host, wear.nand_bytes()), (2_000_000_000 * 512, Some(host * 4)), "{family}");
    }
}

#[test]
fn a_unit_in_a_name_is_read_for_families_that_smartmontools_knows_and_for_no_others() {
    let attributes = [(233, "NAND_GB_Written_TLC", 100, 500), (241, "Host_Writes_GiB", 100, 249)];
    let known = read(&document(Some("WD Blue / Red / Green SSDs"), "WDC", &attributes));
    assert_eq!((known.host_bytes(), known.nand_bytes()), (Some(249 << 30), Some(500_000_000_000)));
    let unknown = read(&document(None, "ACME", &attributes));
    assert_eq!((unknown.host_bytes(), unknown.nand_bytes()), (None, None));
}

#[test]
fn a_statistic_of_nothing_gives_way_to_what_the_vendor_counts() {
    let mut document = document(
        Some("Samsung based SSDs"),
        "Samsung SSD 860 EVO 500GB",
        &[(177, "Wear_Leveling_Count", 60, 278), (241, "Total_LBAs_Written", 99, 1_000)],
    );
    let line = |offset| json!({"offset": offset, "value": 0, "flags": {"valid": true}});
    document["ata_device_statistics"] = json!({"pages": [
        {"number": 1, "table": [line(24)]}, {"number": 7, "table": [line(8)]},
    ]});
    let wear = read(&document);
    assert_eq!((wear.host_bytes(), wear.used_percent()), (Some(512_000), Some(40)));
}

/// The story: a drive whose own attribute was at its threshold was "healthy".
#[test]
fn an_attribute_that_has_reached_its_threshold_is_a_failure() {
    let mut document =
        document(Some("Crucial/Micron Client SSDs"), "CT1", &[(5, "Reallocate_NAND_Blk_Cnt", 1, 900)]);
    document["ata_smart_attributes"]["table"][0]["when_failed"] = json!("now");
    let reading = parse("x", document.to_string().as_bytes()).unwrap();
    assert_eq!(reading.wear.passed, Some(false));
    assert!(
        reading.warnings.iter().any(|one| one.code == WarningCode::DriveReports),
        "{:?}",
        reading.warnings
    );
    document["ata_smart_attributes"]["table"][0]["when_failed"] = json!("past");
    assert_eq!(read(&document).passed, None);
}

#[test]
fn a_log_without_a_name_says_what_is_missing_and_an_old_disk_is_no_unknown_drive() {
    let mut bare = document(None, "", &[(9, "Power_On_Hours", 100, 1)]);
    bare["serial_number"] = json!("");
    let error = parse("x", bare.to_string().as_bytes()).unwrap_err();
    assert!(matches!(error, SmartError::Nameless { .. }), "{error}");
    let mut disk = document(None, "ST3200820AS", &[(7, "Seek_Error_Rate", 80, 5)]);
    disk.as_object_mut().unwrap().remove("rotation_rate");
    assert!(matches!(parse("x", disk.to_string().as_bytes()), Err(SmartError::HardDisk { .. })));
}
