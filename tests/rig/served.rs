//! The file system: a directory with one file, `drive`.

use std::ffi::OsStr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, OpenFlags,
    ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use iostall_engine::sim::{Arrival, DeviceModel};
use iostall_engine::{FileIndex, RequestOp};
use iostall_measure::{Clock, MonotonicClock};

use super::medium::Medium;

const DRIVE: INodeNo = INodeNo(2);
const VALID_FOR: Duration = Duration::from_secs(1);
/// A drive that had no request for less than this was busy: the machine had no time to bring the next one. It makes up for that.
/// Nanoseconds.
const LATE_NS_MAX: u64 = 250_000_000;

/// A reply, and when it is due, nanoseconds.
type Late = (u64, Box<dyn FnOnce() + Send>);

pub(super) struct Served {
    medium: Arc<Mutex<Medium>>,
    timed: Option<Timed>,
}

struct Timed {
    clock: Arc<MonotonicClock>,
    model: Mutex<(Box<dyn DeviceModel>, u64)>,
    replies: Sender<Late>,
}

impl Timed {
    fn new(model: Box<dyn DeviceModel>) -> Self {
        let clock = Arc::new(MonotonicClock::new());
        let (replies, due) = channel::<Late>();
        let of_thread = Arc::clone(&clock);
        // The model serves in order, so the replies fall due in order.
        std::thread::spawn(move || {
            for (due_ns, reply) in due {
                if of_thread.now_ns() < due_ns {
                    of_thread.sleep_until(due_ns);
                }
                reply();
            }
        });
        Self { clock, model: Mutex::new((model, 0)), replies }
    }

    fn end_ns(&self, op: RequestOp, offset: u64, length: u32) -> u64 {
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        let (model, last_ns) = &mut *model;
        let mut now_ns = self.clock.now_ns();
        if now_ns.saturating_sub(*last_ns) < LATE_NS_MAX {
            now_ns = now_ns.min(*last_ns);
        }
        let end_ns =
            model.end_ns(&Arrival { now_ns, op, file: FileIndex(0), offset, length, exponential: 1.0 });
        *last_ns = end_ns.max(*last_ns);
        end_ns
    }
}

impl Served {
    pub(super) fn new(medium: Arc<Mutex<Medium>>, model: Option<Box<dyn DeviceModel>>) -> Self {
        Self { medium, timed: model.map(Timed::new) }
    }

    fn medium(&self) -> MutexGuard<'_, Medium> {
        self.medium.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_drive = inode == DRIVE;
        let size = if is_drive { self.medium().size_bytes() } else { 0 };
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_drive { FileType::RegularFile } else { FileType::Directory },
            perm: if is_drive { 0o600 } else { 0o700 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        }
    }

    /// Sends `reply` when the model has served the request.
    fn reply(&self, op: RequestOp, offset: u64, length: u32, reply: impl FnOnce() + Send + 'static) {
        match &self.timed {
            None => reply(),
            Some(timed) => {
                let due_ns = timed.end_ns(op, offset, length);
                // The thread ends with the rig, and then nobody waits.
                let _ = timed.replies.send((due_ns, Box::new(reply)));
            }
        }
    }
}

impl Filesystem for Served {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == "drive" {
            reply.entry(&VALID_FOR, &self.attributes(DRIVE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&VALID_FOR, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = self.medium().read(offset, size as usize);
        self.reply(RequestOp::Read, offset, size, move || match read {
            Some(data) => reply.data(&data),
            None => reply.error(Errno::EIO),
        });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let is_on = self.medium().write(offset, data);
        let length = u32::try_from(data.len()).expect("a request is not that large");
        self.reply(RequestOp::Write, offset, length, move || {
            if is_on { reply.written(length) } else { reply.error(Errno::EIO) }
        });
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // A file was closed: that makes nothing durable.
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let is_on = self.medium().flush();
        self.reply(RequestOp::Fsync, 0, 0, move || if is_on { reply.ok() } else { reply.error(Errno::EIO) });
    }
}
