#!/bin/bash
# Makes the first file system of a guest, with iostall and the drive's tools: make.sh IOSTALL SCRIPT TO
set -eu
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,proc,sys,dev,tmp,root}
strip -o "$root/bin/iostall" "$1"
cp "$(command -v busybox)" "$(command -v nvme)" "$(command -v smartctl)" "$root/bin/"
"$root/bin/busybox" --install -s "$root/bin"
# Links lead to where busybox was, which is not there in the guest.
find "$root/bin" -type l -exec ln -sf busybox {} \;
for program in iostall nvme smartctl; do
    ldd "$root/bin/$program" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -nL "$library" "$root$library"
    done
done
{
    printf '%s\n' '#!/bin/sh' 'export PATH=/bin HOME=/root TZ=UTC'
    printf '%s\n' 'mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp; cd /tmp'
    printf '%s\n' 'ask() { echo; echo "@@ $1"; shift; "$@" </dev/null 2>&1; status=$?; echo; echo "@@ ended $status"; }'
    cat "$2"
    printf '%s\n' 'echo "@@ off"; poweroff -f'
} >"$root/init"
chmod +x "$root/init"
cd "$root"
find . | cpio -o -H newc --quiet | gzip -1 >"$3"
