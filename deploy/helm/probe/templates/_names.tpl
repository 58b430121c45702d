{{- define "antipode.name" -}}
{{ .Release.Name | trunc 48 | trimSuffix "-" }}
{{- end }}

{{- define "antipode.selector" -}}
app.kubernetes.io/name: antipode-probe
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "antipode.labels" -}}
{{ include "antipode.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: antipode
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "antipode.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The user of the images; nothing that a user may not. */}}
{{- define "antipode.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "antipode.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "antipode.placing" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Helm reads every number as a fraction, and would write a million as 1e+06. */}}
{{- define "antipode.text" -}}
{{- if kindIs "float64" . }}{{ printf "%.0f" . | quote }}{{ else }}{{ toString . | quote }}{{ end }}
{{- end }}
