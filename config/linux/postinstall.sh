#!/bin/sh
# dpkg passes "configure" and the version before, rpm the number of versions that are installed then.
set -e
# Without it, as in a container, there is no service to restart.
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
  # A service that does not run stays stopped. One that does not start again is no reason to leave the package half installed.
  systemctl try-restart crdb-exporter.service ||
    echo 'crdb-exporter: the service was not restarted, see: journalctl -u crdb-exporter' >&2
fi
if [ "$1 $2" = 'configure ' ] || [ "$1" = 1 ]; then
  echo 'crdb-exporter: edit /etc/crdb-exporter/exporter.yml, then run: systemctl enable --now crdb-exporter'
fi
