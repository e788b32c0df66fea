//! `iostall fleet send --follow`: samples are at the centre as they come.

use crate::fleet_centre::Centre;
use crate::support::until;

#[test]
fn samples_are_sent_as_they_come_also_after_the_centre_was_away() {
    let Some(mut centre) = Centre::start() else { return };
    let server = centre.member("db1");
    let sampling = server.start(&["collect", "run", "--interval", "1s", "linux:"]);
    let address = centre.address();
    let mut sending = server.start(&["fleet", "send", "--follow", "--every", "200ms", &address]);
    let samples = |centre: &Centre| -> u64 { centre.counts().split('|').nth(2).unwrap().parse().unwrap() };
    until("samples come", || (samples(&centre) >= 3).then_some(()));
    centre.running.signal("KILL");
    sending.wait_for("not sent, and tried again");
    centre.restart("KILL");
    let before = samples(&centre);
    sending.wait_for("sending again");
    until("more samples come", || (samples(&centre) > before).then_some(()));
    sampling.signal("INT");
    sampling.ended().expect_status(0);
    sending.signal("INT");
    sending.ended().expect_status(0);
    let ran = centre.send(&server).expect_status(0);
    assert!(ran.stdout.contains("linux:: "), "{}", ran.stdout);
    let listed = centre.here.run(&["fleet", "servers", &centre.url]).expect_status(0).stdout;
    assert!(listed.contains("joined"), "{listed}");
}

#[test]
fn a_server_that_is_revoked_stops_following_and_says_why() {
    let Some(centre) = Centre::start() else { return };
    let server = centre.member("db1");
    let address = centre.address();
    let sending = server.start(&["fleet", "send", "--follow", "--every", "100ms", &address]);
    until("the sample comes", || centre.counts().starts_with("1|1|1|").then_some(()));
    centre.here.run(&["fleet", "revoke", &centre.url, "db1"]).expect_status(0);
    server.run(&["collect", "once", "linux:"]).expect_status(0);
    let ran = sending.ended().expect_status(2);
    assert!(ran.stderr.contains("this server was revoked"), "{}", ran.stderr);
}
