#!/usr/bin/env bash
# kubernetes-validate 1.37.0 --strict knows names and JSON types of members, and no values: a Deployment that no API server takes passes:
# an unknown restartPolicy, -3 replicas, a selector that does not match, "512 MB" of memory, port 99999999, two containers of one name, a
# relative mountPath of a volume that is missing. Only a member that does not exist fails.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate==1.37.0
cat >"$folder/deployment.yaml" <<'END'
apiVersion: apps/v1
kind: Deployment
metadata: { name: Not_A_Name }
spec:
  replicas: -3
  selector: { matchLabels: { app: this } }
  template:
    metadata: { labels: { app: that } }
    spec:
      restartPolicy: Sometimes
      containers:
        - name: twice
          image: 'a b'
          imagePullPolicy: Whenever
          ports: [{ containerPort: 99999999, protocol: HTTP }]
          resources: { limits: { memory: 512 MB, cpu: lots } }
        - name: twice
          volumeMounts: [{ name: missing, mountPath: relative }]
END
validate() { "$folder/python/bin/kubernetes-validate" --strict "$1" 2>&1; }
seen=$(cd "$folder" && validate deployment.yaml)
echo "$seen"
[ "$seen" = 'INFO deployment.yaml passed for resource deployment/Not_A_Name against version 1.37' ]
sed 's/replicas:/replcas:/' "$folder/deployment.yaml" >"$folder/mistyped.yaml"
if validate "$folder/mistyped.yaml" >"$folder/refused"; then
  echo 'a mistyped member passes now' && exit 1
fi
grep -o "'replcas' was unexpected" "$folder/refused"
