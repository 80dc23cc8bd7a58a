"""From the text of a scenario file to a Scenario, or to findings: line, field, why, and what to do."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from specdeploy.api.findings import read_spec
from specdeploy.api.rule import Finding
from specdeploy.api.spec import Drafter, Spec
from specdeploy.simulation.engines import round_costs
from specdeploy.simulation.scenario import Scenario

_SHIPPED = files(__package__) / "scenarios"
_FIXES = {
    "missing": "add it",
    "extra_forbidden": "remove it, or correct its name",
    "literal_error": "use one of these",
}


@dataclass(frozen=True)
class Located:
    """A finding and the line it is about (counted from 1)."""

    line: int
    finding: Finding


class ScenarioError(ValueError):
    """A scenario that can't be run. `findings`: everything that is wrong; the text tells the first ones."""

    def __init__(self, where: str, found: Sequence[Located]) -> None:
        self.findings = tuple(found)
        shown = "; ".join(f"{where}:{each.line}: {each.finding}" for each in found[:3])
        more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
        super().__init__(shown + more)


def shipped() -> dict[str, Traversable]:
    """Name -> file of the scenarios that come with the package, in order of their names."""
    found = [f for f in _SHIPPED.iterdir() if f.name.endswith(".yaml")]
    return {f.name.removesuffix(".yaml"): f for f in sorted(found, key=lambda f: f.name)}


def read_scenario(text: str, where: str) -> tuple[Scenario, Spec]:
    """The scenario, and its spec as the operator reads it, with every drafter that it ever lists. `where` is
    the file's name for messages.

    Raises ScenarioError.
    """
    root = _composed(text, where)
    try:
        scenario = Scenario.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        raise ScenarioError(where, [_located(root, e) for e in error.errors()]) from None
    specs, found = _specs(scenario)
    if not found:
        found = list(_contradictions(scenario, specs))
    if found:
        raise ScenarioError(where, [Located(_line(root, _path(f.field)), f) for f in found])
    return scenario, specs[0].model_copy(update={"drafters": list(_drafters(specs).values())})


def _specs(scenario: Scenario) -> tuple[list[Spec], list[Finding]]:
    """The spec after each edit, and what is wrong with them as they are written."""
    specs, found = [], []
    order = sorted(range(len(scenario.edits)), key=lambda i: scenario.edits[i].at)
    for place, (_, raw) in zip(("", *(f"edits[{i}]." for i in order)), scenario.specs(), strict=True):
        reading = read_spec(raw)
        wrong = [*reading.findings, *(finding for _, finding in reading.drafters)]
        unknown = ("this field is not known", "remove it, or correct its name")
        wrong += [Finding(path, *unknown) for path in reading.unknown]
        found += [Finding(place + each.field, each.reason, each.fix) for each in wrong]
        if reading.spec is not None:
            specs.append(reading.spec)
    return specs, found


def _drafters(specs: Iterable[Spec]) -> dict[str, Drafter]:
    """Every drafter that is ever listed, by name, in order."""
    return {drafter.name: drafter for spec in specs for drafter in spec.drafters or []}


def _composed(text: str, where: str) -> yaml.Node:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        finding = Finding("file", f"is no YAML: {error.problem}", "correct it")
        raise ScenarioError(where, [Located(line, finding)]) from None
    if not isinstance(root, yaml.MappingNode):
        raise ScenarioError(
            where, [Located(1, Finding("file", "is empty or no mapping", "write a scenario"))]
        )
    return root


def _located(root: yaml.Node, error: ErrorDetails) -> Located:
    path = [part for part in error["loc"] if not _a_choice(part)]
    name = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".") or "file"
    reason = error["msg"].removeprefix("Value error, ")
    reason = reason[0].lower() + reason[1:]
    return Located(_line(root, path), Finding(name, reason, _FIXES.get(error["type"], "correct it")))


def _a_choice(part: int | str) -> bool:
    """pydantic names the alternative of a union that it tried, too: that is no part of the file."""
    return isinstance(part, str) and (part == "Acceptance" or "[" in part)


def _path(field: str) -> list[int | str]:
    """`spec.drafters[0].name` -> its parts."""
    parts: list[int | str] = []
    for piece in field.replace("[", ".[").split("."):
        if piece.startswith("["):
            parts.append(int(piece.strip("[]")))
        elif piece:
            parts.append(piece)
    return parts


def _line(root: yaml.Node, path: Iterable[int | str]) -> int:
    """The line of a field, or of the innermost part around it that is there."""
    node, line = root, root.start_mark.line
    for part in path:
        found = next((pair for pair in _children(node) if pair[0] == part), None)
        if found is None:
            break
        _, key, node = found
        line = key.start_mark.line
    return line + 1


def _children(node: yaml.Node) -> Iterator[tuple[int | str, yaml.Node, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), key, value
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield index, value, value


def _contradictions(scenario: Scenario, specs: Sequence[Spec]) -> Iterator[Finding]:
    """What each part allows and the whole does not."""
    drafters = _drafters(specs)
    names = set(drafters)
    for spec in specs[1:]:
        yield from _not_editable(specs[0], spec, drafters)
    for name in sorted(names - set(scenario.drafters)):
        yield Finding(
            "drafters", f"says nothing of {name}, which spec.drafters lists", f"add drafters.{name}"
        )
    for name in sorted(set(scenario.drafters) - names):
        yield Finding(f"drafters.{name}", "spec.drafters does not list it", "list it there, or remove it")
    for index, fault in enumerate(scenario.faults):
        if fault.drafter is not None and fault.drafter not in names:
            yield Finding(
                f"faults[{index}].drafter", f"{fault.drafter} is not listed", "use a listed drafter"
            )
    kinds = set(scenario.traffic.workloads)
    for name, engine in scenario.drafters.items():
        yield from _unlike(name, engine.acceptance, kinds)
    for drafter in drafters.values():
        if drafter.name in scenario.drafters:
            yield from _impossible(scenario, drafter.name, drafter.num_speculative_tokens)


def _not_editable(first: Spec, after: Spec, drafters: Mapping[str, Drafter]) -> Iterator[Finding]:
    """What the fleets that a run is compared with could not follow."""
    if after.replicas != first.replicas:
        yield Finding("edits", "change replicas", "leave it as it is")
    if after.trial.window_seconds != first.trial.window_seconds:
        yield Finding("edits", "change trial.windowSeconds", "leave it as it is")
    for drafter in after.drafters or []:
        if drafter.num_speculative_tokens != drafters[drafter.name].num_speculative_tokens:
            yield Finding("edits", f"change numSpeculativeTokens of {drafter.name}", "give it another name")


def _unlike(name: str, acceptance: object, kinds: set[str]) -> Iterator[Finding]:
    if not isinstance(acceptance, dict):
        return
    for kind in sorted(kinds - set(acceptance)):
        yield Finding(f"drafters.{name}.acceptance", f"says nothing of the workload {kind}", f"add {kind}")
    for kind in sorted(set(acceptance) - kinds):
        yield Finding(
            f"drafters.{name}.acceptance.{kind}", "traffic.workloads has no such kind", "add it there"
        )


def _impossible(scenario: Scenario, name: str, tokens: int) -> Iterator[Finding]:
    try:
        round_costs(scenario.target, scenario.drafters[name].cost, tokens)
    except ValueError as error:
        yield Finding(f"drafters.{name}.cost", str(error), "lower concurrency or target.verifyMs, or raise b")
