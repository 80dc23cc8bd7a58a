"""Rules on methods and their checkpoints."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.speculative import Engine, check_drafter


def _check_drafter(candidate: Candidate) -> Iterator[Finding]:
    setting = candidate.setting
    engine = Engine(
        image=setting.image,
        version=setting.version,
        tensor_parallel=setting.parallel.tensor,
        pipeline_parallel=setting.parallel.pipeline,
        data_parallel=setting.parallel.data,
        eager=setting.flag("--enforce-eager") is not None,
    )
    yield from check_drafter(candidate.index, candidate.drafter, setting.spec, engine)


def _check_twin(candidate: Candidate) -> Iterator[Finding]:
    if candidate.same_as is not None:
        yield Finding(candidate.path, f"same as {candidate.same_as}", "remove one of the two")


RULES: tuple[Rule, ...] = ()
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_drafter, _check_twin)
