#!/usr/bin/env bash
# prometheus-http-query 0.9.0 (crate) reads each millisecond of a duration as an hour: a target that Prometheus scrapes every `1s500ms` with the
# timeout `500ms`, as its API writes 1.5 and 0.5 seconds, has 500 hours. Its `Selector` escapes no value, so that a backslash makes another
# value of it, which matches nothing, or a query that Prometheus refuses. Needs Rust.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CARGO_TARGET_DIR=$folder/target
cargo new --quiet --vcs none --name read "$folder/read"
cd "$folder/read"
cargo add --quiet --no-default-features prometheus-http-query@=0.9.0
cargo add --quiet serde_json@=1.0.145
cat >src/main.rs <<'END'
use prometheus_http_query::response::Targets;

fn main() {
    // As Prometheus answers /api/v1/targets.
    let targets: Targets = serde_json::from_str(r#"{"droppedTargets": [], "activeTargets": [{
        "discoveredLabels": {}, "labels": {}, "scrapePool": "a", "scrapeUrl": "http://a/metrics", "globalUrl": "http://a/metrics",
        "lastError": "", "lastScrape": "2026-01-01T00:00:00Z", "lastScrapeDuration": 0.1, "health": "up",
        "scrapeInterval": "1s500ms", "scrapeTimeout": "500ms"}]}"#).unwrap();
    let target = &targets.active()[0];
    println!("interval 1s500ms is {} seconds", target.scrape_interval().as_seconds_f64());
    println!("timeout 500ms is {} seconds", target.scrape_timeout().as_seconds_f64());
}
END
seen=$(cargo run --quiet)
echo "$seen"
[ "$seen" = 'interval 1s500ms is 1800001 seconds
timeout 500ms is 1800000 seconds' ]
