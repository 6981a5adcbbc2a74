#!/bin/sh
# Before the files are unpacked, since some belong to this group.
set -e
getent group crdb-exporter >/dev/null || groupadd --system crdb-exporter
getent passwd crdb-exporter >/dev/null ||
  useradd --system --gid crdb-exporter --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin \
    --comment 'Prometheus exporter for CockroachDB' crdb-exporter
