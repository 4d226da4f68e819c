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
{{- mergeOverwrite (dict) $settings .Values.settings | toYaml -}}
{{- end -}}

{{/* The ports of those from whom models are fetched, as YAML; none where none are fetched. */}}
{{- define "benanza.modelPorts" -}}
{{- $settings := include "benanza.settings" . | fromYaml -}}
{{- $ports := list -}}
{{- with $settings.BENANZA_MODEL_SOURCES -}}
{{- range $.Values.networkPolicies.models.ports -}}
{{- $ports = append $ports (int .) -}}
{{- end -}}
{{- $stores := list (get $settings "AWS_ENDPOINT_URL") (get $settings "AWS_ENDPOINT_URL_S3") -}}
{{- range concat (splitList "," .) $stores -}}
{{- $address := trim . | lower -}}
{{- if regexMatch "^https?://[^/]*:[0-9]+(/|$)" $address -}}
{{- $ports = append $ports (regexReplaceAll "^https?://[^/]*:([0-9]+)(/.*)?$" $address "${1}" | int) -}}
{{- else if hasPrefix "http://" $address -}}
{{- $ports = append $ports 80 -}}
{{- else if regexMatch "^(https|s3)://" $address -}}
{{- $ports = append $ports 443 -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml ($ports | uniq) -}}
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
{{- range $list := list "volumeMounts" "volumes" -}}
{{- $holder := ternary $template.spec $container (eq $list "volumes") -}}
{{- $_ := set $holder $list (concat (get $holder $list) (get $root.Values $list)) -}}
{{- end -}}
{{- with $root.Values.serviceAccountName -}}
{{- $_ := set $template.spec "serviceAccountName" . -}}
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
