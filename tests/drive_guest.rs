//! A machine with an emulated NVMe drive (QEMU), in which iostall is root: what no file and no loop device has. Only with `./check --long`.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Workspace, at_length, binary, skip};

/// As `check` fetches it.
const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools/guest-kernel/vmlinuz");
const MAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/guest/make.sh");
/// For all that is asked in a guest, which computes some fifty times slower.
const GUEST_S: &str = "900";

/// What was asked in a guest, and the answers with their exit statuses.
struct Asked(Vec<(String, String, i32)>);

impl Asked {
    #[track_caller]
    fn of(&self, name: &str, status: i32) -> &str {
        let found = self.0.iter().find(|(asked, ..)| asked == name);
        let (_, answer, ended) = found.unwrap_or_else(|| panic!("{name} was not asked: {:?}", self.0));
        assert_eq!(*ended, status, "{name}: {answer}");
        answer
    }

    #[track_caller]
    fn json(&self, name: &str, status: i32) -> Value {
        let text = self.of(name, status);
        // Messages stand before and after the document.
        let (from, to) = (text.find('{').unwrap_or(0), text.rfind('}').map_or(text.len(), |at| at + 1));
        serde_json::from_str(&text[from..to]).unwrap_or_else(|error| panic!("{name}: {error}: {text}"))
    }
}

/// Runs `script`, in which `ask NAME COMMAND …` are the questions, in a guest with a drive of 1 GiB.
fn asked(here: &Workspace, script: &str) -> Option<Asked> {
    for program in ["qemu-system-x86_64", "busybox", "nvme", "smartctl", "cpio"] {
        if !["/usr/bin", "/usr/sbin", "/bin"].iter().any(|place| Path::new(place).join(program).exists()) {
            skip("an emulated drive", program);
            return None;
        }
    }
    if !Path::new(KERNEL).exists() {
        skip("an emulated drive", "no kernel for its machine");
        return None;
    }
    let (init, image, drive) = (here.path("init"), here.path("initrd.gz"), here.path("drive.img"));
    std::fs::write(&init, script).unwrap();
    let made = Command::new("bash").arg(MAKE).arg(binary()).args([&init, &image]).status().unwrap();
    assert!(made.success());
    std::fs::File::create(&drive).unwrap().set_len(1 << 30).unwrap();
    let output = Command::new("timeout")
        .args([
            GUEST_S,
            "qemu-system-x86_64",
            "-machine",
            "q35,accel=tcg",
            "-cpu",
            "max",
            "-m",
            "1536",
            "-nographic",
            "-no-reboot",
        ])
        .args([
            "-kernel",
            KERNEL,
            "-initrd",
            image.to_str().unwrap(),
            "-append",
            "console=ttyS0 panic=-1 quiet",
        ])
        .args(["-drive", &format!("file={},if=none,id=nv,format=raw,discard=unmap", drive.display())])
        .args(["-device", "nvme,serial=QEMUTEST01,drive=nv"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert!(text.contains("@@ off"), "the guest did not come to its end: {text}");
    Some(Asked(answers(&text)))
}

fn answers(console: &str) -> Vec<(String, String, i32)> {
    let mut all = Vec::new();
    let mut now: Option<(String, String)> = None;
    for line in console.lines() {
        match (line.strip_prefix("@@ ended "), line.strip_prefix("@@ ")) {
            (Some(status), _) => {
                let (name, answer) = now.take().unwrap();
                all.push((name, answer, status.trim().parse().unwrap()));
            }
            (None, Some(name)) => now = Some((name.to_owned(), String::new())),
            _ => {
                if let Some((_, answer)) = &mut now {
                    answer.push_str(line);
                    answer.push('\n');
                }
            }
        }
    }
    all
}

const DRIVE: &str = "
ask listed iostall collect once smart:/dev/nvme0
ask write dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=64 oflag=direct
ask wear iostall drive endurance /dev/nvme0 --json -
nvme smart-log /dev/nvme0 -o json >nvme.json
ask by-nvme iostall drive endurance nvme.json --json -
smartctl -j -x /dev/nvme0 >smartctl.json
ask by-smartctl iostall drive endurance smartctl.json --json -
ask refused iostall drive qualify /dev/nvme0n1 --quick --purge discard
ask untouched iostall drive endurance /dev/nvme0 --json -
ask qualify iostall drive qualify /dev/nvme0n1 --quick --size 64M --cell 200ms --rounds 5 --purge discard --overwrite /dev/nvme0n1 --json q.json
ask result cat q.json
ask sanitized iostall drive qualify /dev/nvme0n1 --quick --purge sanitize --overwrite /dev/nvme0n1
ask filled dd if=/dev/urandom of=/dev/nvme0n1 bs=1M seek=512 count=1 oflag=direct
ask kept-from-formatting iostall drive qualify /dev/nvme0n1 --quick --purge format
ask filled-still sh -c 'dd if=/dev/nvme0n1 bs=1M skip=512 count=1 iflag=direct | cmp -n 1048576 - /dev/zero'
ask format iostall drive qualify /dev/nvme0n1 --quick --size 64M --cell 200ms --rounds 5 --purge format --overwrite /dev/nvme0n1 --json f.json
ask formatted cat f.json
ask empty sh -c 'dd if=/dev/nvme0n1 bs=1M skip=512 count=1 iflag=direct | cmp -n 1048576 - /dev/zero'
ask again iostall collect once smart:/dev/nvme0
ask history iostall drive endurance --json -
";

fn host_bytes(endurance: &Value) -> u64 {
    endurance["drives"][0]["wear"]["host"]["bytes"].as_u64().unwrap_or_else(|| panic!("{endurance}"))
}

#[test]
fn an_emulated_drive_says_what_was_written_and_is_purged_only_when_that_is_allowed() {
    if !at_length() {
        return;
    }
    let here = Workspace::new();
    let Some(asked) = asked(&here, DRIVE) else { return };
    asked.of("listed", 0);
    asked.of("write", 0);
    // Units of 512,000 bytes, rounded up; too little for a projection.
    let written = (64_u64 << 20).div_ceil(512_000) * 512_000;
    for name in ["wear", "by-nvme", "by-smartctl"] {
        let wear = asked.json(name, 2);
        assert_eq!(host_bytes(&wear), written, "{name}");
        assert_eq!(
            wear["drives"][0]["state"], "healthy",
            "{name}: spare 0 of 0 is not reported, and no alarm"
        );
    }
    let refused = asked.of("refused", 2);
    assert!(refused.contains("--overwrite /dev/nvme0n1"), "{refused}");
    assert_eq!(host_bytes(&asked.json("untouched", 2)), written);
    asked.of("qualify", 0);
    let run = asked.json("result", 0);
    assert_eq!(
        run["qualify"]["preconditioning"]["purged"], "discarded",
        "{}",
        run["qualify"]["preconditioning"]
    );
    // This drive has no Sanitize, and a format erases also what is not used of it; both only where that is allowed.
    let refused = asked.of("sanitized", 2);
    assert!(refused.contains("the drive has no command for it"), "{refused}");
    asked.of("filled", 0);
    let refused = asked.of("kept-from-formatting", 2);
    assert!(refused.contains("--overwrite /dev/nvme0n1"), "{refused}");
    asked.of("filled-still", 1);
    asked.of("format", 0);
    assert_eq!(asked.json("formatted", 0)["qualify"]["preconditioning"]["purged"], "formatted");
    asked.of("empty", 0);
    asked.of("again", 0);
    assert!(host_bytes(&asked.json("history", 2)) > written + (64 << 20), "its own writes are counted too");
}
