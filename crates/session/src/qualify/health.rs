//! Looks at the drive under the target, before the rounds and after each.

use std::fs::File;
use std::path::Path;

use iostall_engine::nvme::log_page;
use iostall_host::{LogPlace, System};
use iostall_measure::platform::Target;
use iostall_model::qualify::DriveHealth;

use super::deviations::lowest;

pub(super) struct Look {
    system: System,
    disk: String,
    /// Where the kernel's log ended when the run began.
    since: Option<LogPlace>,
}

impl Look {
    /// At the drive under `target`; `None` if it has none that is known.
    pub(super) fn at(target: Option<&Target>) -> Option<Self> {
        let disk = lowest(target?.device.as_ref()?).name.clone();
        let system = System::here();
        let since = system.log_place();
        Some(Self { system, disk, since })
    }

    /// What may not be read is not known.
    pub(super) fn now(&self) -> DriveHealth {
        let health = self.system.drive_health(&self.disk, self.since);
        if !self.disk.starts_with("nvme") {
            return health;
        }
        let mut page = [0; DriveHealth::SMART_BYTES];
        let device = File::open(Path::new("/dev").join(&self.disk));
        match device.and_then(|device| log_page(&device, DriveHealth::SMART_PAGE, &mut page)) {
            Ok(()) => health.with_smart_page(&page),
            Err(_not_root) => health,
        }
    }
}
