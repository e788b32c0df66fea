//! The volume's own log: what it says of its limits, before and after a search, or saved.

use std::fs::File;
use std::path::{Path, PathBuf};

use iostall_engine::nvme::log_page;
use iostall_engine::{Input, InputError};
use iostall_host as host;
use iostall_measure::ByteCount;
use iostall_model::device::Cloud;
use iostall_model::limits::VolumeLogs;
use iostall_model::volume_log::VolumeLog;

use super::error::LimitsError;
use crate::error::SessionError;

/// A saved log may have more than the page.
const SAVED: Input = Input { what: "log of a volume", limit: ByteCount(1 << 20) };

/// The log of the volume that holds `target`; `None` if it has none, or it may not be read: that is no reason not to search.
pub(super) fn log_under(target: &Path) -> Option<VolumeLog> {
    let identity = host::identity_of(target)?;
    let is_amazon = identity.cloud_volume.is_some_and(|volume| volume.cloud == Cloud::Amazon);
    let device = Path::new("/dev").join(&identity.kernel_name);
    if is_amazon && identity.kernel_name.starts_with("nvme") { log_of(&device).ok() } else { None }
}

/// The logs of one target, a device or a saved page, or of two, the earlier first.
pub(super) fn saved(targets: &[PathBuf]) -> Result<VolumeLogs, SessionError> {
    let logs = targets.iter().map(|target| log_of(target)).collect::<Result<Vec<_>, _>>()?;
    let mut logs = logs.into_iter().rev();
    let after = logs.next().unwrap_or_default();
    let before = logs.next();
    if before.as_ref().is_some_and(|before| after.since(before).is_none()) {
        return Err(LimitsError::LogsTurned.into());
    }
    Ok(VolumeLogs { before, after, elapsed_ns: None })
}

fn log_of(target: &Path) -> Result<VolumeLog, SessionError> {
    let shown = || target.display().to_string();
    let refused = |source| SessionError::from(LimitsError::LogUnread { target: shown(), source });
    let bytes = match SAVED.read(target) {
        Err(InputError::Device { .. }) => {
            let mut bytes = vec![0; VolumeLog::BYTES];
            let device = File::open(target).map_err(refused)?;
            log_page(&device, VolumeLog::PAGE, &mut bytes).map_err(refused)?;
            bytes
        }
        read => read?,
    };
    VolumeLog::decode(&bytes).map_err(|source| LimitsError::NoLog { target: shown(), source }.into())
}
