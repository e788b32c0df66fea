//! Going back in time.

use iostall_watch::windows::{Grain, Interval};
use iostall_watch::{FeedEvent, Travel};

use super::*;

fn past(state: &mut TopState, end: &str, reads: u64) {
    let (row, change) = file("sales", "E:\\a.mdf", reads, 2);
    let end = at(end);
    let start = end - SignedDuration::from_secs(60);
    let interval = Interval { start, end, rows: vec![(row, change)], grain: Grain::Samples };
    state.take(FeedEvent::Past { source: "sqlserver://db1:1433", interval: &interval });
}

#[test]
fn the_past_has_its_time_on_the_screen_and_the_keys_lead_through_it() {
    let mut state = TopState::new(&["sqlserver://db1:1433".to_owned()], Level::Files, None, true);
    assert_eq!(state.press(Key::Char('[')), Asked::Travel(Travel::Back));
    assert_eq!(state.press(Key::Char(']')), Asked::Draw, "nothing is later than now");
    state.take(FeedEvent::Moved { at: Some(at("2026-11-21T03:10:00Z")) });
    for (end, reads) in [("2026-11-21T03:09:00Z", 500), ("2026-11-21T03:10:00Z", 9_000)] {
        past(&mut state, end, reads);
    }
    state.tick(at("2026-11-21T14:10:00Z"));
    let whole = screen(&state, 80, 24);
    assert!(
        whole.contains("PAST  2026-11-21 03:10:00 UTC, 11 h ago  [ ] one sample  { } one hour  n now"),
        "{whole}"
    );
    assert!(whole.contains("sampled at 03:10:00") && whole.contains("03:08:00 to 03:10:00"), "{whole}");
    assert_eq!(state.press(Key::Char(']')), Asked::Travel(Travel::Forward));
    assert_eq!(state.press(Key::Char('{')), Asked::Travel(Travel::By(SignedDuration::from_hours(-1))));
    assert_eq!(state.press(Key::Char('n')), Asked::Travel(Travel::Live));
    state.nothing_earlier();
    assert!(screen(&state, 80, 24).contains("nothing earlier is stored"));
    state.take(FeedEvent::Moved { at: None });
    state.tick(at("2026-11-21T14:10:01Z"));
    assert!(state.lines.is_empty() && !screen(&state, 80, 24).contains("PAST"));

    let mut sampled = busy();
    assert_eq!(sampled.press(Key::Char('[')), Asked::Draw);
    assert!(screen(&sampled, 80, 24).contains("start top without a SOURCE"));
}
