#!/usr/bin/env bash
# serde_prometheus 0.2.9 (crate) joins the names of nested maps with `/` for its label path, so that a/b in c and a in b/c are one series twice, as
# are the values of a list, and Prometheus drops all but one. Label values have no escapes: the folder C:\new is read back with a line break
# (by prometheus_client 0.26.0 here), and one quote makes the text unreadable. Needs Rust and Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CARGO_TARGET_DIR=$folder/target
cargo new --quiet --vcs none --name write "$folder/write"
cd "$folder/write"
cargo add --quiet serde@=1.0.229 --features derive
cargo add --quiet serde_prometheus@=0.2.9
cat >src/main.rs <<'END'
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Store {
    hits: u64,
}

#[derive(Serialize)]
struct Metrics {
    disk_bytes: Vec<u64>,
    stores: BTreeMap<&'static str, BTreeMap<&'static str, Store>>,
}

fn main() {
    let store = |name, hits| BTreeMap::from([(name, Store { hits })]);
    let stores = BTreeMap::from([("n1", store("a/b", 4)), ("n1/a", store("b", 5)), ("n2", store(r"C:\new", 6))]);
    let metrics = Metrics { disk_bytes: vec![70, 80], stores };
    print!("{}", serde_prometheus::to_string(&metrics, None, std::iter::empty::<(&str, &str)>()).unwrap());
}
END
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check prometheus-client==0.26
cargo run --quiet >text
seen=$(cat text; python/bin/python -c '
from prometheus_client.parser import text_string_to_metric_families
for family in text_string_to_metric_families(open("text").read()):
    for sample in family.samples:
        print(sample.name, sample.labels, sample.value)
')
echo "$seen"
[ "$seen" = 'disk_bytes 70
disk_bytes 80
hits{path = "stores/n1/a/b"} 4
hits{path = "stores/n1/a/b"} 5
hits{path = "stores/n2/C:\new"} 6
disk_bytes {} 70
disk_bytes {} 80
hits {'"'path': 'stores/n1/a/b'"'} 4
hits {'"'path': 'stores/n1/a/b'"'} 5
hits {'"'path': 'stores/n2/C:\new'"'} 6' ]
