{{/*
What deploy/kubernetes says, which is linked to the folder kubernetes of this chart, so that nothing
of it stands here again. What Kustomize does there, these do: the test compares both.
*/}}

{{/* The settings of all services, as YAML: the base's, and then those of the values. */}}
{{- define "benanza.settings" -}}
{{- $settings := dict -}}
{{- $base := .Files.Get "kubernetes/base/kustomization.yaml" | fromYaml -}}
{{- range (first $base.configMapGenerator).literals -}}
{{- $said := splitn "=" 2 . -}}
{{- $_ := set $settings $said._0 $said._1 -}}
{{- end -}}
{{- merge (dict) .Values.settings $settings | toYaml -}}
{{- end -}}

{{/*
Changes a Deployment or Job in place, as Kustomize's strategic merge of a patch for its pods does:
(list OBJECT FILE ROOT). Mounts and volumes are added to those that are there.
*/}}
{{- define "benanza.patch" -}}
{{- $pod := (index . 0).spec.template.spec -}}
{{- $patch := ((index . 2).Files.Get (index . 1) | fromYaml).spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- $more := first $patch.containers -}}
{{- range $list := list "volumeMounts" "ports" -}}
{{- with concat (get $container $list | default list) (get $more $list | default list) -}}
{{- $_ := set $container $list . -}}
{{- end -}}
{{- end -}}
{{- with concat ($pod.volumes | default list) ($patch.volumes | default list) -}}
{{- $_ := set $pod "volumes" . -}}
{{- end -}}
{{- $_ := mergeOverwrite $container (omit $more "volumeMounts" "ports") -}}
{{- $_ := mergeOverwrite $pod (omit $patch "containers" "volumes") -}}
{{- end -}}

{{/* A Deployment or Job of deploy/kubernetes as this release has it: (list OBJECT OWN ROOT). OWN is
what the values say of it. */}}
{{- define "benanza.workload" -}}
{{- $object := index . 0 -}}
{{- $own := index . 1 -}}
{{- $root := index . 2 -}}
{{- include "benanza.patch" (list $object "kubernetes/common/pod.yaml" $root) -}}
{{- if eq $object.kind "Deployment" -}}
{{- include "benanza.patch" (list $object "kubernetes/common/service.yaml" $root) -}}
{{- end -}}
{{- $template := $object.spec.template -}}
{{- $container := first $template.spec.containers -}}
{{- $tag := $root.Values.tag | default $root.Chart.AppVersion -}}
{{- $_ := set $container "image" (printf "%s%s:%s" $root.Values.registry $container.image $tag) -}}
{{- with $root.Values.settingsSecret -}}
{{- $secret := dict "secretRef" (dict "name" .) -}}
{{- $_ := set $container "envFrom" (append $container.envFrom $secret) -}}
{{- end -}}
{{- with $own.resources -}}
{{- $_ := set $container "resources" . -}}
{{- end -}}
{{- with $own.nodeSelector -}}
{{- $_ := set $template.spec "nodeSelector" . -}}
{{- end -}}
{{- if hasKey $own "replicas" -}}
{{- $_ := set $object.spec "replicas" (int $own.replicas) -}}
{{- end -}}
{{- $sum := include "benanza.settings" $root | sha256sum -}}
{{- $_ := set $template.metadata "annotations" (dict "benanza/settings" $sum) -}}
---
{{ toYaml $object }}
{{ end -}}

{{/* The Deployments of this release by their names, as YAML: for each, the labels of its pods. */}}
{{- define "benanza.pods" -}}
{{- range $path, $_ := .Files.Glob "kubernetes/base/*.yaml" -}}
{{- $object := $.Files.Get $path | fromYaml -}}
{{- if eq $object.kind "Deployment" }}
{{ $object.metadata.name }}: {{ toJson $object.spec.selector.matchLabels }}
{{- end -}}
{{- end -}}
{{- $gpu := .Files.Get "kubernetes/gpu/runner/deployment.yaml" | fromYaml -}}
{{- range $kind, $_ := .Values.gpus }}
runner-{{ $kind }}: {{ merge (dict "gpu" $kind) $gpu.spec.selector.matchLabels | toJson }}
{{- end -}}
{{- end -}}
