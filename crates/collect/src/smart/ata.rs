//! Drives with SATA: Device Statistics first, then the vendor's attributes by the table of its family.
//!
//! An id alone means nothing: 231 is the life that is left on one drive and a temperature on another, and one vendor's label
//! `Total_LBAs_Written` counts units of 32 MiB. The key is the family in the database of smartmontools, the id and the name; where no
//! table has the family, the unit that the name says itself.

mod names;

use iostall_model::drive::{CountedBytes, CountedPercent, DriveIdentity, Wear};
use iostall_model::{Warning, WarningCode};

use super::error::SmartError;
use super::field::{Field, PERCENT_MAX};
use names::{Writer, unit_of};

const MIB_32: u64 = 32 << 20;
const GIB: u64 = 1 << 30;
const SECTOR: u64 = 512;
/// Erases that flash of solid-state drives bears.
const CYCLES: std::ops::RangeInclusive<u64> = 300..=30_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// Bytes of hosts in units of so many.
    Host(u64),
    /// Bytes of the flash in units of so many.
    Nand(u64),
    HostPages,
    /// Pages programmed by the drive for itself.
    OwnPages,
    /// Its value goes from 100 down.
    LeftValue,
    /// Its raw value is the percentage that is left.
    LeftRaw,
    /// The smaller of both: some firmware counts only one of them down. Where the two are complements, one of them is what is used,
    /// and the erases tell which.
    LeftEither,
    /// Its raw value is the percentage used.
    UsedRaw,
    EraseCycles,
}

/// A vendor's attribute. The first that is there counts.
struct Rule {
    /// Part of the family's name, or of the model's where the database does not have the drive.
    family: &'static str,
    id: u64,
    /// Its name begins so.
    name: &'static str,
    meaning: Meaning,
}

const fn rule(family: &'static str, id: u64, name: &'static str, meaning: Meaning) -> Rule {
    Rule { family, id, name, meaning }
}

const RULES: [Rule; 33] = [
    rule("Dell Certified Intel", 225, "Host_Writes_32MiB", Meaning::Host(MIB_32)),
    // The label lies: it is the same number as 225.
    rule("Dell Certified Intel", 241, "Total_LBAs_Written", Meaning::Host(MIB_32)),
    rule("Dell Certified Intel", 245, "Percent_Life_Remaining", Meaning::LeftRaw),
    rule("Intel", 241, "Host_Writes_32MiB", Meaning::Host(MIB_32)),
    rule("Intel", 225, "Host_Writes_32MiB", Meaning::Host(MIB_32)),
    rule("Intel", 243, "NAND_Writes_32MiB", Meaning::Nand(MIB_32)),
    rule("Intel", 233, "Media_Wearout_Indicator", Meaning::LeftValue),
    rule("Samsung based SSDs", 241, "Total_LBAs_Written", Meaning::Host(SECTOR)),
    rule("Samsung based SSDs", 251, "NAND_Writes", Meaning::Nand(SECTOR)),
    rule("Samsung based SSDs", 177, "Wear_Leveling_Count", Meaning::LeftValue),
    rule("Samsung based SSDs", 177, "Wear_Leveling_Count", Meaning::EraseCycles),
    // Before Micron, whose name its family has too.
    rule("Crucial", 246, "Total_LBAs_Written", Meaning::Host(SECTOR)),
    rule("Crucial", 247, "Host_Program_Page_Count", Meaning::HostPages),
    rule("Crucial", 248, "FTL_Program_Page_Count", Meaning::OwnPages),
    rule("Crucial", 202, "Percent_Lifetime_Remain", Meaning::UsedRaw),
    rule("Crucial", 173, "Av", Meaning::EraseCycles),
    rule("Micron", 246, "Total_LBAs_Written", Meaning::Host(SECTOR)),
    rule("Micron", 247, "Host_Program_Page_Count", Meaning::HostPages),
    rule("Micron", 248, "Bckgnd_Program_Page_Cnt", Meaning::OwnPages),
    rule("Micron", 202, "Percent_Lifetime_Remain", Meaning::UsedRaw),
    rule("Micron", 173, "Av", Meaning::EraseCycles),
    rule("Phison Driven SSDs", 241, "Lifetime_Writes_GiB", Meaning::Host(GIB)),
    rule("Phison Driven SSDs", 233, "Flash_Writes_GiB", Meaning::Nand(GIB)),
    rule("Phison Driven SSDs", 231, "SSD_Life_Left", Meaning::LeftEither),
    rule("Phison Driven SSDs", 244, "Average_Erase_Count", Meaning::EraseCycles),
    rule("Silicon Motion based SSDs", 241, "Host_Writes_32MiB", Meaning::Host(MIB_32)),
    rule("Silicon Motion based SSDs", 245, "TLC_Writes_32MiB", Meaning::Nand(MIB_32)),
    // Crucial's BX500.
    rule("Silicon Motion based SSDs", 246, "Total_LBAs_Written", Meaning::Host(SECTOR)),
    rule("Silicon Motion based SSDs", 247, "Host_Program_Page_Count", Meaning::HostPages),
    rule("Silicon Motion based SSDs", 248, "FTL_Program_Page_Count", Meaning::OwnPages),
    rule("Silicon Motion based SSDs", 169, "Remaining_Lifetime_Perc", Meaning::LeftRaw),
    // Not in every database; the name of 241 is the generic one.
    rule("SAMSUNG MZ7L", 241, "Total_LBAs_Written", Meaning::Host(SECTOR)),
    rule("SAMSUNG MZ7L", 177, "Wear_Leveling_Count", Meaning::LeftValue),
];

struct Attribute {
    id: u64,
    name: String,
    value: Option<u64>,
    raw: Option<u64>,
    /// Whether the drive calls it failed, now.
    is_failing: bool,
}

pub(super) fn wear(
    field: Field<'_>,
    drive: &DriveIdentity,
    warnings: &mut Vec<Warning>,
) -> Result<Wear, SmartError> {
    let attributes = attributes(field)?;
    if is_hard_disk(field, &attributes)? {
        return Err(SmartError::HardDisk { name: field.document.to_owned(), model: drive.model.clone() });
    }
    let vendor = Vendor { rules: rules_of(drive), attributes: &attributes };
    let mut vendors = vendor.wear(warnings);
    if drive.family.is_some() {
        vendors.fill_from(by_name(&attributes));
    }
    let mut wear = device_statistics(field)?;
    // A drive that keeps no such statistic calls 0 valid.
    if wear.used_percent() == Some(0) && vendors.used_percent().is_some_and(|used| used > 1) {
        wear.used = None;
    }
    wear.fill_from(vendors);
    wear.fill_from(guessed_by_smartctl(field)?);
    for failing in attributes.iter().filter(|attribute| attribute.is_failing) {
        let message = format!(
            "attribute {} {} has reached its threshold: the drive expects to fail",
            failing.id, failing.name
        );
        warnings.push(Warning::new(WarningCode::DriveReports, message));
        wear.passed = Some(false);
    }
    if wear.host.is_none() && !attributes.is_empty() {
        let family = drive.family.as_deref().unwrap_or("no family that smartmontools knows");
        let message = format!(
            "{} ({family}) is in no table of attribute units: what it counts is not guessed",
            drive.model
        );
        warnings.push(
            Warning::new(WarningCode::NotCounted, message)
                .hint("`smartctl -x` with Device Statistics has the bytes; newer drives report them"),
        );
    }
    Ok(wear)
}

/// The rules of the first family that fits: a narrower name stands before a wider one.
fn rules_of(drive: &DriveIdentity) -> Vec<&'static Rule> {
    let family = drive.family.as_deref().unwrap_or("");
    let fits = |rule: &&Rule| {
        if family.is_empty() { drive.model.starts_with(rule.family) } else { family.contains(rule.family) }
    };
    let first = RULES.iter().find(fits).map(|rule| rule.family);
    RULES.iter().filter(|rule| Some(rule.family) == first).collect()
}

struct Vendor<'a> {
    rules: Vec<&'static Rule>,
    attributes: &'a [Attribute],
}

impl Vendor<'_> {
    /// What `read` makes of the first attribute that it understands, with the attribute's name.
    fn first<T>(&self, read: impl Fn(Meaning, &Attribute) -> Option<T>) -> Option<(T, String)> {
        self.rules.iter().find_map(|rule| {
            let is_it = |one: &&Attribute| one.id == rule.id && one.name.starts_with(rule.name);
            let attribute = self.attributes.iter().find(is_it)?;
            Some((read(rule.meaning, attribute)?, format!("attribute {} {}", attribute.id, attribute.name)))
        })
    }

    fn bytes(&self, unit_of: fn(Meaning) -> Option<u64>) -> Option<CountedBytes> {
        let read = |meaning, attribute: &Attribute| {
            let unit = unit_of(meaning)?;
            Some((attribute.raw?.checked_mul(unit)?, unit))
        };
        let ((bytes, unit), name) = self.first(read)?;
        let unit = match unit {
            MIB_32 => "32 MiB",
            GIB => "1 GiB",
            _ => "512 B",
        };
        Some(CountedBytes { bytes, origin: format!("{name} x {unit}") })
    }

    fn raw(&self, wanted: Meaning) -> Option<u64> {
        self.first(|meaning, attribute| attribute.raw.filter(|_| meaning == wanted)).map(|(raw, _)| raw)
    }

    /// Bytes of the flash from the ratio of its pages to those of hosts.
    fn bytes_of_pages(&self, host: Option<&CountedBytes>) -> Option<CountedBytes> {
        let pages = self.raw(Meaning::HostPages).filter(|pages| *pages > 0)?;
        let all = u128::from(pages) + u128::from(self.raw(Meaning::OwnPages)?);
        let bytes = u64::try_from(u128::from(host?.bytes).checked_mul(all)? / u128::from(pages)).ok()?;
        Some(CountedBytes { bytes, origin: "attributes 247 and 248, pages".to_owned() })
    }

    fn used(&self) -> Option<CountedPercent> {
        let read = |meaning, attribute: &Attribute| {
            let left = match meaning {
                Meaning::LeftValue => attribute.value?,
                Meaning::LeftRaw => attribute.raw?,
                Meaning::LeftEither => self.left_of(attribute.value?, attribute.raw?)?,
                Meaning::UsedRaw => return attribute.raw.filter(|used| *used <= PERCENT_MAX),
                _ => return None,
            };
            100_u64.checked_sub(left)
        };
        let (percent, origin) = self.first(read)?;
        Some(CountedPercent { percent, origin })
    }

    /// What is left by an attribute with two numbers; `None` if they are complements and nothing tells which is which.
    fn left_of(&self, value: u64, raw: u64) -> Option<u64> {
        if value.checked_add(raw) != Some(100) {
            return Some(raw.min(value));
        }
        let erases = self.raw(Meaning::EraseCycles)?;
        // As many cycles in all as flash has, where so many percent are used: one less or more, because it is a whole number.
        let fits = |left: &u64| {
            let used = 100 - left;
            let (least, most) =
                (CYCLES.start() * used.saturating_sub(1) / 100, CYCLES.end() * (used + 1) / 100);
            (least..=most).contains(&erases)
        };
        let mut fitting = [value, raw].into_iter().filter(fits);
        let left = fitting.next()?;
        fitting.next().is_none_or(|other| other == left).then_some(left)
    }

    fn ambiguous(&self) -> Option<Warning> {
        let read = |meaning, attribute: &Attribute| {
            let (value, raw) = (attribute.value?, attribute.raw?);
            (meaning == Meaning::LeftEither && self.left_of(value, raw).is_none()).then_some((value, raw))
        };
        let ((value, raw), name) = self.first(read)?;
        let message =
            format!("{name} says {value} and {raw}, and either may be what is left: neither is taken");
        Some(Warning::new(WarningCode::NotCounted, message))
    }

    fn wear(&self, warnings: &mut Vec<Warning>) -> Wear {
        warnings.extend(self.ambiguous());
        let host = self.bytes(host_unit);
        let nand = self.bytes(nand_unit).or_else(|| self.bytes_of_pages(host.as_ref()));
        Wear {
            host,
            nand,
            used: self.used(),
            erase_cycles: self.raw(Meaning::EraseCycles),
            ..Wear::default()
        }
    }
}

/// What the names of attributes say themselves.
fn by_name(attributes: &[Attribute]) -> Wear {
    let bytes = |wanted: Writer| {
        attributes.iter().find_map(|attribute| {
            let (_, unit) = unit_of(&attribute.name).filter(|(writer, _)| *writer == wanted)?;
            let bytes = attribute.raw?.checked_mul(unit)?;
            Some(CountedBytes { bytes, origin: format!("attribute {} {}", attribute.id, attribute.name) })
        })
    };
    Wear { host: bytes(Writer::Hosts), nand: bytes(Writer::Drive), ..Wear::default() }
}

/// Old disks do not say that they turn: only they count errors of seeking, or need time to spin up.
fn is_hard_disk(field: Field<'_>, attributes: &[Attribute]) -> Result<bool, SmartError> {
    let turns = |one: &Attribute| {
        one.name == "Seek_Error_Rate" || one.name == "Spin_Up_Time" && one.raw.is_some_and(|time| time > 0)
    };
    Ok(field.count("rotation_rate")?.is_none() && attributes.iter().any(turns))
}

fn host_unit(meaning: Meaning) -> Option<u64> {
    if let Meaning::Host(unit) = meaning { Some(unit) } else { None }
}

fn nand_unit(meaning: Meaning) -> Option<u64> {
    if let Meaning::Nand(unit) = meaning { Some(unit) } else { None }
}

fn attributes(field: Field<'_>) -> Result<Vec<Attribute>, SmartError> {
    let Some(all) = field.part("ata_smart_attributes") else { return Ok(Vec::new()) };
    all.parts("table")
        .map(|one| {
            let raw = one.part("raw").map(|raw| raw.count("value")).transpose()?.flatten();
            Ok(Attribute {
                id: one.count("id")?.unwrap_or(0),
                name: one.text("name").unwrap_or_default(),
                value: one.count("value")?,
                raw,
                is_failing: one.text("when_failed").is_some_and(|when| when == "now"),
            })
        })
        .collect()
}

/// The value at `offset` of a page of Device Statistics, if the drive calls it valid.
fn statistic(field: Field<'_>, page: u64, offset: u64) -> Result<Option<u64>, SmartError> {
    let Some(all) = field.part("ata_device_statistics") else { return Ok(None) };
    for one in all.parts("pages") {
        if one.count("number")? != Some(page) {
            continue;
        }
        for line in one.parts("table") {
            let is_valid = line.part("flags").and_then(|flags| flags.truth("valid")) == Some(true);
            if line.count("offset")? == Some(offset) && is_valid {
                return line.count("value");
            }
        }
    }
    Ok(None)
}

fn device_statistics(field: Field<'_>) -> Result<Wear, SmartError> {
    let sector = field.count("logical_block_size")?.filter(|size| *size > 0).unwrap_or(SECTOR);
    let written =
        statistic(field, 1, 24)?.and_then(|sectors| sectors.checked_mul(sector)).filter(|bytes| *bytes > 0);
    let used = statistic(field, 7, 8)?.filter(|used| *used <= PERCENT_MAX);
    let origin = "Device Statistics".to_owned();
    Ok(Wear {
        host: written.map(|bytes| CountedBytes { bytes, origin: origin.clone() }),
        used: used.map(|percent| CountedPercent { percent, origin }),
        ..Wear::default()
    })
}

/// What newer versions of smartctl take from the names of attributes.
fn guessed_by_smartctl(field: Field<'_>) -> Result<Wear, SmartError> {
    let Some(written) = field.part("host_writes") else { return Ok(Wear::default()) };
    let unit = written.count("bytes_per_unit")?.unwrap_or(0);
    let bytes = written.times("units", unit)?.filter(|bytes| *bytes > 0);
    let origin = "smartctl's host_writes".to_owned();
    Ok(Wear { host: bytes.map(|bytes| CountedBytes { bytes, origin }), ..Wear::default() })
}

#[cfg(test)]
mod tests;
