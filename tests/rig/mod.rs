//! Drives that exist only in memory, for the program under test: a file system in user space whose one file is the model, and a loop
//! device with direct I/O on it, so that every request and every flush arrives.

mod medium;
mod served;

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fuser::{BackgroundSession, Config, MountOption};
use iostall_engine::sim::DeviceModel;

use crate::support::{Workspace, skip};

pub(crate) use medium::{Medium, Personality};
use served::Served;

/// Attaches the device, says its name, and takes everything back once its standard input ends: that happens when the rig is dropped,
/// and also when the test that made it is killed.
const GUARD: &str = r#"
trap '' INT TERM HUP QUIT
device=$(losetup --find --show --direct-io=on "$0/drive") || { umount --lazy "$0"; exit 1; }
echo "$device"
read -r _
losetup --detach "$device"
umount "$0" 2>/dev/null || umount --lazy "$0"
"#;

/// A drive that is attached.
pub(crate) struct Rig {
    device: String,
    medium: Arc<Mutex<Medium>>,
    guard: Child,
    _session: BackgroundSession,
}

impl Rig {
    /// A drive of `bytes` on which each request takes what `model` says, in real time; without one, no time. `None`, with a message,
    /// where there is no such file system or no loop device.
    pub(crate) fn new(
        here: &Workspace,
        what: &str,
        medium: Medium,
        model: Option<Box<dyn DeviceModel>>,
    ) -> Option<Self> {
        let place = here.path("rig");
        std::fs::create_dir_all(&place).unwrap();
        let medium = Arc::new(Mutex::new(medium));
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("iostall-rig".to_owned()), MountOption::NoSuid];
        let session = match fuser::spawn_mount(Served::new(Arc::clone(&medium), model), &place, &config) {
            Ok(session) => session,
            Err(error) => {
                skip(what, &format!("a file system in user space cannot be mounted: {error}"));
                return None;
            }
        };
        let mut guard = Command::new("sh")
            .args(["-c", GUARD])
            .arg(&place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let mut device = String::new();
        BufReader::new(guard.stdout.take().expect("a pipe")).read_line(&mut device).unwrap();
        if device.is_empty() {
            skip(what, "a loop device with direct I/O cannot be attached");
            let _ = guard.wait();
            return None;
        }
        Some(Self { device: device.trim().to_owned(), medium, guard, _session: session })
    }

    /// Path of the device.
    pub(crate) fn name(&self) -> &str {
        &self.device
    }

    /// What the drive holds, and what it does with it.
    pub(crate) fn medium(&self) -> MutexGuard<'_, Medium> {
        self.medium.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file that is attached to the device; `None` once it is detached.
    pub(crate) fn attached(device: &str) -> Option<PathBuf> {
        let name = device.trim_start_matches("/dev/");
        let file = std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()?;
        Some(PathBuf::from(file.trim()))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // Requests that wait for the power must not keep the device.
        self.medium().power_on();
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}
