{{/* The pod of a Deployment or, with shards, of a StatefulSet. */}}
{{- define "crdb-exporter.pod" -}}
{{- include "crdb-exporter.refuse" . }}
{{- /* What the exporter reads only at its start: a change replaces the pods. It loads all other changes itself. */}}
{{- $atStart := list .Values.config.web (dig "log" "format" "" .Values.config) | toJson | sha256sum }}
metadata:
  labels: {{- include "crdb-exporter.merge" (list . .Values.podLabels) | nindent 4 }}
  annotations: {{- merge (dict "checksum/config-at-start" $atStart) .Values.podAnnotations | toYaml | nindent 4 }}
spec:
  automountServiceAccountToken: false
  # Environment variables of services could collide with those of the exporter.
  enableServiceLinks: false
  # A regular stop takes at most 4.5 seconds.
  terminationGracePeriodSeconds: 10
  {{- with .Values.serviceAccountName }}
  serviceAccountName: {{ . }}
  {{- end }}
  securityContext:
    {{- include "crdb-exporter.podSecurityContext" . | nindent 4 }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints: {{- toYaml . | nindent 4 }}
  {{- end }}
  affinity:
    {{- if .Values.affinity }}
    {{- toYaml .Values.affinity | nindent 4 }}
    {{- else }}
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels: {{- include "crdb-exporter.selector" . | nindent 16 }}
    {{- end }}
  containers:
    - name: crdb-exporter
      image: {{ include "crdb-exporter.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        - --config.file=/etc/crdb-exporter/config/exporter.yml
        - --config.auto-reload
        - --web.listen-address=:10137
        {{- if .Values.webConfig.secret }}
        - --web.config.file=/etc/crdb-exporter/web/web-config.yml
        {{- end }}
        {{- with .Values.extraArgs }}{{ toYaml . | nindent 8 }}{{ end }}
      env:
        {{- if gt (int .Values.shards) 1 }}
        - name: CRDB_EXPORTER_SHARD_INDEX
          valueFrom:
            fieldRef: { fieldPath: 'metadata.labels[''apps.kubernetes.io/pod-index'']' }
        - name: CRDB_EXPORTER_SHARD_COUNT
          value: {{ .Values.shards | quote }}
        {{- end }}
        # For the commands on the status page.
        - name: POD_NAME
          valueFrom:
            fieldRef: { fieldPath: metadata.name }
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef: { fieldPath: metadata.namespace }
        {{- with .Values.env }}{{ toYaml . | nindent 8 }}{{ end }}
      ports:
        - { name: metrics, containerPort: 10137, protocol: TCP }
      livenessProbe:
        {{- if .Values.livenessProbe }}
        {{- toYaml .Values.livenessProbe | nindent 8 }}
        {{- else }}
        httpGet: { path: /-/healthy, port: metrics, scheme: {{ .Values.webConfig.scheme | upper }} }
        periodSeconds: 20
        timeoutSeconds: 5
        {{- end }}
      readinessProbe:
        {{- if .Values.readinessProbe }}
        {{- toYaml .Values.readinessProbe | nindent 8 }}
        {{- else }}
        httpGet: { path: /-/ready, port: metrics, scheme: {{ .Values.webConfig.scheme | upper }} }
        periodSeconds: 5
        timeoutSeconds: 5
        {{- end }}
      resources: {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- include "crdb-exporter.securityContext" . | nindent 8 }}
      volumeMounts:
        - { name: config, mountPath: /etc/crdb-exporter/config, readOnly: true }
        {{- range $index, $secret := .Values.secrets }}
        - { name: {{ printf "secret-%d" $index }}, mountPath: {{ printf "/etc/crdb-exporter/secrets/%s" $secret }}, readOnly: true }
        {{- end }}
        {{- if .Values.webConfig.secret }}
        - { name: web-config, mountPath: /etc/crdb-exporter/web, readOnly: true }
        {{- end }}
        {{- with .Values.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
  volumes:
    - name: config
      configMap: { name: {{ .Values.existingConfigMap | default (include "crdb-exporter.fullname" .) }} }
    # 288 is 0440: only for the exporter's group. A volume, unlike a secret, has no dots in its name.
    {{- range $index, $secret := .Values.secrets }}
    - name: {{ printf "secret-%d" $index }}
      secret: { secretName: {{ $secret }}, defaultMode: 288 }
    {{- end }}
    {{- with .Values.webConfig.secret }}
    - name: web-config
      secret: { secretName: {{ . }}, defaultMode: 288 }
    {{- end }}
    {{- with .Values.extraVolumes }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end -}}

{{- define "crdb-exporter.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "crdb-exporter.podSecurityContext" -}}
{{- if .Values.podSecurityContext -}}
{{- toYaml .Values.podSecurityContext -}}
{{- else -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
# Group of the secret files, which other users cannot read.
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end -}}
{{- end -}}

{{- define "crdb-exporter.securityContext" -}}
{{- if .Values.securityContext -}}
{{- toYaml .Values.securityContext -}}
{{- else -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}
{{- end -}}
