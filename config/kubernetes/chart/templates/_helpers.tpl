{{- define "crdb-exporter.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "crdb-exporter.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/*
The labels of an object, given the root and maps of values: those of the chart, commonLabels, then the maps. The last one
counts, as YAML allows each key once.
*/}}
{{- define "crdb-exporter.labels" -}}
{{- $root := first . -}}
{{- $own := dict "app.kubernetes.io/version" $root.Chart.AppVersion "app.kubernetes.io/managed-by" $root.Release.Service "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version) -}}
{{- include "crdb-exporter.merge" (concat (list $root $own $root.Values.commonLabels) (rest .)) -}}
{{- end -}}

{{/* The labels that select the pods and those of the maps, of which the last one counts. Takes the root and the maps. */}}
{{- define "crdb-exporter.merge" -}}
{{- $selector := include "crdb-exporter.selector" (first .) | fromYaml -}}
{{- $labels := deepCopy $selector -}}
{{- range rest . -}}
{{- range $key, $value := . -}}
{{- if ne $value (get $selector $key | default $value) -}}
{{- fail (printf "the label %s selects the pods and is always %s" $key (get $selector $key)) -}}
{{- end -}}
{{- $_ := set $labels $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $labels -}}
{{- end -}}

{{- define "crdb-exporter.milliseconds" -}}
{{- mul (regexFind "^[0-9]+" . | atoi) (get (dict "ms" 1 "s" 1000 "m" 60000) (regexFind "[a-z]+$" .)) -}}
{{- end -}}

{{/* The label instance is the name of the pod, because its address changes. */}}
{{- define "crdb-exporter.endpoint" -}}
{{- $monitor := .Values.monitor -}}
port: metrics
path: {{ dig "web" "telemetry_path" "/metrics" .Values.config }}
scheme: {{ .Values.webConfig.scheme }}
{{- with $monitor.interval }}
interval: {{ . }}
{{- end }}
{{- with $monitor.scrapeTimeout }}
{{- if $monitor.interval }}
{{- if gt (include "crdb-exporter.milliseconds" . | int) (include "crdb-exporter.milliseconds" $monitor.interval | int) }}
{{- fail (printf "monitor.scrapeTimeout %s is longer than monitor.interval %s, which the operator rejects" . $monitor.interval) }}
{{- end }}
{{- end }}
scrapeTimeout: {{ . }}
{{- end }}
{{- if $monitor.honorLabels }}
honorLabels: true
{{- end }}
{{- with $monitor.tlsConfig }}
tlsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $monitor.basicAuth }}
basicAuth: {{- toYaml . | nindent 2 }}
{{- end }}
relabelings:
  - sourceLabels: [__meta_kubernetes_namespace, __meta_kubernetes_pod_name]
    separator: /
    targetLabel: instance
  {{- with $monitor.relabelings }}{{ toYaml . | nindent 2 }}{{ end }}
{{- with $monitor.metricRelabelings }}
metricRelabelings: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where the runbooks are: at the configured address, else below that of the exporter; empty where neither is known. */}}
{{- define "crdb-exporter.runbooks" -}}
{{- $links := .Values.config.links | default dict -}}
{{- $web := .Values.config.web | default dict -}}
{{- if $links.runbook_url -}}
{{- trimSuffix "/" $links.runbook_url -}}
{{- else if $web.external_url -}}
{{- printf "%s/runbooks" (trimSuffix "/" $web.external_url) -}}
{{- end -}}
{{- end -}}

{{/* Refuses what the schema cannot: values that contradict each other, and those with which no pod would start. */}}
{{- define "crdb-exporter.refuse" -}}
{{- if .Values.existingConfigMap -}}
{{- range $key, $_ := omit .Values.config "web" "log" "links" "thresholds" -}}
{{- fail (printf "config.%s is not used beside existingConfigMap: remove one of them" $key) -}}
{{- end -}}
{{- end -}}
{{- $names := list -}}
{{- range .Values.config.clusters -}}
{{- if has .name $names -}}
{{- fail (printf "config.clusters has two clusters with the name %s" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- if and (eq .Values.webConfig.scheme "https") (not .Values.webConfig.secret) (not (contains "--web.config.file" (join " " .Values.extraArgs))) -}}
{{- fail "webConfig.scheme is https without webConfig.secret: the exporter would serve HTTP, and probes over TLS would restart it for ever" -}}
{{- end -}}
{{- include "crdb-exporter.refuseLimits" . -}}
{{- include "crdb-exporter.refuseFlags" . -}}
{{- include "crdb-exporter.refuseTwice" . -}}
{{- range $name, $limit := .Values.resources.limits -}}
{{- with get ($.Values.resources.requests | default dict) $name -}}
{{- if gt (include "crdb-exporter.quantity" . | float64) (include "crdb-exporter.quantity" $limit | float64) -}}
{{- fail (printf "resources.requests.%s, %v, is more than resources.limits.%s, %v" $name . $name $limit) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A quantity as a number: 2000 of "2k". */}}
{{- define "crdb-exporter.quantity" -}}
{{- $number := regexFind "^[0-9.]+([eE][-+]?[0-9]+)?" (toString .) -}}
{{- $units := dict "" 1 "n" 1e-9 "u" 1e-6 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- mulf $number (get $units (trimPrefix $number (toString .))) -}}
{{- end -}}

{{/* Refuses flags that the chart sets, and those of settings that other objects read. */}}
{{- define "crdb-exporter.refuseFlags" -}}
{{- $instead := dict "config.file" "existingConfigMap" "config.auto-reload" "nothing" "web.listen-address" "nothing: the probes and the service use the port 10137" "web.telemetry-path" "config.web.telemetry_path" -}}
{{- if .Values.webConfig.secret -}}{{- $_ := set $instead "web.config.file" "webConfig.secret alone" -}}{{- end -}}
{{- range .Values.extraArgs -}}
{{- $flag := regexFind "[a-z][-.a-z]*" . | trimPrefix "no-" -}}
{{- $key := ternary "config.clusters" (get $instead $flag) (or (hasPrefix "cluster." $flag) (hasPrefix "cloud." $flag)) -}}
{{- with $key -}}
{{- fail (printf "extraArgs has --%s: set %s" $flag .) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Refuses names and paths that a pod may have once, and a mount without its volume. */}}
{{- define "crdb-exporter.refuseTwice" -}}
{{- $names := list "POD_NAME" "POD_NAMESPACE" "CRDB_EXPORTER_SHARD_INDEX" "CRDB_EXPORTER_SHARD_COUNT" -}}
{{- range .Values.env -}}
{{- if has .name $names -}}{{- fail (printf "env has %s twice, or the chart sets it" .name) -}}{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- $volumes := list "config" "web-config" -}}
{{- range $index, $_ := .Values.secrets -}}{{- $volumes = append $volumes (printf "secret-%d" $index) -}}{{- end -}}
{{- range .Values.extraVolumes -}}
{{- if has .name $volumes -}}{{- fail (printf "extraVolumes has %s twice, or the chart has such a volume" .name) -}}{{- end -}}
{{- $volumes = append $volumes .name -}}
{{- end -}}
{{- $paths := list "/etc/crdb-exporter/config" -}}
{{- range .Values.secrets -}}{{- $paths = append $paths (printf "/etc/crdb-exporter/secrets/%s" .) -}}{{- end -}}
{{- if .Values.webConfig.secret -}}{{- $paths = append $paths "/etc/crdb-exporter/web" -}}{{- end -}}
{{- range .Values.extraVolumeMounts -}}
{{- if not (has .name $volumes) -}}{{- fail (printf "extraVolumeMounts names the volume %s, which is not in extraVolumes" .name) -}}{{- end -}}
{{- if has .mountPath $paths -}}{{- fail (printf "extraVolumeMounts has the path %s twice, or the chart mounts it" .mountPath) -}}{{- end -}}
{{- $paths = append $paths .mountPath -}}
{{- end -}}
{{- end -}}
