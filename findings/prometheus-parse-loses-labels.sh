#!/usr/bin/env bash
# prometheus-parse 0.2.5 (crate) splits labels at every `,` and `=`, also in values, and says nothing: a value with `=` loses its label, one
# with `,` its rest, so that two series become one. A space after a comma becomes part of the next name. A line with `}` in a value, with a
# `:` in its name (every recording rule) or with empty braces is left out. All are valid text, as Prometheus reads it. Needs Rust.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CARGO_TARGET_DIR=$folder/target
cargo new --quiet --vcs none --name read "$folder/read"
cd "$folder/read"
cargo add --quiet prometheus-parse@=0.2.5
cat >src/main.rs <<'END'
use prometheus_parse::Scrape;

const LINES: [&str; 7] = [
    r#"a{app="x",query="page=1"} 1"#,
    r#"a{app="x",query="page=2"} 2"#,
    r#"a{hosts="n1,n2"} 3"#,
    r#"a{app="x", zone="y"} 4"#,
    r#"a{route="/users/{id}"} 5"#,
    r#"job:up:sum 6"#,
    r#"a{} 7"#,
];

fn main() {
    for line in LINES {
        let scrape = Scrape::parse(std::iter::once(Ok(line.to_string()))).unwrap();
        let seen = scrape.samples.iter().map(|sample| format!("{}{{{}}} {:?}", sample.metric, sample.labels, sample.value)).collect::<Vec<_>>();
        println!("{line} -> {}", seen.join(" "));
    }
}
END
seen=$(cargo run --quiet)
echo "$seen"
[ "$seen" = 'a{app="x",query="page=1"} 1 -> a{app="x"} Untyped(1.0)
a{app="x",query="page=2"} 2 -> a{app="x"} Untyped(2.0)
a{hosts="n1,n2"} 3 -> a{hosts="n1"} Untyped(3.0)
a{app="x", zone="y"} 4 -> a{ zone="y",app="x"} Untyped(4.0)
a{route="/users/{id}"} 5 -> 
job:up:sum 6 -> 
a{} 7 -> ' ]
