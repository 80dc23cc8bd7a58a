"""What the rules say of the SpecDeployments that were read. Second step of `lint` and `render`; pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from specdeploy.api.rule import Finding, Rule, Severity, errors
from specdeploy.api.spec import Spec
from specdeploy.cli import reading
from specdeploy.cli.reading import Contents, Located, Read
from specdeploy.engine.catalogue.entries import Target
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.image import image_of, vllm_version
from specdeploy.engine.rules import RULES
from specdeploy.engine.setting import setting_of
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

    def add(self, contents: Contents, located: Iterable[Located], checked: Iterable[Checked]) -> None:
        """A file, what was found in it, and whose rules its specs were checked by."""
        self.files += 1
        self.objects += len(contents.objects)
        self.others += contents.others
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


def check(spec: Spec, *, asked: Version | None = None, extra: tuple[Target, ...] = ()) -> Checked:
    """Ask every rule. `asked`: vLLM's version where the spec does not tell; `extra`: beside the catalogue."""
    version, told_by = _version(spec, asked)
    setting = setting_of(spec, version=version, extra=extra)
    return Checked(spec, on_spec(setting), on_drafters(setting), version or NEWEST, told_by)


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
