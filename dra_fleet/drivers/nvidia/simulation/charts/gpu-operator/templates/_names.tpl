{{- define "operator.labels" -}}
app.kubernetes.io/name: gpu-operator
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "operator.version" -}}
{{ default .Chart.AppVersion .Values.operator.version }}
{{- end }}

{{/* The subchart's names: it is called node-feature-discovery. */}}
{{- define "nfd.name" -}}
{{ .Release.Name }}-node-feature-discovery
{{- end }}

{{- define "nfd.image" -}}
{{- $image := (index .Values "node-feature-discovery").image -}}
{{ $image.repository }}:{{ $image.tag }}
{{- end }}

{{/* Arguments: context, component. */}}
{{- define "nfd.selector" -}}
app.kubernetes.io/name: node-feature-discovery
app.kubernetes.io/instance: {{ .context.Release.Name }}
role: {{ .component }}
{{- end }}

{{/* Where the pods of a part of node feature discovery may run. */}}
{{- define "nfd.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
