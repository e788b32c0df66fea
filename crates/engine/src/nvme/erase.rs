//! Erases an NVMe drive: Format NVM with erasure of user data, and Sanitize (NVM Express Base Specification 2.0, 5.14, 5.24 and 8.21).

use std::fs::File;
use std::io;

use iostall_measure::Clock;
use thiserror::Error;

use super::admin::{AdminCommand, log_page, namespace_of, submit};

const IDENTIFY: u8 = 0x06;
const FORMAT: u8 = 0x80;
const SANITIZE: u8 = 0x84;
const SANITIZE_STATUS: u8 = 0x81;
const IDENTIFY_BYTES: usize = 4096;
const OF_NAMESPACE: u32 = 0x00;
const OF_CONTROLLER: u32 = 0x01;
/// Namespaces that the controller has attached.
const ATTACHED: u32 = 0x02;
/// Namespaces of the whole drive, for controllers that manage them.
const ALLOCATED: u32 = 0x10;
/// A format erases every cell before it answers.
const FORMAT_MS: u32 = 3_600_000;
const POLL_NS: u64 = 500_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erase {
    /// Format NVM with erasure of user data, in the format that the namespace has.
    Format,
    /// Sanitize, which erases the whole drive: its blocks, or if it cannot do that, the key of its encryption.
    Sanitize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Erased {
    /// User data, by Format NVM.
    UserData,
    /// All blocks, by Sanitize.
    Blocks,
    /// The key of the drive's encryption, by Sanitize.
    Key,
}

#[derive(Debug, Error)]
pub enum EraseError {
    #[error("it is no NVMe drive")]
    NotNvme,
    #[error("the drive has no command for it")]
    Unsupported,
    #[error("the drive has {0} namespaces, and all of them would be erased")]
    OtherNamespaces(usize),
    /// Somebody stopped waiting. A drive cannot be told to stop.
    #[error("the drive goes on erasing itself, for which nobody waits any more")]
    Interrupted,
    #[error("the drive says that it failed to erase itself")]
    Failed,
    #[error("the drive refused")]
    Command(#[source] io::Error),
}

/// Erases the drive of `device`, a whole namespace such as `/dev/nvme0n1`, open for writing. Returns when it
/// is done. `go_on` is told which part of it is done (0 to 1) a few times a second, and says whether to go on
/// waiting. Needs root. On an error nothing was erased, except with `Interrupted` and `Failed`.
pub fn erase(
    device: &File,
    how: Erase,
    clock: &impl Clock,
    go_on: &mut dyn FnMut(f64) -> bool,
) -> Result<Erased, EraseError> {
    let of_drive = |error: io::Error| match error.kind() {
        io::ErrorKind::Unsupported => EraseError::NotNvme,
        _ => EraseError::Command(error),
    };
    let namespace = namespace_of(device).map_err(of_drive)?;
    erase_with(&mut Namespace { device, number: namespace }, how, clock, go_on)
}

trait Admin {
    fn number(&self) -> u32;
    fn identify(&mut self, what: u32, namespace: u32) -> io::Result<Vec<u8>>;
    fn sanitize_status(&mut self) -> io::Result<[u8; 4]>;
    fn command(&mut self, opcode: u8, namespace: u32, word: u32) -> io::Result<()>;
}

struct Namespace<'a> {
    device: &'a File,
    number: u32,
}

impl Admin for Namespace<'_> {
    fn number(&self) -> u32 {
        self.number
    }

    fn identify(&mut self, what: u32, namespace: u32) -> io::Result<Vec<u8>> {
        let mut data = vec![0; IDENTIFY_BYTES];
        let words = [what, 0, 0, 0, 0, 0];
        let command = AdminCommand { opcode: IDENTIFY, namespace, words, ..AdminCommand::default() };
        submit(self.device, command, &mut data)?;
        Ok(data)
    }

    fn sanitize_status(&mut self) -> io::Result<[u8; 4]> {
        let mut data = [0; 4];
        log_page(self.device, SANITIZE_STATUS, &mut data)?;
        Ok(data)
    }

    fn command(&mut self, opcode: u8, namespace: u32, word: u32) -> io::Result<()> {
        let words = [word, 0, 0, 0, 0, 0];
        let timeout_ms = FORMAT_MS;
        let command = AdminCommand { opcode, namespace, words, timeout_ms, ..AdminCommand::default() };
        submit(self.device, command, &mut [])
    }
}

fn erase_with(
    drive: &mut impl Admin,
    how: Erase,
    clock: &impl Clock,
    go_on: &mut dyn FnMut(f64) -> bool,
) -> Result<Erased, EraseError> {
    let controller = drive.identify(OF_CONTROLLER, 0).map_err(EraseError::Command)?;
    match how {
        Erase::Format => format(drive, &controller),
        Erase::Sanitize => sanitize(drive, &controller, clock, go_on),
    }
}

fn format(drive: &mut impl Admin, controller: &[u8]) -> Result<Erased, EraseError> {
    // OACS, optional admin commands.
    if controller[256] & 0b10 == 0 {
        return Err(EraseError::Unsupported);
    }
    // FNA: whether a format, or its erasure, is for all namespaces.
    if controller[524] & 0b11 != 0 {
        check_alone(drive, controller)?;
    }
    let namespace = drive.identify(OF_NAMESPACE, drive.number()).map_err(EraseError::Command)?;
    let (size, protection) = (u32::from(namespace[26]), u32::from(namespace[29]));
    // As it is formatted now: size of blocks, place of metadata, and protection.
    let kept = (size & 0xf) | (size & 0x10) | (size >> 5 & 0b11) << 12 | (protection & 0b1111) << 5;
    let user_data = 0b001 << 9;
    drive.command(FORMAT, drive.number(), kept | user_data).map_err(EraseError::Command)?;
    Ok(Erased::UserData)
}

fn sanitize(
    drive: &mut impl Admin,
    controller: &[u8],
    clock: &impl Clock,
    go_on: &mut dyn FnMut(f64) -> bool,
) -> Result<Erased, EraseError> {
    // SANICAP. Overwriting, the third way, is left out: it wears the drive, and is no erasure of cells.
    let (action, erased) = match controller[328] & 0b11 {
        0b00 => return Err(EraseError::Unsupported),
        0b01 => (0b100, Erased::Key),
        _ => (0b010, Erased::Blocks),
    };
    check_alone(drive, controller)?;
    drive.command(SANITIZE, 0, action).map_err(EraseError::Command)?;
    loop {
        let status = drive.sanitize_status().map_err(EraseError::Command)?;
        // SPROG is in units of 1/65536. SSTAT: 1 and 4 are done, 2 in progress, 3 failed.
        let done = f64::from(u16::from_le_bytes([status[0], status[1]])) / 65_536.0;
        match status[2] & 0b111 {
            1 | 4 => return Ok(erased),
            2 => {}
            _ => return Err(EraseError::Failed),
        }
        if !go_on(done) {
            return Err(EraseError::Interrupted);
        }
        clock.sleep_until(clock.now_ns() + POLL_NS);
    }
}

/// Refuses drives with other namespaces, which somebody may use.
fn check_alone(drive: &mut impl Admin, controller: &[u8]) -> Result<(), EraseError> {
    let manages = controller[256] & 0b1000 != 0;
    let list = drive.identify(if manages { ALLOCATED } else { ATTACHED }, 0).map_err(EraseError::Command)?;
    let (numbers, _) = list.as_chunks::<4>();
    let count = numbers.iter().take_while(|number| **number != [0; 4]).count();
    if count > 1 { Err(EraseError::OtherNamespaces(count)) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
