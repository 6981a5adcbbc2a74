#!/usr/bin/env bash
# openmetrics-parser 0.5.1 (crate) refuses all of a text, also of the Prometheus format, in which the series of one family have different label
# names, a family has no sample but another follows, or a tab stands before a value. Of several samples of one series, which OpenMetrics
# allows where times rise, only the first is left, and a quote in a help text is written without its backslash. Needs Rust.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CARGO_TARGET_DIR=$folder/target
cargo new --quiet --vcs none --name read "$folder/read"
cd "$folder/read"
cargo add --quiet openmetrics-parser@=0.5.1
cat >src/main.rs <<'END'
use openmetrics_parser::{openmetrics::parse_openmetrics, prometheus::parse_prometheus};
use std::fmt::Display;

fn show<T: Display, E>(text: &str, read: Result<T, E>) {
    let read = read.map_or("refused".to_string(), |read| read.to_string());
    println!("{} -> {}", text.trim().replace('\n', "; "), read.trim().replace('\n', "; "));
}

fn main() {
    for text in ["up{job=\"a\"} 1\nup{job=\"a\",zone=\"b\"} 1\n", "# TYPE a gauge\n# TYPE b gauge\nb 1\n", "a\t1\n", "a 1\n"] {
        show(text, parse_prometheus(text));
    }
    for text in ["# TYPE a gauge\na 1 1\na 2 2\n# EOF\n", "# HELP a \\\"x\\\"\n# TYPE a gauge\na 1\n# EOF\n"] {
        show(text, parse_openmetrics(text));
    }
}
END
seen=$(cargo run --quiet)
echo "$seen"
[ "$seen" = 'up{job="a"} 1; up{job="a",zone="b"} 1 -> refused
# TYPE a gauge; # TYPE b gauge; b 1 -> refused
a	1 -> refused
a 1 -> a 1
# TYPE a gauge; a 1 1; a 2 2; # EOF -> # TYPE a gauge; a 1 1; # EOF
# HELP a \"x\"; # TYPE a gauge; a 1; # EOF -> # HELP a "x"; # TYPE a gauge; a 1; # EOF' ]
