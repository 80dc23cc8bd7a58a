"""What the rules say of the SpecDeployments that were read. Second step of `lint` and `render`; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from specdeploy.api.findings import read_spec
from specdeploy.api.rule import Finding, Rule, Severity, errors
from specdeploy.api.spec import Drafter, Spec
from specdeploy.cli import reading
from specdeploy.cli.reading import Contents, Located, Read
from specdeploy.engine.catalogue.entries import Target
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.image import image_of, vllm_version
from specdeploy.engine.rules import RULES
from specdeploy.engine.rules.advice import UNLISTED
from specdeploy.engine.setting import Setting, setting_of
from specdeploy.engine.versions import NEWEST, Version


@dataclass(frozen=True)
class Checked:
    """What the rules found on one spec. `version`: whose rules; `told_by`: what says so."""

    spec: Spec
    on_spec: tuple[Finding, ...]
    on_drafters: dict[str, tuple[Finding, ...]]
    version: Version
    told_by: str

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them, those on the whole first."""
        return (*self.on_spec, *(each for found in self.on_drafters.values() for each in found))

    def invalid(self) -> tuple[str, ...]:
        """Names of the drafters that can't run."""
        return tuple(name for name, found in self.on_drafters.items() if errors(found))


@dataclass
class Report:
    """All that was found in all files."""

    files: int = 0
    objects: int = 0
    others: int = 0
    found: list[Located] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)
    unchecked: int = 0

    def add(self, contents: Contents, located: Iterable[Located], checked: Sequence[Checked]) -> None:
        """A file, what was found in it, and whose rules its specs were checked by, of those that could be."""
        self.files += 1
        self.objects += len(contents.objects)
        self.others += contents.others
        self.unchecked += len(contents.objects) - len(checked)
        self.found += sorted(located, key=lambda each: (each.line, each.column, each.finding.code))
        for each in checked:
            words = f"{each.version} ({each.told_by})"
            self.versions[words] = self.versions.get(words, 0) + 1

    def from_severity(self, least: Severity) -> list[Located]:
        """Findings that are at least as bad as `least`."""
        worst_first = list(Severity)
        wanted = worst_first[: worst_first.index(least) + 1]
        return [each for each in self.found if each.finding.severity in wanted]

    def count(self, severity: Severity) -> int:
        """How many findings are of this severity."""
        return sum(each.finding.severity is severity for each in self.found)


def check(read: Read, spec: Spec, *, asked: Version | None = None, extra: tuple[Target, ...] = ()) -> Checked:
    """Ask every rule about the `spec` of what was read. `asked`: vLLM's version where the spec does not tell;
    `extra`: beside the catalogue. Of a spec that is not exact only what is said of its drafters is told."""
    version, told_by = _version(spec, asked)
    setting = setting_of(spec, version=version, extra=extra)
    whole = _with_all_listed(on_spec(setting), read, setting) if read.exact else ()
    return Checked(spec, whole, on_drafters(setting), version or NEWEST, told_by)


class Checks:
    """`check` with what is the same for all specs. Of equal specs, which `reading` gives as one, it is asked
    once."""

    def __init__(self, asked: Version | None, extra: tuple[Target, ...]) -> None:
        self._asked, self._extra = asked, extra
        self._known: dict[int, Checked] = {}

    def of(self, read: Read, spec: Spec) -> Checked:
        """What the rules find on it."""
        known = self._known.get(id(spec))
        if known is None:
            known = self._known[id(spec)] = check(read, spec, asked=self._asked, extra=self._extra)
        return known


def _with_all_listed(found: tuple[Finding, ...], read: Read, setting: Setting) -> tuple[Finding, ...]:
    """The findings on a spec without the advice to list what is listed and can't be read."""
    stand_ins = (
        _stand_ins(read.left_out)
        if read.left_out and any(each.code == UNLISTED.code for each in found)
        else []
    )
    if not stand_ins:
        return found
    spec = setting.spec.model_copy(update={"drafters": [*(setting.spec.drafters or []), *stand_ins]})
    advice = [each for each in on_spec(replace(setting, spec=spec)) if each.code == UNLISTED.code]
    return (*(each for each in found if each.code != UNLISTED.code), *advice)


def _stand_ins(left_out: Iterable[object]) -> list[Drafter]:
    """Drafters that can't be read, as far as they tell what is listed: method and checkpoint."""
    raw = [each for each in left_out if isinstance(each, dict)]
    named = [{key: each[key] for key in ("method", "model") if key in each} for each in raw]
    known = [{**each, "name": f"d{i}", "numSpeculativeTokens": 1} for i, each in enumerate(named)]
    read = read_spec({"model": "m", "drafters": known})
    return list(read.spec.drafters or []) if read.spec else []


def _version(spec: Spec, asked: Version | None) -> tuple[Version | None, str]:
    """vLLM's version and what tells it: the spec goes before what was asked for, that before a default."""
    told = vllm_version(spec, image_of(spec))
    if spec.engine.vllm_version:
        return told, "spec.engine.vllmVersion"
    if spec.engine.image and told:
        return told, "spec.engine.image"
    if asked:
        return asked, "--vllm-version"
    return (told, "default image") if told else (None, "nothing tells: the newest rules")


def located(contents: Contents, checked: Iterable[tuple[Read, Iterable[Finding]]]) -> list[Located]:
    """Everything that was found in a file, in how its objects are written and in what they mean."""
    written = [each for read in contents.objects for each in read.found]
    meant = [read.locate_in_spec(finding) for read, findings in checked for finding in findings]
    return [*contents.broken, *written, *meant]


def rules_by_code(further: Iterable[Rule] = ()) -> dict[str, Rule]:
    """Every rule that a finding may be by."""
    return {rule.code: rule for rule in (*reading.RULES, *RULES, *further)}
