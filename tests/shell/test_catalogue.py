"""The operator's own entries of the catalogue: what `lint --catalog` goes by, the operator goes by."""

from specdeploy.engine.catalogue import Target
from specdeploy.engine.catalogue.load import Own
from tests.shell.stage import Stage, spec

UNEVEN = Target("org/target", "org", "we", attention="gqa", heads=9, kv_heads=9, experts=0)


async def ready(catalogue: Own) -> tuple[str, str]:
    stage = Stage(spec("dflash", accelerator={"count": 4}), catalogue=catalogue)
    await stage.step()
    status, reason, _ = stage.condition("Ready")
    return status, reason


async def test_a_target_that_only_they_know_is_checked_by_them() -> None:
    assert (await ready(Own()))[1] != "InvalidSpec"
    assert await ready(Own((UNEVEN,))) == ("False", "InvalidSpec")
