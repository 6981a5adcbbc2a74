#!/usr/bin/env bash
# logfmt 1.4.0 and @jclem/logfmt2 2.4.3 (npm) read \" and \\ in a quoted value, but \n as the letter n and \t as the letter t. Prometheus and
# Alertmanager log a line break as \n (Go's log/slog does), so "2 errors\nrule" is read as "2 errorsnrule", without any sign.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" logfmt@1.4.0 split@0.2.10 through@2.3.8 \
  @jclem/logfmt2@2.4.3 >/dev/null
cat >"$folder/read.mjs" <<'END'
import { decode } from '@jclem/logfmt2';
import logfmt from 'logfmt';

const line = String.raw`level=ERROR msg="loading groups failed" err="2 errors\nrule \"a\"\tC:\\rules"`;
for (const read of [logfmt.parse, decode]) console.log(JSON.stringify(read(line).err));
END
seen=$(node "$folder/read.mjs")
echo "$seen"
[ "$seen" = '"2 errorsnrule \"a\"tC:\\rules"
"2 errorsnrule \"a\"tC:\\rules"' ]
