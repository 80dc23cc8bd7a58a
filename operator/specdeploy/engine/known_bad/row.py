"""The shape of a row of known-bad combinations."""

from dataclasses import dataclass
from enum import StrEnum

from specdeploy.engine.versions import ALWAYS, Span

# In `KnownBad.target`: no backend is named, and vLLM takes ROCM_ATTN, or its choice can't be told.
DEFAULT = "default"


class Effect(StrEnum):
    """What happens."""

    CRASH = "crash"
    WRONG_OUTPUT = "wrong output"
    SLOWER = "slower"
    SHORTER = "shorter context"


@dataclass(frozen=True)
class KnownBad:
    """One combination. A condition that is empty holds always; all of them have to hold.

    Attributes:
        name: a few words in kebab-case.
        what: what happens, as a clause.
        fix: what to do, as a clause.
        source: who reported it.
        effect: its kind.
        measured: somebody measured it on this very combination, or vLLM's source refuses it there, so that it
            is an error and no warning.
        span: releases in which it happens.
        baseline: it happens without speculation too, so that it concerns the whole spec.
        architectures: of the GPU; one that is not named in the spec is none of them.
        targets: patterns (`glm-5.1*`) of the last part of spec.model, lower case.
        methods: of the drafter.
        tokens: least and most drafted tokens.
        attention: of the target, as the catalogue calls it.
        heads: of attention on each GPU, as far as the catalogue knows those of the target.
        target, draft: backends that run, named or by vLLM's choice; for a target also `DEFAULT`.
        options: keys of the speculative config that are set.
        switches, off: switches of AITER that are on, and that are off.
        variables, unless: variables in spec.engine.env that are 1 or true, and that are not there at all.
        flags: (flag, part of its value) in spec.engine.args; `=fp8` is the whole value.
        without: flags that are not there.
        whole_graphs: graphs of whole steps are captured.
        chunk: tokens that one step may hold at least, given or by default.
        replicated: the engine runs with data parallelism.
        rocm: major and minor version of the image's, as far as its tag tells.
    """

    name: str
    what: str
    fix: str
    source: str
    effect: Effect
    measured: bool = False
    span: Span = ALWAYS
    baseline: bool = False
    architectures: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    tokens: tuple[int, int] = (1, 64)
    attention: tuple[str, ...] = ()
    heads: frozenset[int] = frozenset()
    target: tuple[str, ...] = ()
    draft: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    flags: tuple[tuple[str, str], ...] = ()
    without: tuple[str, ...] = ()
    whole_graphs: bool = False
    chunk: int = 0
    replicated: bool = False
    rocm: tuple[int, int] | None = None
