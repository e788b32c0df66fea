//! Backups that another iostall receives: two processes, TLS between them, ordinary files at the end.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;

use super::attacks::words_of;
use super::receiver::Receiver;
use super::upload_kills::source;
use crate::copy::content;
use crate::copy_media::Volume;
use crate::support::{Ran, Workspace};

const CREATE: [&str; 9] =
    ["backup", "create", "--compress", "none", "--to", "@/db1/shop.iob", "--to", "@/db1/b/two.iob", "shop"];

/// Backups of hosts without an object store lay on the host that they were of.
#[test]
fn a_backup_goes_to_another_iostall_and_comes_back_and_its_files_are_ordinary_ones_there() {
    let here = Workspace::new();
    source(&here);
    let receiver = Receiver::start(&here);
    let made = receiver.run_client(&here, &CREATE).expect_status(0);
    assert!(!made.stderr.contains("warning"), "{}", made.stderr);
    assert_eq!(receiver.names("db1"), ["b", "shop.iob", "shop.iob.manifest"]);
    assert_eq!(receiver.names("db1/b"), ["shop.iob.manifest", "two.iob"]);
    assert_eq!(receiver.uploads("db1"), 0);

    let listed =
        receiver.run_client(&here, &["backup", "list", "--json", "@/db1", "@/db1/b"]).expect_status(0);
    assert!(listed.stdout.contains("\"whole\""), "{}", listed.stdout);
    receiver.run_client(&here, &["backup", "verify", "@/db1/shop.iob"]).expect_status(0);
    receiver
        .run_client(&here, &["backup", "verify", "--headers", "@/db1/shop.iob.manifest"])
        .expect_status(0);
    receiver.run_client(&here, &["backup", "restore", "@/db1/shop.iob", "--to", "back"]).expect_status(0);
    here.run(&["verify", "--no-store", "shop", "back"]).expect_status(0);
    fs::create_dir(here.path("scratch")).unwrap();
    receiver
        .run_client(&here, &["backup", "drill", "--scratch", "scratch", "@/db1/shop.iob"])
        .expect_status(0);
    // On the receiver's host they are files.
    let verify = ["backup", "verify", "--no-store", "repository/db1/shop.iob", "repository/db1/b/two.iob"];
    here.run(&verify).expect_status(0);
    let restore =
        ["backup", "restore", "repository/db1/shop.iob", "repository/db1/b/two.iob", "--to", "there"];
    here.run(&restore).expect_status(0);
    let increment = ["backup", "create", "--base", "@/db1/shop.iob", "--to", "@/db1/more.iob", "shop"];
    receiver.run_client(&here, &increment).expect_status(0);
    let prune = ["backup", "prune", "--keep-last", "1"];
    let pruned = here.run(&[&prune[..], &["repository/db1", "repository/db1/b"]].concat()).expect_status(0);
    assert!(receiver.names("db1").contains(&"shop.iob".to_owned()), "it is a base: {}", words_of(&pruned));

    // Neither side says or stores the secret.
    let secret = receiver.keys[0].rsplit_once('.').unwrap().1.to_owned();
    receiver.running.signal("TERM");
    let ended = receiver.running.ended().expect_status(0);
    assert!(ended.stderr.contains("stored db1/shop.iob"), "{}", ended.stderr);
    let said = format!("{}{}{}", words_of(&ended), words_of(&made), listed.stdout);
    assert!(!said.contains(&secret), "{said}");
    assert!(!fs::read_to_string(here.path("receive.keys")).unwrap().contains(&secret));
}

#[test]
fn a_wrong_key_a_wrong_place_and_another_certificate_are_refused_with_what_to_do() {
    let here = Workspace::new();
    fs::write(here.path("a"), content(10_000)).unwrap();
    let receiver = Receiver::start(&here);
    let create = ["backup", "create", "--no-store", "--to", "@/db1/a.iob", "a"];
    let (name, other) = (receiver.keys[0].clone(), receiver.keys[1].clone());
    let swapped = format!("db1.{}", other.rsplit_once('.').unwrap().1);
    let wrong_pin = format!("sha256:{}", "3".repeat(64));
    for (variable, value, said) in [
        ("IOSTALL_RECEIVER_KEY", "", "IOSTALL_RECEIVER_KEY is not set"),
        ("IOSTALL_RECEIVER_KEY", "db1", "does not know this key"),
        ("IOSTALL_RECEIVER_KEY", swapped.as_str(), "does not know this key"),
        ("IOSTALL_RECEIVER_KEY", "nobody.00", "does not know this key"),
        ("IOSTALL_RECEIVER_KEY", "a\nb", "is no key"),
        ("IOSTALL_RECEIVER_KEY", other.as_str(), "for names below db2"),
        ("IOSTALL_RECEIVER_CERTIFICATE", wrong_pin.as_str(), receiver.fingerprint.as_str()),
        ("IOSTALL_RECEIVER_CERTIFICATE", "", "no authority that this machine trusts"),
        ("IOSTALL_RECEIVER_CERTIFICATE", "sha256:00", "is no fingerprint"),
    ] {
        let refused = receiver.command(&here, &create).env(variable, value).output().unwrap();
        let refused = Ran::from(refused).expect_status(2);
        let all = words_of(&refused);
        assert!(all.contains(said) && all.contains("hint:"), "{variable}={value:?}: {all}");
        assert!(!all.contains("AWS_"), "{variable}={value:?}: {all}");
        let list =
            receiver.command(&here, &["backup", "list", "@/db1"]).env(variable, value).output().unwrap();
        Ran::from(list).expect_status(2);
    }
    for (to, said) in [
        ("@/db2/a.iob", "for names below db1"),
        ("@/db10/a.iob", "for names below db1"),
        ("@/a.iob", "for names below db1"),
        ("@/db1/größe.iob", "does not take this name"),
        ("@/db1/.hidden.iob", "does not take this name"),
        ("@/db1/../db2/a.iob", "no address"),
        ("iostall:///db1/a.iob", "no address"),
        ("iostall://user@127.0.0.1/db1/a.iob", "no address"),
    ] {
        let refused =
            receiver.run_client(&here, &["backup", "create", "--no-store", "--to", to, "a"]).expect_status(2);
        assert!(words_of(&refused).contains(said), "{to}: {}", words_of(&refused));
    }
    assert_eq!((receiver.names("db1"), receiver.names("db2")), (Vec::new(), Vec::new()));
    assert_eq!(receiver.names(""), ["db1", "db2"]);
    // A key that is removed from the file is unknown at once.
    receiver.run_client(&here, &create).expect_status(0);
    let keys = fs::read_to_string(here.path("receive.keys")).unwrap();
    fs::write(here.path("receive.keys"), keys.lines().nth(1).unwrap()).unwrap();
    let revoked = receiver.run_client(&here, &["backup", "list", "@/db1"]).expect_status(2);
    assert!(words_of(&revoked).contains("does not know this key"), "{}", words_of(&revoked));
    assert!(!name.is_empty());
}

/// Who had the keys of a database's host could delete its backups.
#[test]
fn a_client_can_delete_and_replace_nothing() {
    let here = Workspace::new();
    source(&here);
    let receiver = Receiver::start(&here);
    receiver.run_client(&here, &CREATE).expect_status(0);
    let before = fs::read(receiver.directory.join("db1/shop.iob")).unwrap();
    let again = receiver.run_client(&here, &CREATE).expect_status(2);
    assert!(words_of(&again).contains("exists"), "{}", words_of(&again));
    receiver
        .run_client(&here, &["backup", "create", "--no-store", "--to", "@/db1/new.iob", "shop"])
        .expect_status(0);
    let prune = receiver.run_client(&here, &["backup", "prune", "--keep-last", "1", "@/db1", "@/db1/b"]);
    assert_ne!(prune.status, Some(0), "{}", words_of(&prune));
    assert!(words_of(&prune).contains("deletes nothing"), "{}", words_of(&prune));

    let (_, upload) = receiver.request("POST", "/v1/db1/shop.iob?uploads", b"");
    assert!(upload.contains("PreconditionFailed"), "{upload}");
    for (method, target, status) in [
        ("DELETE", "/v1/db1/shop.iob", 403),
        ("DELETE", "/v1/db1/shop.iob?versionId=null", 403),
        ("POST", "/v1?delete", 403),
        ("POST", "/v1/?delete", 403),
        ("PUT", "/v1/db1/shop.iob", 412),
        ("PUT", "/v1/db1/shop.iob?retention", 412),
        ("PUT", "/v1", 403),
        ("DELETE", "/v1", 403),
        ("DELETE", "/v1/db1", 403),
        ("PUT", "/v1/db1", 403),
        ("PUT", "/v1/db1/b", 412),
        ("PUT", "/v1/db1/shop.iob/below", 400),
        ("GET", "/v1/db2/x", 403),
        ("GET", "/v1?list-type=2&prefix=&delimiter=/", 403),
        ("GET", "/v1?list-type=2&prefix=db2/&delimiter=/", 403),
        ("GET", "/v1?list-type=2&prefix=db1/../&delimiter=/", 400),
        ("GET", "/v1?list-type=2&prefix=db1/", 400),
        ("PUT", "/v1/db1/../db2/x", 400),
        ("PUT", "/v1/db1/%2e%2e/db2/x", 400),
        ("PUT", "/v1/db1%2f..%2fdb2%2fx", 400),
        ("PUT", "/v1//etc/passwd", 400),
        ("PUT", "/v1/db1/a%00b", 400),
        ("PUT", "/v1/db1/.iostall-receive/lock", 400),
        ("PUT", "/v1/db1/%e2%80%aeboi.a", 400),
        ("PUT", &format!("/v1/db1/{}", "x".repeat(300)), 400),
        ("PUT", &format!("/v1/db1/{}", "x/".repeat(300)), 400),
        ("GET", "/etc/passwd", 400),
        ("PUT", "/v1/db1/x?partNumber=1&uploadId=00000000000000000000000000000000", 400),
        ("PUT", "/v1/db1/x?partNumber=1&uploadId=../../x", 400),
        ("POST", "/v1/db1/x?uploadId=lock", 400),
    ] {
        let (found, body) = receiver.request(method, target, b"hostile");
        assert_eq!(found, status, "{method} {target}: {body}");
    }
    assert_eq!(fs::read(receiver.directory.join("db1/shop.iob")).unwrap(), before);
    assert_eq!(receiver.names("db2"), [""; 0]);
    assert_eq!(receiver.uploads("db1"), 0);
    receiver.run_client(&here, &["backup", "verify", "--no-store", "@/db1/shop.iob"]).expect_status(0);
}

#[test]
fn links_lead_nowhere_and_nonsense_is_answered_or_cut() {
    let here = Workspace::new();
    fs::write(here.path("a"), content(10_000)).unwrap();
    let receiver = Receiver::start(&here);
    receiver
        .run_client(&here, &["backup", "create", "--no-store", "--to", "@/db1/a.iob", "a"])
        .expect_status(0);
    // Links that somebody placed there lead nowhere.
    fs::write(here.path("precious"), b"precious").unwrap();
    symlink(here.path("precious"), receiver.directory.join("db1/link")).unwrap();
    symlink(here.path("."), receiver.directory.join("db1/away")).unwrap();
    for (method, target) in [
        ("GET", "/v1/db1/link"),
        ("GET", "/v1/db1/away/precious"),
        ("PUT", "/v1/db1/link"),
        ("PUT", "/v1/db1/away/new"),
    ] {
        let (status, body) = receiver.request(method, target, b"hostile");
        assert!(status >= 400 && body != "precious", "{method} {target}: {status} {body}");
    }
    assert!(!here.path("new").exists());
    assert_eq!(fs::read(here.path("precious")).unwrap(), b"precious");
    let long = vec![b'x'; 100_000];
    // What is no request at all.
    for nonsense in [&b"\0\0\0\0"[..], b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n\r\n", long.as_slice()] {
        let (status, _) = receiver.raw(nonsense);
        assert!([0, 400, 401, 431].contains(&status), "{status}");
    }
    receiver.run_client(&here, &["backup", "verify", "--no-store", "@/db1/a.iob"]).expect_status(0);
}

/// A full disk was tried again for two minutes, and then called a broken connection.
#[test]
fn a_full_disk_of_the_receiver_is_said_at_once_and_nothing_is_left() {
    let here = Workspace::new();
    source(&here);
    let Some(volume) = Volume::new(&here, "ext4", 512, 24) else { return };
    let receiver = Receiver::start_in(&here, &volume.mounted_at);
    let create = ["backup", "create", "--no-store", "--compress", "none", "--to", "@/db1/a.iob", "shop"];
    let full = receiver.run_client(&here, &create).expect_status(2);
    let said = words_of(&full);
    assert!(said.contains("the receiver's disk is full") && said.contains("hint: make room"), "{said}");
    assert_eq!((receiver.names("db1"), receiver.uploads("db1")), (Vec::new(), 0));
    fs::write(here.path("small"), content(5_000_000)).unwrap();
    receiver
        .run_client(&here, &["backup", "create", "--no-store", "--to", "@/db1/a.iob", "small"])
        .expect_status(0);
    drop(receiver);
}

#[test]
fn what_cannot_be_received_is_said_at_the_start() {
    let here = Workspace::new();
    let receiver = Receiver::start(&here);
    let words =
        ["backup", "receive", "--keys", "receive.keys", "--certificate", "cert.pem", "--key", "key.pem"];
    let run = |more: &[&str]| words_of(&here.run(&[&words[..], more].concat()).expect_status(2));
    let said = run(&["--listen", "127.0.0.1:0", "repository"]);
    assert!(said.contains("another iostall receives into") && said.contains("hint: stop that one"), "{said}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    fs::create_dir(here.path("other")).unwrap();
    let said = run(&["--listen", &taken.local_addr().unwrap().to_string(), "other"]);
    assert!(said.contains("cannot listen on") && said.contains("another program listens there"), "{said}");
    assert!(run(&["--listen", "nonsense", "other"]).contains("cannot listen on nonsense"));
    assert!(run(&["nowhere/at/all"]).contains("nowhere/at/all"));
    fs::write(here.path("key.pem"), "nothing").unwrap();
    assert!(run(&["other"]).contains("no private key in PEM form"));
    fs::set_permissions(here.path("receive.keys"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .unwrap();
    assert!(run(&["other"]).contains("chmod 600"), "who can write to it could add keys");
    drop(receiver);
}

/// One host whose old backups nobody pruned filled the disk of all.
#[test]
fn a_key_has_a_quota_and_what_goes_beyond_it_leaves_nothing() {
    let here = Workspace::new();
    source(&here);
    let receiver = Receiver::start(&here);
    let keys = fs::read_to_string(here.path("receive.keys")).unwrap();
    let set_quota = |quota: &str| {
        let (first, rest) = keys.split_once('\n').unwrap();
        fs::write(here.path("receive.keys"), format!("{first} quota={quota}\n{rest}")).unwrap();
    };
    let create = |name: &str, status: i32| {
        let to = format!("@/db1/{name}.iob");
        let line = ["backup", "create", "--no-store", "--compress", "none", "--to", &to, "shop"];
        words_of(&receiver.run_client(&here, &line).expect_status(status))
    };
    set_quota("50M");
    create("a", 0);
    let names = ["a.iob", "a.iob.manifest"];
    // In the middle of a stripe, and before its first byte.
    for quota in ["50M", "40M"] {
        set_quota(quota);
        let refused = create("b", 2);
        assert!(
            refused.contains("which is its quota") && refused.contains("iostall backup prune"),
            "{refused}"
        );
        assert_eq!((receiver.names("db1"), receiver.uploads("db1")), (names.map(str::to_owned).to_vec(), 0));
    }
    let verify = ["backup", "verify", "--no-store", "@/db1/a.iob"];
    receiver.run_client(&here, &verify).expect_status(0);
    set_quota("100M");
    create("b", 0);
    // Room that was made counts at once.
    set_quota("90M");
    create("c", 2);
    here.run(&["backup", "prune", "--keep-last", "1", "repository/db1"]).expect_status(0);
    create("c", 0);
    let add = ["backup", "receive", "--keys", "receive.keys", "--add-key", "db3", "--quota", "500G"];
    here.run(&add).expect_status(0);
    assert!(fs::read_to_string(here.path("receive.keys")).unwrap().ends_with(" quota=536870912000\n"));
}
