"""Gathered once, before any rule is asked: everything that a spec means for the engine.

`checks` makes it; the rules (`rules`) look at nothing else.
"""

from dataclasses import dataclass

from specdeploy.api.engine_spec import EnvVar
from specdeploy.api.spec import Drafter, Spec

from .accelerators import GPUS, Gpu, memory_gib_of
from .arguments import PARALLEL, parallel_size
from .catalogue.entries import Checkpoint, Target
from .catalogue.load import about, with_extra
from .catalogue.variants import as_build, original_of
from .flags import Flag, read_flags
from .image import image_of, vllm_version
from .revision import revision_of
from .versions import Version

# Arguments that give the target another config than its own.
_OTHER_CONFIG = ("--hf-overrides", "--hf-config-path", "--rope-scaling")


@dataclass(frozen=True)
class Parallel:
    """Sizes in force of each kind of parallelism."""

    tensor: int
    pipeline: int
    data: int
    prefill_context: int


@dataclass(frozen=True)
class Setting:
    """What the rules on a whole spec look at.

    Attributes:
        spec: as it was written.
        image: the engine image in force.
        version: vLLM's version in it; None when nothing tells, then the newest rules apply.
        gpu: what is known of spec.accelerator.type; None when it is absent.
        flags: of spec.engine.args, in order.
        parallel: sizes in force.
        target: what the catalogue knows of the target; None when it lists neither it nor what its name says
            that it is a build of.
        taken_for: the model of the catalogue that the target is a build of by its name; None when it is in
            the catalogue itself, or unknown.
        catalogue: entries that mention a model of the spec, the target's among them.
    """

    spec: Spec
    image: str
    version: Version | None
    gpu: Gpu | None
    flags: tuple[Flag, ...]
    parallel: Parallel
    target: Target | None
    taken_for: str | None
    catalogue: tuple[Target, ...]

    @property
    def device_gib(self) -> float | None:
        """Memory of one device that a pod gets; None where the spec does not tell which it is."""
        return memory_gib_of(self.gpu, self.spec.accelerator.resource_name) if self.gpu else None

    @property
    def as_published(self) -> Target | None:
        """The target, where the config that vLLM reads is the one that the catalogue tells of: not of a build
        that is known by its name alone, nor where arguments give it another config."""
        replaced = any(self.flag(option) is not None for option in _OTHER_CONFIG)
        return None if self.taken_for or replaced else self.target

    def flag(self, option: str) -> Flag | None:
        """The last flag that means `option` (`--max-model-len`), which is the one in force."""
        return next((flag for flag in reversed(self.flags) if flag.means(option)), None)

    def place_of(self, *options: str) -> str:
        """Where the first of these flags that is given stands; all arguments where none is."""
        given = next((flag for option in options if (flag := self.flag(option))), None)
        return given.path if given else "spec.engine.args"

    def given(self, variable: str) -> EnvVar | None:
        """The variable in spec.engine.env, if it is there."""
        return next((each for each in self.spec.engine.env or [] if each.name == variable), None)

    def variable(self, name: str) -> str | None:
        """Its value, if it is there; "" where it comes from elsewhere."""
        found = self.given(name)
        return None if found is None else found.value or ""


@dataclass(frozen=True)
class Candidate:
    """What the rules on one drafter look at.

    `checkpoint`: what the catalogue knows of this drafter on this target; None when it lists none. `same_as`:
    the name of an earlier drafter that is the same revision.
    """

    setting: Setting
    index: int
    drafter: Drafter
    checkpoint: Checkpoint | None
    same_as: str | None

    @property
    def path(self) -> str:
        """Where it stands: spec.drafters[2]."""
        return f"spec.drafters[{self.index}]"

    @property
    def homes(self) -> tuple[tuple[Target, Checkpoint], ...]:
        """Every entry of its checkpoint in the catalogue, with the target that it is for."""
        name = self.drafter.model
        entries = ((target, each) for target in self.setting.catalogue for each in target.drafters)
        return tuple((target, each) for target, each in entries if name is not None and each.model == name)

    @property
    def known(self) -> Checkpoint | None:
        """What is known of it: as a drafter of this target, else of one that it was trained for."""
        return self.checkpoint or next((each for _, each in self.homes), None)

    @property
    def options(self) -> dict[str, object]:
        """Further keys of its speculative config, by the names that vLLM reads: `a-b` means `a_b`."""
        return {key.replace("-", "_"): value for key, value in (self.drafter.options or {}).items()}


def setting_of(
    spec: Spec,
    *,
    image: str | None = None,
    version: Version | None = None,
    targets: tuple[Target, ...] | None = None,
    extra: tuple[Target, ...] = (),
) -> Setting:
    """What `spec` means. `image`: the pinned one, if any. `version`: as an engine itself said, if one did;
    what the spec declares goes before it. `targets`: the catalogue; absent, the package's own. `extra`: a
    user's own entries."""
    in_force = image or image_of(spec)
    told = vllm_version(spec, in_force)
    known = about(_models(spec)) if targets is None else targets
    original = _original(spec.model, known, extra)
    catalogue = with_extra((*known, *((as_build(original, spec.model),) if original else ())), extra)
    return Setting(
        spec=spec,
        image=in_force,
        version=(told if spec.engine.vllm_version else None) or version or told,
        gpu=GPUS.get(spec.accelerator.type or ""),
        flags=read_flags(spec.engine.args or []),
        parallel=Parallel(*(parallel_size(spec, option) for option in PARALLEL)),
        target=next((target for target in catalogue if target.model == spec.model), None),
        taken_for=original.model if original and spec.model not in _names(extra) else None,
        catalogue=catalogue,
    )


def _original(model: str, known: tuple[Target, ...], extra: tuple[Target, ...]) -> Target | None:
    """What `model` is a build of, where the catalogue does not list it."""
    return None if model in _names(known) else original_of(model, (*known, *extra))


def _names(targets: tuple[Target, ...]) -> set[str]:
    return {target.model for target in targets}


def _models(spec: Spec) -> frozenset[str]:
    return frozenset({spec.model, *(each.model for each in spec.drafters or [] if each.model)})


def candidates_of(setting: Setting) -> tuple[Candidate, ...]:
    """Each drafter of the spec with what is known of it."""
    first: dict[str, str] = {}
    found = []
    for index, drafter in enumerate(setting.spec.drafters or []):
        same = first.setdefault(revision_of(setting.spec, setting.image, drafter), drafter.name)
        checkpoint = _checkpoint(setting.target, drafter)
        found.append(Candidate(setting, index, drafter, checkpoint, same if same != drafter.name else None))
    return tuple(found)


def _checkpoint(target: Target | None, drafter: Drafter) -> Checkpoint | None:
    known = target.drafters if target else ()
    named = (each for each in known if each.model == drafter.model)
    return next((each for each in named if drafter.model or each.method == drafter.method), None)
