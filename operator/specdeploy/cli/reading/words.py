"""What is said of a value that the API server would refuse: the rule, and words that know what was meant."""

from specdeploy.api.admission import Refusal, Refused
from specdeploy.api.rule import Finding, Rule
from specdeploy.engine.methods import METHODS, NOT_TAKEN

from .nodes import Node
from .paths import DRAFTERS, Path, dotted
from .problems import FILLED_IN
from .rules import ADMISSION, MISSING_FIELD, OBJECT_NAME, QUOTED, TWICE, UNKNOWN_FIELD, VALUE
from .values import value_at

_RULES: dict[Refused, Rule] = {
    Refused.VALUE: VALUE,
    Refused.QUOTED: QUOTED,
    Refused.UNQUOTED: QUOTED,
    Refused.UNKNOWN: UNKNOWN_FIELD,
    Refused.MISSING: MISSING_FIELD,
    Refused.TWICE: TWICE,
    Refused.RULE: ADMISSION,
}
_POD = ("spec", "engine", "podTemplate")
# Fields of core/v1 PodSecurityContext. supplementalGroups is how a pod gets at /dev/kfd and /dev/dri where
# they belong to the groups video and render.
_OF_SECURITY_CONTEXT = (
    "appArmorProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "sysctls",
)


def finding_of(root: Node, refusal: Refusal) -> Finding:
    """The finding of a refusal in the object that `root` is."""
    rule, reason, fix = _RULES[refusal.why], refusal.reason, refusal.fix
    if refusal.path[0] == "metadata" and refusal.why is Refused.RULE:
        rule = OBJECT_NAME
    node = value_at(root, refusal.path)
    if refusal.why is Refused.UNQUOTED and node is not None:
        fix = f'write "{node.text[:64]}", in quotes'
    if refusal.why is Refused.VALUE and node is not None and _is_method(refusal.path):
        reason, fix = _of_method(node.text, reason, fix)
    if refusal.why is Refused.UNKNOWN and _is_of_security_context(refusal.path):
        fix = "put it in podTemplate.securityContext"
    if node is not None and "{{" in node.text:
        fix = FILLED_IN
    return rule.at(dotted(refusal.path), reason, fix)


def _is_method(path: Path) -> bool:
    """Whether it is spec.drafters[2].method."""
    return path[:2] == DRAFTERS and path[3:] == ("method",)


def _is_of_security_context(path: Path) -> bool:
    """Whether it stands in podTemplate itself and belongs one level deeper."""
    return path[:-1] == _POD and path[-1] in _OF_SECURITY_CONTEXT


def _of_method(name: str, reason: str, fix: str) -> tuple[str, str]:
    """Reason and fix for a name by which vLLM or others know a method that is asked for otherwise here; for
    all others those that are given."""
    row = NOT_TAKEN.get(name)
    if row is not None:
        return f"{row.name} is not taken: {row.why}", row.instead
    variant = _variants().get(_plain(name))
    return (reason, fix) if variant is None else (reason, f"{variant[0]} is {variant[1]}")


def _variants() -> dict[str, tuple[str, str]]:
    """Other names of the methods, without capitals and signs, with their spelling and how to ask for them."""
    found: dict[str, tuple[str, str]] = {}
    for method in METHODS.values():
        for names, _, how in (variant.partition(": ") for variant in method.variants):
            found |= {_plain(name): (name, how) for name in names.split(", ")}
    return found


def _plain(name: str) -> str:
    return "".join(c for c in name[:64].lower() if c.isalnum())
