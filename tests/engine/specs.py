"""Specs to test with, made from the smallest useful one."""

from __future__ import annotations

import copy
from typing import Any

from specdeploy.api.spec import NEEDS_MODEL, Drafter, Spec

SMALLEST: dict[str, Any] = {
    "model": "google/gemma-4-26B-A4B-it",
    "replicas": 4,
    "accelerator": {"type": "MI300X", "count": 2},
    "drafters": [
        {
            "name": "dflash",
            "method": "dflash",
            "model": "z-lab/gemma-4-26B-A4B-it-DFlash",
            "numSpeculativeTokens": 7,
        }
    ],
}

EVERYTHING: dict[str, Any] = {
    "model": "Qwen/Qwen3-8B",
    "servedModelName": "qwen",
    "modelRevision": "b968826d",
    "replicas": 3,
    "accelerator": {"count": 8, "resourceName": "amd.com/cpx_nps4", "type": "MI325X"},
    "engine": {
        "image": "registry.example/team/vllm-rocm:v0.32.1",
        "vllmVersion": "0.32.1",
        "imagePullPolicy": "Always",
        "args": ["--max-model-len", "32768", "-tp=4", "--pipeline-parallel-size", "2"],
        "env": [
            {"name": "VLLM_ROCM_USE_AITER", "value": "1"},
            {"name": "VLLM_API_KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "engine"}}},
        ],
        "attentionBackend": "ROCM_AITER_FA",
        "weights": {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}, "offline": True},
        "compileCache": {"hostPath": {"path": "/var/cache/engines"}},
        "hfTokenSecretRef": {"name": "hub", "key": "token"},
        "podTemplate": {
            "labels": {"team": "search"},
            "annotations": {"example.com/cost-centre": "42"},
            "serviceAccountName": "engines",
            "nodeSelector": {"pool": "gpu"},
            "tolerations": [{"key": "amd.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                        ]
                    }
                }
            },
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"team": "search"}},
                }
            ],
            "priorityClassName": "serving",
            "runtimeClassName": "amd",
            "schedulerName": "gang",
            "imagePullSecrets": [{"name": "pull"}],
            "volumes": [{"name": "templates", "configMap": {"name": "chat-templates"}}],
            "volumeMounts": [{"name": "templates", "mountPath": "/etc/templates"}],
            "initContainers": [{"name": "fetch", "image": "registry.example/fetch:1"}],
            "containers": [{"name": "logs", "image": "registry.example/logs:1"}],
            "securityContext": {"fsGroup": 1000, "supplementalGroups": [44]},
            "resources": {"requests": {"cpu": "16"}, "limits": {"memory": "256Gi"}},
        },
        "startupSeconds": 1800,
        "drain": {"endpointRemovalSeconds": 15, "requestSeconds": 120},
    },
    "drafters": [
        {
            "name": "eagle",
            "method": "eagle3",
            "model": "RedHatAI/Qwen3-8B-speculator.eagle3",
            "revision": "4f0c8a1e",
            "numSpeculativeTokens": 5,
            "attentionBackend": "ROCM_AITER_FA",
            "options": {"max_model_len": 32768, "draft_tensor_parallel_size": 1},
        }
    ],
    "service": {"type": "LoadBalancer", "port": 80, "annotations": {"example.com/pool": "public"}},
}


def changed(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of `body` with the field at the dotted `path` set; numbers are positions in lists."""
    copied = copy.deepcopy(body)
    *parents, last = path.split(".")
    at: Any = copied
    for name in parents:
        at = at[int(name)] if name.isdigit() else at.setdefault(name, {})
    at[last] = value
    return copied


def smallest(path: str = "replicas", value: Any = 4) -> Spec:
    """The smallest useful spec with one field changed."""
    return Spec.model_validate(changed(SMALLEST, path, value))


def everything(path: str = "replicas", value: Any = 3) -> Spec:
    """A spec that sets every field, with one changed."""
    return Spec.model_validate(changed(EVERYTHING, path, value))


def drafter(method: str, **fields: Any) -> Drafter:
    """A drafter with a checkpoint where the method needs one."""
    model = {"model": "org/draft"} if method in NEEDS_MODEL else {}
    return Drafter.model_validate(
        {"name": "d", "method": method, "numSpeculativeTokens": 4, **model, **fields}
    )


def with_drafters(*drafters: Drafter, path: str = "replicas", value: Any = 4) -> Spec:
    """The smallest spec with these drafters and one field changed."""
    return smallest(path, value).model_copy(update={"drafters": list(drafters)})
