//! Units that an attribute's name says itself.
//!
//! smartmontools' database gives attributes their names, and many of them have the unit: `Host_Writes_GiB`. They hold for every family
//! that is in that database. `Total_LBAs_Written` is none of them: what an LBA is there, a table of families says or nobody.

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Who wrote what an attribute counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    Hosts,
    /// The drive itself, to its flash.
    Drive,
}

/// Whose bytes `name` counts, and of how many one is.
pub(super) fn unit_of(name: &str) -> Option<(Writer, u64)> {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split('_').collect();
    let has = |any: &[&str]| any.iter().any(|word| words.contains(word));
    if !has(&["write", "writes", "written", "wts", "prog", "prg"]) || has(&["reads", "rds", "slc"]) {
        return None;
    }
    let unit = words.iter().find_map(|word| match *word {
        "32mib" => Some(32 * MIB),
        "mib" => Some(MIB),
        "gib" | "1gib" => Some(GIB),
        "gb" => Some(1_000_000_000),
        _ => None,
    })?;
    if has(&["nand", "flash", "flsh", "tlc"]) {
        Some((Writer::Drive, unit))
    } else if has(&["host", "hst", "lifetime", "total"]) {
        Some((Writer::Hosts, unit))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Writer::{Drive, Hosts};
    use super::*;

    type Fact = (&'static str, &'static str, Option<(Writer, u64)>);

    /// Family and name of an attribute, and what one of it is: facts of smartmontools' drivedb.h (version 7.3).
    const FACTS: [Fact; 33] = [
        ("Apple MacBook Air SSD", "Host_Writes_GiB", Some((Hosts, GIB))),
        ("Apple SD/SM/TS...E/F/G SSDs", "Host_Writes_MiB", Some((Hosts, MIB))),
        ("Indilinx Barefoot 3 based SSDs", "Host_Writes_GiB", Some((Hosts, GIB))),
        ("Indilinx Barefoot 3 based SSDs", "Total_NAND_Prog_Ct_GiB", Some((Drive, GIB))),
        ("Indilinx Barefoot 3 based SSDs", "Total_NAND_Read_Ct_GiB", None),
        ("Kingston SSDNow UV400/500", "Host_Writes_GiB", Some((Hosts, GIB))),
        ("SandForce Driven SSDs", "Lifetime_Writes_GiB", Some((Hosts, GIB))),
        ("SandForce Driven SSDs", "Lifetime_Reads_GiB", None),
        ("SandForce Driven SSDs", "Gigabytes_Erased", None),
        ("Phison Driven OEM SSDs", "Lifetime_Writes_GiB", Some((Hosts, GIB))),
        ("Phison Driven OEM SSDs", "Flash_Writes_GiB", Some((Drive, GIB))),
        ("SK hynix SATA SSDs", "Total_Writes_GB", Some((Hosts, 1_000_000_000))),
        ("SK hynix SATA SSDs", "Lifetime_NAND_Prg_GiB", Some((Drive, GIB))),
        ("SK hynix SATA SSDs", "Total_Media_Writes", None),
        ("Marvell based SanDisk SSDs", "Total_Writes_GiB", Some((Hosts, GIB))),
        ("Marvell based SanDisk SSDs", "Total_NAND_Writes_GiB", Some((Drive, GIB))),
        ("Marvell based SanDisk SSDs", "TLC_NAND_GB_Writes", Some((Drive, 1_000_000_000))),
        ("Marvell based SanDisk SSDs", "Total_Write/Erase_Count", None),
        ("WD Blue / Red / Green SSDs", "Host_Writes_GiB", Some((Hosts, GIB))),
        ("WD Blue / Red / Green SSDs", "NAND_GB_Written_TLC", Some((Drive, 1_000_000_000))),
        ("WD Blue / Red / Green SSDs", "NAND_GB_Written_SLC", None),
        ("Intel 540 Series SSDs", "NAND_Writes_1GiB", Some((Drive, GIB))),
        ("Intel 540 Series SSDs", "Host_Writes_32MiB", Some((Hosts, 32 * MIB))),
        ("Innodisk 3IE2/3ME2/3MG2/3SE2/3TG6 SSDs", "Flash_Writes_32MiB", Some((Drive, 32 * MIB))),
        ("Innodisk 3IE2/3ME2/3MG2/3SE2/3TG6 SSDs", "Flash_Reads_32MiB", None),
        ("Seagate IronWolf 110 SATA SSD", "Lifetime_Wts_Frm_Hst_GB", Some((Hosts, 1_000_000_000))),
        ("Seagate IronWolf 110 SATA SSD", "Lifetime_Wts_To_Flsh_GB", Some((Drive, 1_000_000_000))),
        ("Seagate IronWolf 110 SATA SSD", "Lifetime_Rds_Frm_Hst_GB", None),
        ("Seagate IronWolf Pro 125 SSDs", "Flash_Writes_GiB", Some((Drive, GIB))),
        ("Silicon Motion based OEM SSDs", "TLC_Writes_32MiB", Some((Drive, 32 * MIB))),
        ("Silicon Motion based OEM SSDs", "SLC_Writes_32MiB", None),
        ("SSSTC ER2 GD/CD Series SSDs", "NAND_Writes_GiB", Some((Drive, GIB))),
        ("Crucial/Micron Client SSDs", "Total_LBAs_Written", None),
    ];

    #[test]
    fn a_name_that_says_its_unit_is_read_and_one_that_does_not_is_not_guessed() {
        for (family, name, expected) in FACTS {
            assert_eq!(unit_of(name), expected, "{family}, {name}");
        }
    }
}
