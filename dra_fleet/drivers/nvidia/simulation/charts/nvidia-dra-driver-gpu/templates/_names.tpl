{{/* Names follow the chart (or nameOverride), never the release: two releases in one cluster collide. */}}
{{- define "driver.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "driver.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "driver.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end }}

{{- define "driver.labels" -}}
helm.sh/chart: {{ printf "%s-%s" (include "driver.name" .) .Chart.Version }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "driver.podLabels" . }}
{{- end }}

{{- define "driver.podLabels" -}}
app.kubernetes.io/name: {{ include "driver.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Arguments: context, component. */}}
{{- define "driver.selector" -}}
{{- with .context.Values.selectorLabelsOverride }}
{{- toYaml . }}
{{- else }}
{{- include "driver.name" .context }}-component: {{ .component }}
{{- end }}
{{- end }}

{{- define "driver.image" -}}
{{ .Values.image.repository }}:{{ default (printf "v%s" .Chart.AppVersion) .Values.image.tag }}
{{- end }}

{{- define "driver.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (printf "%s-service-account" (include "driver.fullname" .)) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{- define "driver.resourceApiVersion" -}}
{{- if .Capabilities.APIVersions.Has "resource.k8s.io/v1" -}}
resource.k8s.io/v1
{{- else if .Capabilities.APIVersions.Has "resource.k8s.io/v1beta2" -}}
resource.k8s.io/v1beta2
{{- else if .Capabilities.APIVersions.Has "resource.k8s.io/v1beta1" -}}
resource.k8s.io/v1beta1
{{- end -}}
{{- end }}

{{/* The environment that both plugin containers share. */}}
{{- define "driver.commonEnv" -}}
{{- with .Values.logVerbosity }}
- {name: LOG_VERBOSITY, value: {{ . | quote }}}
{{- end }}
- {name: NVIDIA_DRIVER_ROOT, value: {{ .Values.nvidiaDriverRoot | quote }}}
- {name: NVIDIA_VISIBLE_DEVICES, value: void}
- {name: CDI_ROOT, value: /var/run/cdi}
- {name: NVIDIA_MIG_CONFIG_DEVICES, value: all}
- name: NODE_NAME
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
- name: NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- with .Values.nvidiaCDIHookPath }}
- {name: NVIDIA_CDI_HOOK_PATH, value: {{ . | quote }}}
{{- end }}
{{- if .Values.featureGates }}
- name: FEATURE_GATES
  value: "{{ range $key, $value := .Values.featureGates }}{{ $key }}={{ $value }},{{ end }}"
{{- end }}
{{- with .Values.kubeletPlugin.kubeletRegistrarDirectoryPath }}
- {name: KUBELET_REGISTRAR_DIRECTORY_PATH, value: {{ . | quote }}}
{{- end }}
{{- with .Values.kubeletPlugin.kubeletPluginsDirectoryPath }}
- {name: KUBELET_PLUGINS_DIRECTORY_PATH, value: {{ . | quote }}}
{{- end }}
{{- end }}

{{/* How much a program logs; before 25.8.0 no value says it. */}}
{{- define "driver.verbosity" -}}
{{- if .Values.logVerbosity }} -v $(LOG_VERBOSITY){{ end }}
{{- end }}

{{- define "driver.commonMounts" -}}
- {name: plugins-registry, mountPath: {{ .Values.kubeletPlugin.kubeletRegistrarDirectoryPath | default "/var/lib/kubelet/plugins_registry" | quote }}}
- {name: plugins, mountPath: {{ .Values.kubeletPlugin.kubeletPluginsDirectoryPath | default "/var/lib/kubelet/plugins" | quote }}, mountPropagation: Bidirectional}
- {name: cdi, mountPath: /var/run/cdi}
- {name: driver-root, mountPath: /driver-root, mountPropagation: HostToContainer}
{{- end }}
