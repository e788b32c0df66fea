//! What the real tools leave on a device is found, needs the stronger word, and is gone after `wipefs`.

use iostall_engine::guard::{GrantReason, Refusal};

use super::fixtures::{Loop, check_write, destroy, overwrite, run, skip};

/// The device is refused with `what` among the signatures; `--overwrite` does not help, `--destroy` does.
fn expect(tool: &str, arguments: &[&str], what: &str) {
    let Some(device) = Loop::with(tool, arguments) else { return };
    let refusal = check_write(&device.path, &overwrite(&device.path)).unwrap_err();
    let Refusal::Signatures { found, .. } = &refusal else { panic!("{tool}: {refusal}") };
    assert!(found.iter().any(|signature| signature.what.contains(what)), "{tool}: {refusal}");
    assert!(refusal.hint().contains(&format!("--destroy {}", device.text())));
    let grant = check_write(&device.path, &destroy(&device.path)).unwrap();
    assert!(matches!(grant.reason(), GrantReason::DestroySignatures(_)));
    drop(grant);
    if let Err(error) = run("wipefs", &["--all", "--quiet", device.text()]) {
        return skip(&error);
    }
    let wiped = check_write(&device.path, &overwrite(&device.path));
    let left_by_wipefs = matches!(&wiped, Err(Refusal::Signatures { found, .. })
        if found.iter().all(|signature| signature.what.contains("second header")));
    assert!(wiped.is_ok() || left_by_wipefs, "{tool}: {wiped:?}");
}

#[test]
fn ext4_is_found() {
    expect("mkfs.ext4", &["-q"], "ext4");
}

#[test]
fn xfs_is_found() {
    expect("mkfs.xfs", &["-q"], "xfs");
}

#[test]
fn btrfs_is_found() {
    expect("mkfs.btrfs", &["--quiet"], "btrfs");
}

#[test]
fn f2fs_is_found() {
    expect("mkfs.f2fs", &["-q"], "f2fs");
}

#[test]
fn fat_is_found_in_two_sizes() {
    expect("mkfs.vfat", &["-F", "32"], "FAT32");
    expect("mkfs.vfat", &["-F", "16"], "FAT");
}

#[test]
fn exfat_is_found() {
    expect("mkfs.exfat", &[], "exFAT");
}

#[test]
fn ntfs_is_found() {
    expect("mkfs.ntfs", &["--quick", "--quiet", "--force"], "NTFS");
}

#[test]
fn swap_is_found() {
    expect("mkswap", &[], "swap");
}

#[test]
fn an_lvm_physical_volume_is_found() {
    expect("pvcreate", &["--quiet", "--yes"], "LVM2");
}

#[test]
fn luks_is_found_in_both_versions() {
    let fast = [
        "--batch-mode",
        "--pbkdf",
        "pbkdf2",
        "--pbkdf-force-iterations",
        "1000",
        "--key-file",
        "/proc/version",
    ];
    for version in ["luks1", "luks2"] {
        expect("cryptsetup", &[&["luksFormat", "--type", version], &fast[..]].concat(), "LUKS");
    }
}

#[test]
fn a_bcache_member_is_found() {
    expect("make-bcache", &["-B"], "bcache");
}

#[test]
fn partition_tables_are_found_also_by_the_copy_at_the_end_alone() {
    let script = |label: &str| format!("printf 'label: {label}\\nsize=4MiB\\n' | sfdisk --quiet \"$1\"");
    expect("sh", &["-c", &script("dos"), "sh"], "MBR");
    expect("sh", &["-c", &script("gpt"), "sh"], "GPT");
    let zero_start = format!("{} && dd if=/dev/zero of=\"$1\" bs=1M count=1 status=none", script("gpt"));
    expect("sh", &["-c", &zero_start, "sh"], "GPT, second");
}
