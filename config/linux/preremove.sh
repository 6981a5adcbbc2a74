#!/bin/sh
# dpkg passes "remove" or "upgrade", rpm the number of versions that stay.
set -e
case $1 in
  remove | 0)
    if [ -d /run/systemd/system ]; then
      systemctl --quiet disable --now crdb-exporter.service crdb-exporter.socket
    fi
    ;;
esac
