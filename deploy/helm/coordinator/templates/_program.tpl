{{/* What a coordinator and the operator's commands share. */}}
{{- define "antipode.secret" -}}
- secretRef:
    name: {{ required "secret: name an existing Secret with the lines of coordinator.env, as in --set secret=antipode" .Values.secret }}
{{- end }}

{{- define "antipode.settings" -}}
{{- range $name, $value := .Values.settings }}
- { name: {{ $name }}, value: {{ include "antipode.text" $value }} }
{{- end }}
{{- end }}

{{- define "antipode.mounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if .Values.files }}
- { name: files, mountPath: /etc/antipode, readOnly: true }
{{- end }}
{{- end }}

{{- define "antipode.volumes" -}}
- name: tmp
  emptyDir: { sizeLimit: 256Mi }
{{- with .Values.files }}
- name: files
  secret: { secretName: {{ . }} }
{{- end }}
{{- end }}
