//! Block devices in use.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use iostall_engine::guard::{GrantReason, Refusal, WriteConsent};
use iostall_engine::{files, target_facts};
use iostall_host as host;

use super::fixtures::{
    Finally, Loop, Mount, check_write, destroy, every_consent, granted_again, nothing_mounted, overwrite,
    refusal_for_ever, run, skip, spawn, text,
};

#[test]
fn an_empty_device_is_written_only_when_named() {
    let Some(device) = Loop::new(16 << 20) else { return };
    let refusal = check_write(&device.path, &WriteConsent::none()).unwrap_err();
    assert!(matches!(refusal, Refusal::DeviceNotNamed { .. }), "{refusal}");
    assert!(refusal.hint().contains(device.text()), "{}", refusal.hint());
    let refusal = check_write(&device.path, &every_consent(&device.file)).unwrap_err();
    assert!(
        matches!(refusal, Refusal::DeviceNotNamed { .. }) || matches!(refusal, Refusal::UnderLoop { .. })
    );
    let grant = check_write(&device.path, &overwrite(&device.path)).unwrap();
    assert_eq!(grant.reason(), &GrantReason::Overwrite);
    assert_eq!(grant.path(), device.path);
}

#[test]
fn a_link_to_a_device_is_the_device() {
    let Some(device) = Loop::new(16 << 20) else { return };
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("by-id");
    symlink(&device.path, &link).unwrap();
    let grant = check_write(&link, &overwrite(&device.path)).unwrap();
    assert_eq!(grant.path(), device.path);
    drop(grant);
    granted_again(&device.path, &overwrite(&link));
}

#[test]
fn a_grant_keeps_others_from_taking_the_device() {
    let Some(device) = Loop::new(16 << 20) else { return };
    let first = check_write(&device.path, &overwrite(&device.path)).unwrap();
    assert!(matches!(refusal_for_ever(&device.path), Refusal::Busy { .. }));
    drop(first);
    granted_again(&device.path, &overwrite(&device.path));
}

#[test]
fn a_mounted_device_is_refused_whatever_the_user_says_and_free_once_unmounted() {
    for (tool, arguments) in
        [("mkfs.ext4", vec!["-q"]), ("mkfs.xfs", vec!["-q"]), ("mkfs.btrfs", vec!["--quiet"])]
    {
        let Some(device) = Loop::with(tool, &arguments) else { continue };
        let Some(mount) = Mount::new(device.text(), &[]) else { continue };
        let refusal = refusal_for_ever(&device.path);
        assert!(
            matches!(&refusal, Refusal::Mounted { mount_point, .. } if mount_point == mount.directory.path()),
            "{tool}: {refusal}"
        );
        drop(mount);
        let grant = check_write(&device.path, &destroy(&device.path)).unwrap();
        assert!(matches!(grant.reason(), GrantReason::DestroySignatures(_)));
    }
}

#[test]
fn a_device_mounted_where_we_cannot_see_it_is_busy() {
    let Some(device) = Loop::with("mkfs.ext4", &["-q"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let _alone = nothing_mounted();
    // The mount lives in the child's own view and ends with the child, which ends with its stdin.
    let script = format!("mount {} {} && echo mounted && read end", device.text(), text(directory.path()));
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = spawn(&mut command).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let answer = check_write(&device.path, &every_consent(&device.path));
    // Without a mount the child has gone already, and its end of the pipe with it.
    let _ = child.stdin.take().unwrap().write_all(b"\n");
    child.wait().unwrap();
    if line.trim() != "mounted" {
        return skip("no mount namespaces");
    }
    assert!(matches!(answer, Err(Refusal::Busy { .. })), "{answer:?}");
}

#[test]
fn every_device_of_a_mounted_btrfs_is_refused_and_told_as_one() {
    let Some(one) = Loop::new(320 << 20) else { return };
    let Some(two) = Loop::new(320 << 20) else { return };
    if let Err(error) = run("mkfs.btrfs", &["--quiet", one.text(), two.text()]) {
        return skip(&error);
    }
    let devices = format!("device={},device={}", one.text(), two.text());
    let Some(mount) = Mount::new(one.text(), &["-o", &devices]) else { return };
    for device in [&one, &two] {
        let refusal = refusal_for_ever(&device.path);
        assert!(matches!(refusal, Refusal::Mounted { .. } | Refusal::InBtrfs { .. }), "{refusal}");
    }
    let path = mount.path("file");
    std::fs::write(&path, "x").unwrap();
    let found = host::device_of(&path).unwrap();
    let mut names: Vec<&str> = found.below.iter().map(|device| device.name.as_str()).collect();
    let mut expected = [&one, &two].map(|device| device.text().trim_start_matches("/dev/"));
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(host::file_system_of(&path).unwrap().kind, "btrfs");
}

#[test]
fn a_device_in_use_as_swap_is_refused_whatever_the_user_says() {
    let Some(device) = Loop::with("mkswap", &[]) else { return };
    if let Err(error) = run("swapon", &[device.text()]) {
        return skip(&error);
    }
    let swap = Finally("swapoff", vec![device.text().to_owned()]);
    assert!(matches!(refusal_for_ever(&device.path), Refusal::Swap { .. }));
    drop(swap);
    check_write(&device.path, &destroy(&device.path)).unwrap();
}

#[test]
fn a_device_under_a_device_mapping_is_refused_whatever_the_user_says() {
    let Some(device) = Loop::new(16 << 20) else { return };
    let name = format!("iostall-test-{}", std::process::id());
    let table = format!("0 2048 linear {} 0", device.text());
    if let Err(error) = run("dmsetup", &["create", &name, "--table", &table]) {
        return skip(&error);
    }
    let _mapping = Finally("dmsetup", vec!["remove".into(), name]);
    let refusal = refusal_for_ever(&device.path);
    assert!(matches!(&refusal, Refusal::Held { holder, .. } if holder.starts_with("dm-")), "{refusal}");
}

#[test]
fn a_device_or_file_behind_a_loop_device_is_refused_whatever_the_user_says() {
    let Some(lower) = Loop::new(16 << 20) else { return };
    assert!(matches!(refusal_for_ever(&lower.file), Refusal::UnderLoop { .. }));
    let Some(upper) = Loop::over(&lower.path) else { return };
    let refusal = refusal_for_ever(&lower.path);
    assert!(matches!(refusal, Refusal::UnderLoop { .. } | Refusal::Busy { .. }), "{refusal}");
    let found = host::device_of(&upper.path).unwrap();
    assert_eq!(found.below[0].name, lower.text().trim_start_matches("/dev/"));
}

#[test]
fn a_mounted_partition_closes_its_disk_and_leaves_its_sibling_to_the_users_word() {
    let Some(disk) = Loop::new(64 << 20) else { return };
    let script = format!("printf 'label: gpt\\nsize=40MiB\\nsize=10MiB\\n' | sfdisk --quiet {}", disk.text());
    if let Err(error) = run("sh", &["-c", &script]) {
        return skip(&error);
    }
    let refusal = check_write(&disk.path, &overwrite(&disk.path)).unwrap_err();
    assert!(
        matches!(&refusal, Refusal::Signatures { found, .. } if found.iter().any(|s| s.what.contains("GPT")))
    );
    let (Some(first), Some(second)) = (disk.partition(1), disk.partition(2)) else { return };
    if let Err(error) = run("mkfs.ext4", &["-q", text(&first)]) {
        return skip(&error);
    }
    let Some(mount) = Mount::new(text(&first), &[]) else { return };
    for path in [&disk.path, &first] {
        assert!(matches!(refusal_for_ever(path), Refusal::Mounted { .. }), "{}", path.display());
    }
    check_write(&second, &overwrite(&second)).unwrap();
    let found = host::device_of(&mount.path("")).unwrap();
    assert_eq!(Path::new("/dev").join(&found.name), first);
    assert_eq!(Path::new("/dev").join(&found.below[0].name), disk.path);
    assert_eq!(found.below[0].size_bytes, Some(64 << 20));
}

#[test]
fn a_target_on_a_loop_device_is_told_whole() {
    let Some(device) = Loop::with("mkfs.ext4", &["-q"]) else { return };
    let Some(mount) = Mount::new(device.text(), &["-o", "noatime"]) else { return };
    let path = mount.path("data");
    std::fs::write(&path, vec![1; 1 << 20]).unwrap();
    let target = target_facts(&path, None).unwrap();
    assert_eq!((target.size_bytes, target.unwritten_bytes), (1 << 20, Some(0)));
    assert!(target.allocated_bytes.unwrap() >= 1 << 20 && !target.made_by_iostall);
    let file_system = target.file_system.unwrap();
    assert_eq!((file_system.kind.as_str(), file_system.source.as_str()), ("ext4", device.text()));
    assert!(file_system.options.split(',').any(|option| option == "noatime"), "{}", file_system.options);
    let found = target.device.unwrap();
    assert_eq!((found.size_bytes, found.logical_sector_bytes), (Some(320 << 20), Some(512)));
    let counters = host::device_counters(std::slice::from_ref(&found.name));
    assert!(counters[0].write_bytes >= 1 << 20, "{counters:?}");
    // A page that the kernel is using stays, so this may have to be repeated.
    let dropped = (0..1000).any(|_| {
        files::drop_from_cache(&path).unwrap();
        files::page_cache_share(&path).unwrap() == Some(0.0)
    });
    assert!(dropped, "{:?} is still in memory", files::page_cache_share(&path));
    let found = target_facts(&device.path, None).unwrap();
    assert_eq!((found.size_bytes, found.file_system), (320 << 20, None));
}
