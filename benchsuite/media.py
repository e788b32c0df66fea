"""Devices to measure on that no neighbour's I/O disturbs."""

import os
import subprocess
import tempfile
from pathlib import Path

GIB = 1 << 30


class Loop:
    """An ext4 on a loop device over tmpfs, and a second loop device without a file system."""

    def __enter__(self):
        self.memory = Path(tempfile.mkdtemp(prefix="iostall-bench-"))
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4G", "tmpfs", self.memory], check=True)
        self.devices = [self.device(name, size) for name, size in [("fs", 2 * GIB), ("raw", GIB)]]
        subprocess.run(["mkfs.ext4", "-q", self.devices[0]], check=True)
        self.mount = self.memory / "mount"
        self.mount.mkdir()
        subprocess.run(["mount", self.devices[0], self.mount], check=True)
        return self

    def device(self, name, size):
        path = self.memory / name
        with open(path, "wb") as file:
            for _ in range(size // (64 << 20)):
                file.write(os.urandom(1 << 20) * 64)
        command = ["losetup", "--find", "--show", "--direct-io=off", path]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def __exit__(self, *_):
        subprocess.run(["umount", self.mount])
        for device in self.devices:
            subprocess.run(["losetup", "--detach", device])
        subprocess.run(["umount", self.memory])
        self.memory.rmdir()
