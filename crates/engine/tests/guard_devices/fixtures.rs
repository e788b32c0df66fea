//! Loop devices, mounts and swap that take themselves apart, also when a test panics.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use iostall_engine::guard::{self, Refusal, WriteConsent, WriteGrant};
use iostall_measure::{Clock as _, MonotonicClock};
use tempfile::TempDir;

/// Tells the person who runs the tests, past the test harness's capture, what was not tested.
pub(crate) fn skip(what: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Nothing can be done about a closed stderr.
    let _ = writeln!(std::io::stderr().lock(), "SKIPPED {test}: {what}");
}

/// Between its fork and its exec a child has copies of all our descriptors, and a device that we have just
/// closed is still held. So no test starts a child while another one is inside of a check.
static FORKING: RwLock<()> = RwLock::new(());

/// Starts a child; returns when it runs its own program.
pub(crate) fn spawn(command: &mut Command) -> std::io::Result<Child> {
    let _alone = FORKING.write().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

/// The check under test, while nobody forks.
pub(crate) fn check_write(path: &Path, consent: &WriteConsent) -> Result<WriteGrant, Refusal> {
    let _nobody_forks = FORKING.read().unwrap_or_else(PoisonError::into_inner);
    guard::check_write(path, consent)
}

/// What is free again is granted, though not at once: a child of another test closes its copies of our descriptors a moment after
/// it was started.
#[track_caller]
pub(crate) fn granted_again(path: &Path, consent: &WriteConsent) -> WriteGrant {
    let clock = MonotonicClock::new();
    loop {
        match check_write(path, consent) {
            Err(Refusal::Busy { .. }) if clock.now_ns() < 10_000_000_000 => {
                clock.sleep_until(clock.now_ns() + 10_000_000);
            }
            answer => return answer.unwrap(),
        }
    }
}

/// Runs a tool; `Err` has what it said.
pub(crate) fn run(tool: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(tool);
    command
        .args(arguments)
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output =
        spawn(&mut command).and_then(Child::wait_with_output).map_err(|error| format!("{tool}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!("{tool} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}

/// A loop device over a sparse file of its own.
pub(crate) struct Loop {
    pub(crate) path: PathBuf,
    pub(crate) file: PathBuf,
    _directory: TempDir,
}

/// `losetup --find` looks and takes in two steps.
static FINDING: Mutex<()> = Mutex::new(());

impl Loop {
    /// `None`, told loudly, where there are no loop devices for us.
    pub(crate) fn new(size_bytes: u64) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("disk");
        File::create_new(&file).unwrap().set_len(size_bytes).unwrap();
        let path = Self::attach(text(&file))?;
        Some(Self { path, file, _directory: directory })
    }

    pub(crate) fn over(device: &Path) -> Option<Self> {
        let path = Self::attach(text(device))?;
        Some(Self { path, file: device.to_owned(), _directory: tempfile::tempdir().unwrap() })
    }

    fn attach(file: &str) -> Option<PathBuf> {
        let _one_at_a_time = FINDING.lock().unwrap_or_else(PoisonError::into_inner);
        match run("losetup", &["--find", "--show", "--partscan", file]) {
            Ok(path) => Some(path.into()),
            Err(error) => {
                skip(&format!("no loop device ({error})"));
                None
            }
        }
    }

    pub(crate) fn text(&self) -> &str {
        text(&self.path)
    }

    /// A loop device of 320 MiB, enough for any file system, with one made on it.
    pub(crate) fn with(tool: &str, arguments: &[&str]) -> Option<Self> {
        let device = Self::new(320 << 20)?;
        let arguments = [arguments, &[device.text()]].concat();
        match run(tool, &arguments) {
            Ok(_) => Some(device),
            Err(error) => {
                skip(&error);
                None
            }
        }
    }

    /// The node of a partition. A kernel that does not read partition tables itself is told by `partx`.
    pub(crate) fn partition(&self, index: u32) -> Option<PathBuf> {
        let path = PathBuf::from(format!("{}p{index}", self.text()));
        if !path.exists()
            && let Err(error) = run("partx", &["--add", self.text()])
        {
            skip(&error);
            return None;
        }
        if !path.exists() {
            skip(&format!("there is no {}", path.display()));
            return None;
        }
        Some(path)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = run("losetup", &["--detach", self.text()]);
    }
}

/// A child with a view of its own of the mounts begins with a copy of all there are, and what is unmounted here stays
/// mounted there, its device in use. So no test makes such a child while another one has something mounted.
static MOUNTED: RwLock<()> = RwLock::new(());

/// Waits until nothing is mounted, and keeps it so. A test that has a [`Mount`] would wait for itself.
pub(crate) fn nothing_mounted() -> RwLockWriteGuard<'static, ()> {
    MOUNTED.write().unwrap_or_else(PoisonError::into_inner)
}

/// A mount on a directory of its own. A test has one at a time.
pub(crate) struct Mount {
    pub(crate) directory: TempDir,
    _mounted: RwLockReadGuard<'static, ()>,
}

impl Mount {
    pub(crate) fn new(source: &str, options: &[&str]) -> Option<Self> {
        let mounted = MOUNTED.read().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().unwrap();
        let arguments = [options, &[source, text(directory.path())]].concat();
        match run("mount", &arguments) {
            Ok(_) => Some(Self { directory, _mounted: mounted }),
            Err(error) => {
                skip(&error);
                None
            }
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let path = text(self.directory.path());
        if run("umount", &[path]).is_err() {
            let _ = run("umount", &["--lazy", path]);
        }
    }
}

/// Runs a tool at the end, whatever happens.
pub(crate) struct Finally(pub(crate) &'static str, pub(crate) Vec<String>);

impl Drop for Finally {
    fn drop(&mut self) {
        let arguments: Vec<&str> = self.1.iter().map(String::as_str).collect();
        let _ = run(self.0, &arguments);
    }
}

/// Consent that names the target by every flag there is.
pub(crate) fn every_consent(path: &Path) -> WriteConsent {
    let named = vec![path.to_owned()];
    WriteConsent { overwrite: named.clone(), destroy_database: named.clone(), destroy_signature: named }
}

pub(crate) fn overwrite(path: &Path) -> WriteConsent {
    WriteConsent { overwrite: vec![path.to_owned()], ..WriteConsent::none() }
}

pub(crate) fn destroy(path: &Path) -> WriteConsent {
    WriteConsent { destroy_signature: vec![path.to_owned()], ..WriteConsent::none() }
}

/// The refusal that no consent can override.
pub(crate) fn refusal_for_ever(path: &Path) -> Refusal {
    match check_write(path, &every_consent(path)) {
        Err(refusal) => refusal,
        Ok(grant) => panic!("{} may be written: {:?}", path.display(), grant.reason()),
    }
}
