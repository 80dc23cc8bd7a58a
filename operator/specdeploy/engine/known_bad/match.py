"""Which rows of known-bad combinations a spec or a drafter meets."""

from fnmatch import fnmatchcase

from specdeploy.engine.aiter import is_on
from specdeploy.engine.backends import backend_of_drafter, backend_of_target, is_configured
from specdeploy.engine.setting import Candidate, Setting

from . import backends, features, targets
from .row import DEFAULT, KnownBad

KNOWN_BAD: tuple[KnownBad, ...] = (*backends.ROWS, *targets.ROWS, *features.ROWS)


def of_spec(setting: Setting) -> tuple[KnownBad, ...]:
    """Rows that concern the whole spec: they hold without speculation."""
    return tuple(row for row in KNOWN_BAD if row.baseline and _on_engine(row, setting))


def of_drafter(candidate: Candidate) -> tuple[KnownBad, ...]:
    """Rows that concern one drafter."""
    return tuple(row for row in KNOWN_BAD if not row.baseline and _on_drafter(row, candidate))


def _on_drafter(row: KnownBad, candidate: Candidate) -> bool:
    drafter, own = candidate.drafter, backend_of_drafter(candidate)
    return (
        (not row.methods or drafter.method in row.methods)
        and row.tokens[0] <= drafter.num_speculative_tokens <= row.tokens[1]
        and (not row.draft or (own is not None and own.named in row.draft))
        and all(candidate.options.get(key) for key in row.options)
        and _on_engine(row, candidate.setting)
    )


def _on_engine(row: KnownBad, setting: Setting) -> bool:
    return (
        row.span.holds(setting.version)
        and (not row.targets or _is_one_of(setting.spec.model, row.targets))
        and (not row.architectures or _architecture(setting) in row.architectures)
        and (not row.target or _backend(setting) in row.target)
        and _meets_environment(row, setting)
        and all(_has(setting, flag, part) for flag, part in row.flags)
        and not any(setting.flag(flag) for flag in row.without)
        and (not row.replicated or setting.parallel.data > 1)
        and row.image in setting.image
    )


def _meets_environment(row: KnownBad, setting: Setting) -> bool:
    return (
        all(is_on(setting, switch) for switch in row.switches)
        and all(is_on(setting, switch) is False for switch in row.off)
        and all((setting.variable(name) or "").lower() in ("1", "true") for name in row.variables)
        and all(setting.variable(name) is None for name in row.unless)
    )


def _is_one_of(model: str, patterns: tuple[str, ...]) -> bool:
    last = model.rstrip("/").rpartition("/")[2].lower()
    return any(fnmatchcase(last, pattern) for pattern in patterns)


def _architecture(setting: Setting) -> str | None:
    return setting.gpu.architecture if setting.gpu else None


def _backend(setting: Setting) -> str | None:
    """The target's backend as rows name it."""
    choice = backend_of_target(setting)
    if choice.named or is_configured(setting):
        return choice.named
    return DEFAULT if choice.own in ("ROCM_ATTN", None) else choice.own


def _has(setting: Setting, flag: str, part: str) -> bool:
    found = setting.flag(flag)
    return found is not None and part.lower() in (found.value or "").lower()
