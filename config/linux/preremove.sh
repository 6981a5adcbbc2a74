#!/bin/sh
# dpkg passes "remove" or "upgrade", rpm the number of versions that stay.
set -e
units='crdb-exporter.service crdb-exporter.socket'
case $1 in
  remove | 0)
    if [ -d /run/systemd/system ]; then
      systemctl --quiet stop $units ||
        echo 'crdb-exporter: the service was not stopped, see: systemctl status crdb-exporter' >&2
    fi
    # Also where systemd does not run, as while an image is built: links to units that are gone would stay.
    if command -v systemctl >/dev/null; then systemctl --quiet disable $units || true; fi
    ;;
esac
