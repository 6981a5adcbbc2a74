#!/bin/sh
# dpkg passes "configure" and the version before, rpm the number of versions that are installed then.
set -e
# Without it, as in a container, there is no service to tell.
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # A service that does not run stays stopped.
  systemctl try-restart crdb-exporter.service
fi
if [ "$1 $2" = 'configure ' ] || [ "$1" = 1 ]; then
  echo 'crdb-exporter: edit /etc/crdb-exporter/exporter.yml, then run: systemctl enable --now crdb-exporter'
fi
