"""Which rows of known-bad combinations a spec or a drafter meets."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from specdeploy.engine.aiter import is_on
from specdeploy.engine.backends import backend_of_drafter, is_configured, last_part, running_backend
from specdeploy.engine.graphs import captures_whole_steps
from specdeploy.engine.image import parse_image
from specdeploy.engine.serving import batched_tokens
from specdeploy.engine.setting import Candidate, Setting

from . import backends, features, formats, heads, targets
from .row import DEFAULT, KnownBad

KNOWN_BAD: tuple[KnownBad, ...] = (
    *backends.ROWS,
    *heads.ROWS,
    *formats.ROWS,
    *targets.ROWS,
    *features.ROWS,
)

ABOUT_BACKENDS = tuple(row for row in KNOWN_BAD if row.target or row.draft)


@dataclass(frozen=True)
class _Running:
    """What runs, as rows name it: the backends of the target and of the drafter."""

    target: str | None
    draft: str | None = None


def of_spec(setting: Setting, rows: tuple[KnownBad, ...] = KNOWN_BAD) -> tuple[KnownBad, ...]:
    """Those of `rows` that concern the whole spec: they hold without speculation."""
    running = _Running(_target(setting))
    return tuple(row for row in rows if row.baseline and _on_engine(row, setting, running))


def of_drafter(candidate: Candidate, rows: tuple[KnownBad, ...] = KNOWN_BAD) -> tuple[KnownBad, ...]:
    """Those of `rows` that concern one drafter."""
    own = backend_of_drafter(candidate)
    running = _Running(_target(candidate.setting), own.name if own else None)
    return tuple(row for row in rows if not row.baseline and _on_drafter(row, candidate, running))


def _on_drafter(row: KnownBad, candidate: Candidate, running: _Running) -> bool:
    drafter = candidate.drafter
    return (
        (not row.methods or drafter.method in row.methods)
        and row.tokens[0] <= drafter.num_speculative_tokens <= row.tokens[1]
        and (not row.draft or running.draft in row.draft)
        and all(candidate.options.get(key) for key in row.options)
        and _on_engine(row, candidate.setting, running)
    )


def _on_engine(row: KnownBad, setting: Setting, running: _Running) -> bool:
    return (
        row.span.holds(setting.version)
        and (not row.targets or _is_one_of(setting, row.targets))
        and (not row.attention or _attention(setting) in row.attention)
        and (not row.heads or _heads(setting) in row.heads)
        and (not row.architectures or _architecture(setting) in row.architectures)
        and (not row.target or running.target in row.target)
        and (row.rocm is None or parse_image(setting.image).rocm == row.rocm)
        and _meets_environment(row, setting)
        and _meets_arguments(row, setting)
    )


def _meets_environment(row: KnownBad, setting: Setting) -> bool:
    return (
        all(is_on(setting, switch) for switch in row.switches)
        and all(is_on(setting, switch) is False for switch in row.off)
        and all((setting.variable(name) or "").lower() in ("1", "true") for name in row.variables)
        and all(setting.variable(name) is None for name in row.unless)
    )


def _meets_arguments(row: KnownBad, setting: Setting) -> bool:
    return (
        all(_has(setting, flag, part) for flag, part in row.flags)
        and not any(setting.flag(flag) for flag in row.without)
        and (not row.replicated or setting.parallel.data > 1)
        and (not row.whole_graphs or captures_whole_steps(setting))
        and (not row.chunk or (batched_tokens(setting) or 0) >= row.chunk)
    )


def _is_one_of(setting: Setting, patterns: tuple[str, ...]) -> bool:
    last = last_part(setting.spec.model)
    return any(fnmatchcase(last, pattern) for pattern in patterns)


def _architecture(setting: Setting) -> str | None:
    return setting.gpu.architecture if setting.gpu else None


def _attention(setting: Setting) -> str | None:
    return setting.target.attention if setting.target else None


def _heads(setting: Setting) -> int | None:
    """Heads of attention on each GPU; None where they are unknown, or do not divide."""
    heads, gpus = setting.target.heads if setting.target else None, setting.parallel.tensor
    return heads // gpus if heads and heads % gpus == 0 else None


def _target(setting: Setting) -> str | None:
    """The target's backend as rows name it."""
    choice = running_backend(setting)
    if choice.named or is_configured(setting):
        return choice.named
    return DEFAULT if choice.own in ("ROCM_ATTN", None) else choice.own


def _has(setting: Setting, flag: str, part: str) -> bool:
    found = setting.flag(flag)
    value = (found.value or "").lower() if found is not None else ""
    if part.startswith("="):
        return value == part[1:]
    return found is not None and part.lower() in value
