//! The settings of databases that protect pages, and whether they may be turned off here.

use iostall_model::atomic::{AtomicReport, PageProtection, ProtectionAdvice};

struct Database {
    engine: &'static str,
    setting: &'static str,
    page_bytes: u64,
    /// Whether it finds torn pages and prevents none.
    only_finds: bool,
    /// The condition where the file system replaces pages whole.
    on_records: &'static str,
    /// The condition where writes with `RWF_ATOMIC` are whole.
    on_units: &'static str,
}

const DATABASES: [Database; 3] = [
    Database {
        engine: "PostgreSQL",
        setting: "full_page_writes",
        page_bytes: 8192,
        only_finds: false,
        on_records: "recordsize stays at least a page, also where the files are copied to; pg_rewind needs it on, and a base backup turns it on",
        on_units: "the manual of your version says that it writes pages with RWF_ATOMIC: 18 and older do not",
    },
    Database {
        engine: "MySQL, MariaDB",
        setting: "innodb_doublewrite",
        page_bytes: 16_384,
        only_finds: false,
        on_records: "recordsize stays at least innodb_page_size, also where the files are copied to",
        on_units: "the manual of your version says that it writes pages with RWF_ATOMIC, or the vendor of the volume says so for O_DIRECT",
    },
    Database {
        engine: "SQL Server",
        setting: "PAGE_VERIFY CHECKSUM",
        page_bytes: 8192,
        only_finds: true,
        on_records: "",
        on_units: "",
    },
];

pub(super) fn protections(report: &AtomicReport) -> Vec<PageProtection> {
    DATABASES.iter().map(|database| protection(report, database)).collect()
}

fn protection(report: &AtomicReport, database: &Database) -> PageProtection {
    let Database { engine, setting, page_bytes, only_finds, on_records, on_units } = *database;
    let is_promised = report.promises(page_bytes);
    let is_torn = report.proof.as_ref().is_some_and(|proof| proof.tore(page_bytes));
    let is_unit = report.units().is_some_and(|units| units.takes(page_bytes));
    let (advice, why) = match () {
        () if only_finds => (
            ProtectionAdvice::LeaveOn,
            "it finds torn pages and prevents none; a page that it finds comes back from a backup",
        ),
        () if is_torn => (ProtectionAdvice::LeaveOn, "cuts of power tore pages of this size"),
        () if is_promised && !is_unit => (ProtectionAdvice::OffIf, on_records),
        () if is_promised => (ProtectionAdvice::OffIf, on_units),
        () => (ProtectionAdvice::LeaveOn, "the stack promises nothing for a page"),
    };
    PageProtection {
        engine: engine.to_owned(),
        setting: setting.to_owned(),
        page_bytes,
        is_promised,
        advice,
        why: why.to_owned(),
    }
}
