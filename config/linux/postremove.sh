#!/bin/sh
# The configuration, the secrets and the user stay; a purge with dpkg removes the files of /etc that came with the package.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
