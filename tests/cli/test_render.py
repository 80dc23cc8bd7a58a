"""`specdeploy render` as it is typed: the very objects that the operator applies, and what is left out."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from specdeploy.api.findings import read_spec
from specdeploy.api.names import LABEL_DRAFTER
from specdeploy.api.spec import Spec
from specdeploy.cli.main import app
from specdeploy.engine.image import image_of
from specdeploy.engine.layout import HOME_PATH
from specdeploy.engine.revision import templates
from specdeploy.manifests.deployment import build_deployment
from specdeploy.manifests.owner import Owner
from tests.api.examples import FILES
from tests.rollout.scenes import DFLASH, EAGLE, fresh

RUN = CliRunner()
HEAD = "apiVersion: specdeploy.dev/v1alpha1\nkind: SpecDeployment\nmetadata: {name: gemma, namespace: llm}\n"
GOOD = (
    HEAD
    + """spec:
  model: google/gemma-4-26B-A4B-it
  replicas: 4
  accelerator: {type: MI300X, count: 2}
  drafters:
    - {name: ngram, method: ngram, numSpeculativeTokens: 3}
    - {name: longer, method: ngram, numSpeculativeTokens: 8}
"""
)
BAD_DRAFTER = "    - {name: broken, method: ngram, numSpeculativeTokens: 3, options: {no_such_key: 1}}\n"
UNREADABLE_DRAFTER = "    - {name: none, method: eagle3, numSpeculativeTokens: 3}\n"


def render(tmp_path: Path, text: str, *options: str) -> Result:
    file = tmp_path / "f.yaml"
    file.write_text(text)
    return RUN.invoke(app, ["render", str(file), *options])


def objects(answer: Result) -> list[dict[str, Any]]:
    return [body for body in yaml.safe_load_all(answer.stdout) if body is not None]


def named(answer: Result) -> list[tuple[str, str]]:
    """(kind, name without the hash) of what was rendered."""
    found = ((body["kind"], body["metadata"]["name"]) for body in objects(answer))
    return [(kind, name.rpartition("-")[0] if kind == "Deployment" else name) for kind, name in found]


FRAME = [("Service", "gemma"), ("PodDisruptionBudget", "gemma")]
ARMS = [("Deployment", f"gemma-{arm}") for arm in ("baseline", "ngram", "longer")]

# what is rendered -> (text, options, exit code, kinds and names)
RENDERED: dict[str, tuple[str, list[str], int, list[tuple[str, str]]]] = {
    "a good one": (GOOD, [], 0, FRAME + ARMS),
    "one drafter": (GOOD, ["--drafter", "longer"], 0, ARMS[2:]),
    "the baseline": (GOOD, ["--drafter", "baseline"], 0, ARMS[:1]),
    "a drafter that can't run": (GOOD + BAD_DRAFTER, [], 1, FRAME + ARMS),
    "a drafter that can't be read": (GOOD + UNREADABLE_DRAFTER, [], 1, FRAME + ARMS),
    "without a Service": (GOOD + "  service: {create: false}\n", [], 0, FRAME[1:] + ARMS),
    "a field that does not exist": (GOOD + "  replica: 3\n", [], 1, FRAME + ARMS),
    "a spec that can't serve": (GOOD + "  engine: {args: [--port, '1']}\n", [], 1, []),
    "a spec that can't be read": (GOOD + "  paused: 1\n", [], 1, []),
    "a name that the cluster makes": (GOOD.replace("{name: gemma", "{generateName: gemma-"), [], 1, []),
    "one good, one bad": (f"{HEAD}spec: {{}}\n---\n{GOOD}", [], 1, FRAME + ARMS),
    "no YAML after a good one": (f"{GOOD}---\n{{", [], 1, FRAME + ARMS),
    "a drafter that is not there": (GOOD, ["--drafter", "none"], 2, []),
    "a drafter that is, but can't run": (GOOD + BAD_DRAFTER, ["--drafter", "broken"], 2, []),
    "a name that is none": (GOOD.replace("name: gemma", "name: 4"), [], 1, []),
    "a number in quotes": (GOOD.replace("replicas: 4", "replicas: '4'"), [], 1, []),
    "nothing of ours": ("kind: Service\n", [], 2, []),
}


def test_entries_of_ones_own_are_asked(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("- model: google/gemma-4-26B-A4B-it\n  family: gemma4\n  parameters: 4000\n  source: me\n")
    assert render(tmp_path, GOOD).exit_code == 0
    answer = render(tmp_path, GOOD, "--catalog", str(own))
    assert (answer.exit_code, named(answer)) == (1, [])
    assert "SD701" in answer.stderr
    assert render(tmp_path, GOOD, "--catalog", str(tmp_path / "none.yaml")).exit_code == 2


@pytest.mark.parametrize("case", RENDERED)
def test_what_can_be_applied_is_rendered_and_the_rest_is_told(case: str, tmp_path: Path) -> None:
    text, options, code, wanted = RENDERED[case]
    answer = render(tmp_path, text, *options)
    assert answer.exit_code == code
    assert bool(answer.stderr) == (code != 0)
    assert named(answer) == wanted
    assert "Traceback" not in answer.output


def test_a_drafter_that_is_left_out_is_named_with_its_place(tmp_path: Path) -> None:
    answer = render(tmp_path, GOOD + UNREADABLE_DRAFTER + BAD_DRAFTER)
    first, second = answer.stderr.splitlines()
    assert first.startswith(f"{tmp_path}/f.yaml:11:7: error SD005 spec.drafters[2].model: ")
    assert f"{tmp_path}/f.yaml:12:" in second
    assert "spec.drafters[3].options.no_such_key: " in second


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_deployments_are_those_that_the_operator_makes(file: Path) -> None:
    answer = RUN.invoke(app, ["render", str(file)])
    assert answer.exit_code == 0
    made = [body for body in objects(answer) if body["kind"] == "Deployment"]
    wanted = [body for raw in yaml.safe_load_all(file.read_text()) for body in _made_by_the_operator(raw)]
    assert made == wanted
    assert "&id" not in answer.stdout, "kubectl reads aliases, people do not"


def _made_by_the_operator(raw: dict[str, Any]) -> list[dict[str, Any]]:
    spec, owner = read_spec(raw["spec"]).spec, Owner(raw["metadata"]["name"], "", "")
    assert isinstance(spec, Spec)
    arms = templates(owner.name, spec, image_of(spec))
    made = []
    for template, replicas in [(arms.baseline, spec.replicas), *((arm, 0) for arm in arms.drafters)]:
        body = build_deployment(owner, spec=spec, image=image_of(spec), template=template, replicas=replicas)
        del body["metadata"]["namespace"], body["metadata"]["ownerReferences"][0]["uid"]
        made.append(body)
    return made


def test_what_only_a_cluster_knows_is_left_out_and_said(tmp_path: Path) -> None:
    answer = render(tmp_path, GOOD)
    assert "uid" in answer.stdout.splitlines()[0]
    for body in objects(answer):
        [owner] = body["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], "uid" in owner) == ("SpecDeployment", "gemma", False)
        assert body["metadata"]["namespace"] == "llm"
    [body, *_] = objects(render(tmp_path, GOOD.replace(", namespace: llm", "")))
    assert "namespace" not in body["metadata"]


def test_at_first_the_baseline_serves_with_all_replicas(tmp_path: Path) -> None:
    answer = render(tmp_path, GOOD)
    replicas = [body["spec"].get("replicas") for body in objects(answer)]
    assert replicas == [None, None, 4, 0, 0]
    assert objects(answer)[1]["spec"]["minAvailable"] == 3
    assert "# pods of baseline: serves with all 4 at first\n" in answer.stdout
    assert "# pods of ngram: none at first, 1 when its trial begins\n" in answer.stdout


def test_replicas_are_those_that_the_rollout_wants_first(tmp_path: Path) -> None:
    world = fresh(DFLASH, EAGLE, replicas=6)
    while not world.replicas():
        world.step()
    body = {**yaml.safe_load(HEAD), "spec": world.spec}
    listed = json.loads(render(tmp_path, json.dumps(body), "-o", "json").stdout)["items"]
    made = [each for each in listed if each["kind"] == "Deployment"]
    replicas = {each["metadata"]["labels"][LABEL_DRAFTER]: each["spec"]["replicas"] for each in made}
    assert {name: count for name, count in replicas.items() if count} == world.replicas()
    [budget] = [each for each in listed if each["kind"] == "PodDisruptionBudget"]
    assert budget["spec"]["minAvailable"] == 5


def test_json_is_one_list_that_kubectl_takes(tmp_path: Path) -> None:
    listed = json.loads(render(tmp_path, GOOD, "-o", "json").stdout)
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List")
    assert listed["items"] == objects(render(tmp_path, GOOD))


def test_the_command_of_each_arm_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    lines = render(tmp_path, GOOD, "--command").stdout.splitlines()
    assert lines[::2] == ["# gemma baseline", "# gemma ngram", "# gemma longer"]
    words = shlex.split(lines[3])
    assert words[:3] == ["vllm", "serve", "google/gemma-4-26B-A4B-it"]
    speculative = json.loads(words[words.index("--speculative-config") + 1])
    assert (speculative["method"], speculative["num_speculative_tokens"]) == ("ngram", 3)
    [baseline] = [line for line in lines[1:2] if "--speculative-config" not in line]
    assert baseline.startswith("vllm serve")


def test_a_command_brings_the_variables_that_have_a_value(tmp_path: Path) -> None:
    env = """  engine:
    env:
      - {name: VLLM_ROCM_USE_AITER, value: "0"}
      - {name: PLAIN, value: "it's $5"}
      - {name: REFERS, value: "$(PLAIN) in $(HOME), $(LATER) and $$(PLAIN)"}
      - {name: SECRET, valueFrom: {secretKeyRef: {name: s, key: k}}}
"""
    [_, baseline] = render(tmp_path, GOOD + env, "--command", "--drafter", "baseline").stdout.splitlines()
    assert shlex.split(baseline)[:5] == [
        "VLLM_ROCM_USE_AITER=0",
        "PLAIN=it's $5",
        f"REFERS=it's $5 in {HOME_PATH}, $(LATER) and $(PLAIN)",
        "vllm",
        "serve",
    ]


def test_the_version_that_was_asked_for_decides_what_can_run(tmp_path: Path) -> None:
    dspark = "    - {name: d, method: dspark, numSpeculativeTokens: 3}\n"
    answer = render(tmp_path, GOOD + dspark, "--vllm-version", "0.18", "--command")
    assert answer.exit_code == 1
    assert "# gemma d\n" not in answer.stdout


def test_a_script_is_shown_line_by_line_and_an_argument_on_one_line(tmp_path: Path) -> None:
    lines = [line.strip() for line in render(tmp_path, GOOD).stdout.splitlines()]
    assert "def answer_all():" in lines
    assert """- '{"method": "ngram", "num_speculative_tokens": 3}'""" in lines


def test_where_nothing_can_be_rendered_nothing_is_printed(tmp_path: Path) -> None:
    assert render(tmp_path, HEAD + "spec: {}\n").stdout == ""
