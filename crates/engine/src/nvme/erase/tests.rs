//! Against a scripted controller: no drive here has Sanitize. Format NVM is tried on an emulated drive too (tests/drive_guest.rs).

use iostall_measure::ManualClock;

use super::*;

/// Answers as a controller does, and notes what was sent.
struct Scripted {
    controller: Vec<u8>,
    namespace: Vec<u8>,
    namespaces: u32,
    /// What the log of Sanitize says, one after the other; the last for ever.
    status: Vec<[u8; 4]>,
    sent: Vec<(u8, u32, u32)>,
    asked: Vec<u32>,
}

impl Scripted {
    fn new() -> Self {
        Self {
            controller: vec![0; IDENTIFY_BYTES],
            namespace: vec![0; IDENTIFY_BYTES],
            namespaces: 1,
            status: vec![[0xff, 0xff, 1, 0]],
            sent: Vec::new(),
            asked: Vec::new(),
        }
    }

    fn erase(&mut self, how: Erase) -> Result<Erased, EraseError> {
        erase_with(self, how, &ManualClock::new(), &mut |_| true)
    }
}

impl Admin for Scripted {
    fn number(&self) -> u32 {
        1
    }

    fn identify(&mut self, what: u32, _namespace: u32) -> io::Result<Vec<u8>> {
        self.asked.push(what);
        Ok(match what {
            OF_CONTROLLER => self.controller.clone(),
            OF_NAMESPACE => self.namespace.clone(),
            _ => {
                let mut list: Vec<u8> = (1..=self.namespaces).flat_map(u32::to_le_bytes).collect();
                list.resize(IDENTIFY_BYTES, 0);
                list
            }
        })
    }

    fn sanitize_status(&mut self) -> io::Result<[u8; 4]> {
        Ok(if self.status.len() > 1 { self.status.remove(0) } else { self.status[0] })
    }

    fn command(&mut self, opcode: u8, namespace: u32, word: u32) -> io::Result<()> {
        self.sent.push((opcode, namespace, word));
        Ok(())
    }
}

#[test]
fn a_format_erases_user_data_and_keeps_the_size_of_blocks_metadata_and_protection() {
    let mut drive = Scripted::new();
    drive.controller[256] = 0b10;
    // Format 0x25 (upper bits 01, lower 0101), metadata at the end of blocks, protection of type 1 at their start.
    (drive.namespace[26], drive.namespace[29]) = (0b0011_0101, 0b1001);
    assert_eq!(drive.erase(Erase::Format).unwrap(), Erased::UserData);
    let word = 0b0101 | 1 << 4 | 0b001 << 5 | 1 << 8 | 0b001 << 9 | 0b01 << 12;
    assert_eq!(drive.sent, [(FORMAT, 1, word)]);
}

#[test]
fn nothing_is_sent_to_a_drive_without_the_command() {
    for how in [Erase::Format, Erase::Sanitize] {
        let mut drive = Scripted::new();
        assert!(matches!(drive.erase(how), Err(EraseError::Unsupported)));
        assert!(drive.sent.is_empty());
    }
    // Overwriting alone is not taken for an erasure.
    let mut drive = Scripted::new();
    drive.controller[328] = 0b100;
    assert!(matches!(drive.erase(Erase::Sanitize), Err(EraseError::Unsupported)));
    assert!(drive.sent.is_empty());
}

/// Somebody's data was on the second namespace of the drive.
#[test]
fn other_namespaces_of_the_drive_are_never_erased() {
    let mut drive = Scripted::new();
    (drive.controller[328], drive.namespaces) = (0b10, 3);
    assert!(matches!(drive.erase(Erase::Sanitize), Err(EraseError::OtherNamespaces(3))));
    for of_all in [0b01, 0b10] {
        (drive.controller[256], drive.controller[524]) = (0b10, of_all);
        assert!(matches!(drive.erase(Erase::Format), Err(EraseError::OtherNamespaces(3))));
    }
    assert!(drive.sent.is_empty());
    // A controller that manages namespaces knows those that are attached to others.
    drive.controller[256] = 0b1010;
    assert!(matches!(drive.erase(Erase::Format), Err(EraseError::OtherNamespaces(3))));
    assert_eq!(drive.asked.last(), Some(&ALLOCATED));
    // A format of this namespace alone is none of the others' business.
    drive.controller[524] = 0;
    assert_eq!(drive.erase(Erase::Format).unwrap(), Erased::UserData);
}

#[test]
fn a_sanitize_erases_blocks_if_it_can_or_the_key_and_is_waited_for() {
    for (can, action, erased) in
        [(0b11, 0b010, Erased::Blocks), (0b10, 0b010, Erased::Blocks), (0b01, 0b100, Erased::Key)]
    {
        let mut drive = Scripted::new();
        drive.controller[328] = can;
        drive.status = vec![[0, 0, 2, 0], [0, 0x80, 2, 0], [0xff, 0xff, 1, 0]];
        let (clock, mut seen) = (ManualClock::new(), Vec::new());
        let done = erase_with(&mut drive, Erase::Sanitize, &clock, &mut |done| {
            seen.push(done);
            true
        });
        assert_eq!(done.unwrap(), erased);
        assert_eq!(drive.sent, [(SANITIZE, 0, action)]);
        assert_eq!(seen, [0.0, 0.5]);
        assert_eq!(clock.now_ns(), 2 * POLL_NS);
    }
}

#[test]
fn a_sanitize_that_fails_or_is_not_waited_for_is_an_error() {
    let mut drive = Scripted::new();
    drive.controller[328] = 0b10;
    drive.status = vec![[0, 0, 3, 0]];
    assert!(matches!(drive.erase(Erase::Sanitize), Err(EraseError::Failed)));
    drive.status = vec![[0, 0, 2, 0]];
    let left = erase_with(&mut drive, Erase::Sanitize, &ManualClock::new(), &mut |_| false);
    assert!(matches!(left, Err(EraseError::Interrupted)));
}

#[test]
fn a_file_is_no_drive() {
    let file = tempfile::tempfile().unwrap();
    for how in [Erase::Format, Erase::Sanitize] {
        let refused = erase(&file, how, &ManualClock::new(), &mut |_| true);
        assert!(matches!(refused, Err(EraseError::NotNvme)));
    }
}
