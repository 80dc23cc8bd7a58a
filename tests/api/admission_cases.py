"""SpecDeployments that the API server accepts and refuses. Two tests run them: on a real API server
(tests/cluster), and through `api.admission`, which has to say the same without one."""

from typing import Any

Object = dict[str, Any]

DFLASH: Object = {
    "name": "dflash",
    "method": "dflash",
    "model": "z-lab/gemma-4-26B-A4B-it-DFlash",
    "numSpeculativeTokens": 7,
}
NGRAM: Object = {"name": "ngram", "method": "ngram", "numSpeculativeTokens": 3}
# A field that is to be absent.
GONE = object()


def sd(name: str = "gemma", **spec: Any) -> Object:
    """A SpecDeployment, the smallest one but for the given fields of its spec."""
    fields = {"model": "google/gemma-4-26B-A4B-it", "drafters": [DFLASH], **spec}
    return {
        "apiVersion": "specdeploy.dev/v1alpha1",
        "kind": "SpecDeployment",
        "metadata": {"name": name},
        "spec": {key: value for key, value in fields.items() if value is not GONE},
    }


def drafter(**fields: Any) -> Object:
    """A SpecDeployment whose only drafter is ngram with these fields changed."""
    changed = {**NGRAM, **fields}
    return sd(drafters=[{key: value for key, value in changed.items() if value is not GONE}])


def env(**fields: Any) -> Object:
    return sd(engine={"env": [{"name": "A", **fields}]})


SECRET = {"secretKeyRef": {"name": "s", "key": "k"}}
PVC = {"persistentVolumeClaim": {"claimName": "models"}}

ACCEPTED: dict[str, Object] = {
    "the smallest one": sd(drafters=GONE),
    "fields without a value": sd(replicas=None, servedModelName=None, drafters=None, engine={"args": None}),
    "no replicas at all": sd(replicas=0),
    "as many replicas as may be": sd(replicas=1000),
    "a name of 40 characters": sd("a" * 40),
    "a name with digits and dashes": sd("gemma-4-26b"),
    "all pods in one step": sd(promotion={"steps": [100], "soakWindows": 0}),
    "equal steps": sd(promotion={"steps": [50, 50, 100]}),
    "a guard that is off": sd(guards={"kvBlocks": {"enabled": False}}),
    "a path as the model": sd(model="/models/gemma 4"),
    "mtp in the target": drafter(method="mtp"),
    "mtp with an assistant": drafter(method="mtp", model="google/gemma-4-26B-A4B-it-assistant"),
    "dspark in the target": drafter(method="dspark"),
    "eagle3 with a checkpoint": drafter(method="eagle3", model="o/m"),
    "ngram with options of any shape": drafter(options={"prompt_lookup_max": 4, "a": {"b": [1, None]}}),
    "as many tokens as may be": drafter(numSpeculativeTokens=64),
    "a drafter's name of 20 characters": drafter(name="d" * 20),
    "a variable with a value": env(value="1"),
    "a variable with no value": env(),
    "a variable from a secret": env(valueFrom=SECRET),
    "weights on a claim": sd(engine={"weights": {**PVC, "offline": True}}),
    "weights with no source": sd(engine={"weights": {"offline": True}}),
    "a cache in a sized emptyDir": sd(engine={"compileCache": {"emptyDir": {"sizeLimit": "10Gi"}}}),
    "an ephemeral claim": sd(engine={"weights": {"ephemeral": {"size": "1.5Ti"}}}),
    "just 40 windows": sd(trial={"windowSeconds": 60, "deadlineSeconds": 2400, "totalDeadlineSeconds": 2400}),
    "a partition of a GPU": sd(accelerator={"resourceName": "amd.com/cpx_nps4", "count": 8}),
    "a template with core objects": sd(
        engine={"podTemplate": {"tolerations": [{"operator": "Exists"}], "affinity": {"nodeAffinity": {}}}}
    ),
}

NEEDS = "methods eagle3, eagle, dflash, draft_model need a draft checkpoint; set drafters[].model"
TAKES_NONE = "methods ngram, suffix take no checkpoint; remove drafters[].model"
NAME = "metadata.name: at most 40 characters, a DNS label that begins with a letter"
FIRST = "spec.drafters[0]"
LEAST, MOST = "should be greater than or equal to ", "should be less than or equal to "

# what is wrong -> (the object, the field that is named, what is said of it)
REFUSED: dict[str, tuple[Object, str, str]] = {
    "no model": (sd(model=GONE), "spec.model", "Required value"),
    "an empty model": (sd(model=""), "spec.model", "at least 1 chars long"),
    "a flag as the model": (sd(model="--port"), "spec.model", "should match '^[^\\s-].*$'"),
    "a model too long": (sd(model="m" * 513), "spec.model", "Too long: may not be more than 512"),
    "a name too long": (sd("a" * 41), NAME, "choose another name"),
    "a name that begins with a digit": (sd("4gemma"), NAME, "choose another name"),
    "a name with a dot": (sd("gemma.4"), NAME, "choose another name"),
    "a number in quotes": (sd(replicas="4"), "spec.replicas", "must be of type integer"),
    "a number without quotes": (env(value=1), "spec.engine.env[0].value", "must be of type string"),
    "half a replica": (sd(replicas=1.5), "spec.replicas", "must be of type integer"),
    "a list of nothing": (sd(promotion={"steps": [None]}), "spec.promotion.steps[0]", "must be of type"),
    "negative replicas": (sd(replicas=-1), "spec.replicas", f"{LEAST}0"),
    "too many replicas": (sd(replicas=1001), "spec.replicas", f"{MOST}1000"),
    "another maker's GPU": (sd(accelerator={"type": "H100"}), "spec.accelerator.type", 'values: "MI210"'),
    "no GPU": (sd(accelerator={"count": 0}), "spec.accelerator.count", f"{LEAST}1"),
    "a bare resource": (sd(accelerator={"resourceName": "gpu"}), "spec.accelerator.resourceName", "match"),
    "steps that do not ascend": (
        sd(promotion={"steps": [50, 25, 100]}),
        "spec.promotion.steps",
        "must ascend and end with 100; sort them and append 100",
    ),
    "steps that do not reach all pods": (
        sd(promotion={"steps": [1, 50]}),
        "spec.promotion.steps",
        "must ascend and end with 100",
    ),
    "a step of no pods": (sd(promotion={"steps": [0, 100]}), "spec.promotion.steps[0]", f"{LEAST}1"),
    "no steps": (sd(promotion={"steps": []}), "spec.promotion.steps", "at least 1 items"),
    "another retention": (sd(baseline={"retention": "Never"}), "spec.baseline.retention", '"Always"'),
    "a warning below what ends the trial": (
        sd(guards={"kvBlocks": {"minimumPercent": 90, "warnPercent": 80}}),
        "spec.guards.kvBlocks.warnPercent",
        "must not be below minimumPercent; raise warnPercent or lower minimumPercent",
    ),
    "two sources of weights": (
        sd(engine={"weights": {**PVC, "emptyDir": {}}}),
        "spec.engine.weights",
        "name one of persistentVolumeClaim, hostPath, ephemeral and emptyDir; remove the others",
    ),
    "two sources of the cache": (
        sd(engine={"compileCache": {"hostPath": {"path": "/c"}, "emptyDir": {}}}),
        "spec.engine.compileCache",
        "name one of persistentVolumeClaim, hostPath, ephemeral and emptyDir; remove the others",
    ),
    "a relative host path": (
        sd(engine={"weights": {"hostPath": {"path": "models"}}}),
        "spec.engine.weights.hostPath.path",
        "should match '^/'",
    ),
    "a size that is none": (
        sd(engine={"weights": {"ephemeral": {"size": "10ki"}}}),
        "spec.engine.weights.ephemeral.size",
        "should match",
    ),
    "a value and where it comes from": (
        env(value="1", valueFrom=SECRET),
        "spec.engine.env[0].valueFrom",
        "a variable has a value or a valueFrom; remove one of the two",
    ),
    "a variable twice": (
        sd(engine={"env": [{"name": "A"}, {"name": "A"}]}),
        "spec.engine.env[1]",
        "Duplicate value",
    ),
    "too short a window": (sd(trial={"windowSeconds": 4}), "spec.trial.windowSeconds", f"{LEAST}5"),
    "fewer than 40 windows": (
        sd(trial={"windowSeconds": 60, "deadlineSeconds": 2399}),
        "spec.trial.deadlineSeconds",
        "must hold at least 40 windows; raise deadlineSeconds or lower windowSeconds",
    ),
    "a total below the deadline": (
        sd(trial={"deadlineSeconds": 14400, "totalDeadlineSeconds": 14399}),
        "spec.trial.totalDeadlineSeconds",
        "must be at least deadlineSeconds; raise totalDeadlineSeconds or lower deadlineSeconds",
    ),
    "certainty": (sd(trial={"confidencePercent": 100}), "spec.trial.confidencePercent", f"{MOST}99"),
    "a port that is none": (sd(service={"port": 0}), "spec.service.port", f"{LEAST}1"),
    "no tokens": (drafter(numSpeculativeTokens=0), f"{FIRST}.numSpeculativeTokens", f"{LEAST}1"),
    "tokens not given": (drafter(numSpeculativeTokens=GONE), f"{FIRST}.numSpeculativeTokens", "Required"),
    "too many tokens": (drafter(numSpeculativeTokens=65), f"{FIRST}.numSpeculativeTokens", f"{MOST}64"),
    "a method that is none": (drafter(method="medusa"), f"{FIRST}.method", 'supported values: "mtp"'),
    "eagle3 without a checkpoint": (drafter(method="eagle3"), f"{FIRST}.model", NEEDS),
    "eagle without a checkpoint": (drafter(method="eagle"), f"{FIRST}.model", NEEDS),
    "dflash without a checkpoint": (drafter(method="dflash"), f"{FIRST}.model", NEEDS),
    "draft_model without a checkpoint": (drafter(method="draft_model"), f"{FIRST}.model", NEEDS),
    "ngram with a checkpoint": (drafter(model="o/m"), f"{FIRST}.model", TAKES_NONE),
    "suffix with a checkpoint": (drafter(method="suffix", model="o/m"), f"{FIRST}.model", TAKES_NONE),
    "a drafter named baseline": (
        drafter(name="baseline"),
        f"{FIRST}.name",
        "'baseline' is the arm without a drafter; choose another name",
    ),
    "a drafter's name too long": (drafter(name="d" * 21), f"{FIRST}.name", "may not be more than 20"),
    "a drafter's name in capitals": (drafter(name="Ngram"), f"{FIRST}.name", "should match"),
    "two drafters of one name": (sd(drafters=[NGRAM, NGRAM]), "spec.drafters[1]", "Duplicate value"),
    "too many drafters": (
        sd(drafters=[{**NGRAM, "name": f"d{i}"} for i in range(33)]),
        "spec.drafters",
        "Too many: 33: must have at most 32 items",
    ),
    "options that are no object": (drafter(options=[]), f"{FIRST}.options", "must be of type object"),
}  # fmt: skip
