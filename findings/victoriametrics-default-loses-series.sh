#!/usr/bin/env bash
# VictoriaMetrics 1.151.0 (Go module): the optimiser of its queries copies label filters to the other side of `default`, too, as if the result had
# them: `x default y{job="a"}` keeps only the x of that job, and x{job="c"} default y is empty, where z default y, without a z, is y. It also
# copies them into functions that make the label: quantiles of phi 0.5 are not found beside a limit{phi="0.5"}. Needs Go, Python and curl.
set -euo pipefail
folder=$(mktemp -d)
server=
# shellcheck disable=SC2317 # called by the trap
leave() {
  [ -z "$server" ] || { kill "$server" && wait "$server" || true; }
  rm -rf "$folder"
}
trap leave EXIT
cd "$folder"
go mod init x 2>/dev/null
go get -tool github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics@v1.151.0 2>/dev/null
go build -o server github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
./server -httpListenAddr="127.0.0.1:$port" -storageDataPath=data 2>log &
server=$!
url=http://127.0.0.1:$port
curl --silent --fail --retry 60 --retry-delay 1 --retry-connrefused --output health "$url/health"
time=$(($(date +%s) - 60))
curl --silent --fail --data-binary @- "$url/api/v1/import/prometheus?timestamp=${time}000" <<'END'
x{job="a"} 1
x{job="b"} 2
y{job="a"} 10
seconds 7
limit{phi="0.5"} 5
END
curl --silent --fail "$url/internal/force_flush"
query() {
  curl --silent --fail "$url/api/v1/query" --data-urlencode "query=$1" --data "time=$time" >answer
  echo "$1:"
  grep -o '"metric":{[^}]*}' answer | LC_ALL=C sort || echo nothing
}
seen=$(
  query 'x default y'
  query 'x default y{job="a"}'
  query 'z default y'
  query 'x{job="c"} default y'
  query 'quantiles_over_time("phi", 0.5, seconds[5m]) > on(phi) limit'
  query 'quantiles_over_time("phi", 0.5, seconds[5m]) > on(phi) limit{phi="0.5"}'
  query 'limit < on(phi) quantiles_over_time("phi", 0.5, seconds[5m])'
)
echo "$seen"
[ "$seen" = 'x default y:
"metric":{"__name__":"x","job":"a"}
"metric":{"__name__":"x","job":"b"}
x default y{job="a"}:
"metric":{"__name__":"x","job":"a"}
z default y:
"metric":{"__name__":"y","job":"a"}
x{job="c"} default y:
nothing
quantiles_over_time("phi", 0.5, seconds[5m]) > on(phi) limit:
"metric":{"phi":"0.5"}
quantiles_over_time("phi", 0.5, seconds[5m]) > on(phi) limit{phi="0.5"}:
nothing
limit < on(phi) quantiles_over_time("phi", 0.5, seconds[5m]):
nothing' ]
