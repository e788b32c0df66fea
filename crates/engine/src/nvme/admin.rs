//! Sends admin commands to NVMe controllers.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `NVME_IOCTL_ADMIN_CMD`, which is `_IOWR('N', 0x41, struct nvme_admin_cmd)`.
const ADMIN_COMMAND: u32 = 0xc048_4e41;
/// `NVME_IOCTL_ID`, which is `_IO('N', 0x40)`.
const NAMESPACE_ID: u32 = 0x4e40;
const GET_LOG_PAGE: u8 = 0x02;
/// The first log page whose layout is the vendor's own.
const VENDORS_OWN: u8 = 0xc0;
const ALL_NAMESPACES: u32 = 0xffff_ffff;

/// The kernel's `struct nvme_admin_cmd`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct AdminCommand {
    pub(super) opcode: u8,
    pub(super) flags: u8,
    pub(super) reserved_1: u16,
    pub(super) namespace: u32,
    pub(super) reserved_2: [u32; 2],
    pub(super) metadata: u64,
    pub(super) address: u64,
    pub(super) metadata_bytes: u32,
    pub(super) data_bytes: u32,
    pub(super) words: [u32; 6],
    pub(super) timeout_ms: u32,
    pub(super) result: u32,
}

/// Reads log page `page` into `data`, whose length is a multiple of 4 bytes up to 4096. `device` is a
/// namespace, such as `/dev/nvme0n1`, open for reading. Needs root. `Unsupported` if the controller refuses
/// the command, or if it is no NVMe device.
pub fn log_page(device: &File, page: u8, data: &mut [u8]) -> io::Result<()> {
    let length = u32::try_from(data.len()).ok().filter(|length| (4..=4096).contains(length));
    let Some(length) = length.filter(|length| length.is_multiple_of(4)) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a log page has 4 to 4096 bytes"));
    };
    // The number of words less one is in the upper half.
    let words = [u32::from(page) | (length / 4 - 1) << 16, 0, 0, 0, 0, 0];
    // A page of the specification is asked of the whole controller, as each has it so; Amazon's own is of the first namespace.
    let namespace = if page < VENDORS_OWN { ALL_NAMESPACES } else { 1 };
    let command = AdminCommand { opcode: GET_LOG_PAGE, namespace, words, ..AdminCommand::default() };
    submit(device, command, data)
}

/// Sends `command`, which reads `data` from the controller, at most 4096 bytes.
#[expect(unsafe_code, reason = "no crate here wraps the admin commands of NVMe")]
pub(super) fn submit(device: &File, command: AdminCommand, data: &mut [u8]) -> io::Result<()> {
    let length = u32::try_from(data.len()).map_err(io::Error::other)?;
    let address = if data.is_empty() { 0 } else { data.as_mut_ptr() as u64 };
    let mut command = AdminCommand { address, data_bytes: length, ..command };
    // SAFETY: the descriptor is open; the kernel reads and writes one `AdminCommand`, which has its layout, and writes `data_bytes`
    // bytes at `address`, which is the start of `data`, borrowed for as long as the call lasts.
    let answer =
        unsafe { libc::ioctl(device.as_raw_fd(), libc::Ioctl::from(ADMIN_COMMAND), &raw mut command) };
    match answer {
        0 => Ok(()),
        status if status > 0 => {
            let said = format!("the controller answered with status {status:#x}");
            Err(io::Error::new(io::ErrorKind::Unsupported, said))
        }
        _ => Err(no_nvme(io::Error::last_os_error())),
    }
}

#[expect(unsafe_code, reason = "no crate here wraps the numbers of NVMe's namespaces")]
pub(super) fn namespace_of(device: &File) -> io::Result<u32> {
    // SAFETY: the descriptor is open, and the call takes no argument.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), libc::Ioctl::from(NAMESPACE_ID)) };
    u32::try_from(answer).map_err(|_negative| no_nvme(io::Error::last_os_error()))
}

fn no_nvme(error: io::Error) -> io::Error {
    let is_other = error.raw_os_error() == Some(libc::ENOTTY);
    if is_other { io::ErrorKind::Unsupported.into() } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_as_long_as_the_kernel_says_in_its_number() {
        assert_eq!(size_of::<AdminCommand>(), 72);
        assert_eq!((ADMIN_COMMAND >> 16) & 0x3fff, 72);
    }

    #[test]
    fn what_is_no_controller_has_no_log_page() {
        let file = tempfile::tempfile().unwrap();
        let mut data = [7; 4096];
        let refused = log_page(&file, 0xd0, &mut data).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
        assert_eq!(data, [7; 4096]);
        assert_eq!(log_page(&file, 2, &mut [0; 6]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(log_page(&file, 2, &mut []).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
