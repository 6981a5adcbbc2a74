#!/usr/bin/env bash
# metrics-exporter-prometheus 0.18.3 (crate): a histogram or summary whose name ends in `count`, `sum` or `bucket` gets no such suffix again:
# that of `retry_count` is `retry_count`, not `retry_count_count`, that of `discount` is `discount`, and so on: every rate() of the missing
# series is empty. With its recommended names, a gauge of 55 percent is `cpu_ratio 55`, where a ratio is a part of 1. Needs Rust.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CARGO_TARGET_DIR=$folder/target
cargo new --quiet --vcs none --name expose "$folder/expose"
cd "$folder/expose"
cargo add --quiet --no-default-features metrics-exporter-prometheus@=0.18.3
cargo add --quiet metrics@=0.24.6
cat >src/main.rs <<'END'
use metrics::{describe_gauge, gauge, histogram, with_local_recorder, Unit};
use metrics_exporter_prometheus::PrometheusBuilder;

fn main() {
    let builder = PrometheusBuilder::new().with_recommended_naming(true).set_buckets(&[1.0]).unwrap();
    let recorder = builder.build_recorder();
    with_local_recorder(&recorder, || {
        for name in ["checksum", "discount", "retry_count", "retry_seconds"] {
            histogram!(name).record(3.0);
        }
        describe_gauge!("cpu", Unit::Percent, "Processor time.");
        gauge!("cpu").set(55.0);
    });
    print!("{}", recorder.handle().render());
}
END
seen=$(cargo run --quiet | grep -v '_bucket{\|^#\|^$' | LC_ALL=C sort)
echo "$seen"
[ "$seen" = 'checksum 3
checksum_count 1
cpu_ratio 55
discount 1
discount_sum 3
retry_count 1
retry_count_sum 3
retry_seconds_count 1
retry_seconds_sum 3' ]
