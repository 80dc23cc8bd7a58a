"""No pod is taken for a Deployment that can't be made, and `replicas` is followed without it."""

from dataclasses import replace

import pytest

from specdeploy.api.status import Rollback, Status, instant
from specdeploy.rollout import Unmade
from specdeploy.rollout.reach import within_reach
from specdeploy.rollout.scene import scene
from tests.rollout.test_plan import START, Arm, observation, template

Counts = dict[str, int]
NAMES = ("baseline", "dflash", "eagle")


def reach(running: Counts, wanted: Counts, barred: str, *, how: str = "unmade", back: str = "") -> Counts:
    seen = observation(sum(wanted.values()), {name: Arm(n, ready=n) for name, n in running.items()})
    hashes = {name: template(name).hash for name in NAMES}
    if how == "refused":
        seen = replace(seen, refused={hashes[barred]: "no"})
    else:
        seen = replace(seen, unmade={hashes[barred]: Unmade(START, "no")})
    status = Status()
    if back:
        leaving = Rollback(drafter=back, template=hashes[back], pods=1, start_time=instant(START))
        status = Status(rollback=leaving)
    found = within_reach(scene(seen, status), status, {hashes[name]: n for name, n in wanted.items()})
    return {name: found[h] for name, h in hashes.items() if h in found}


@pytest.mark.parametrize("how", ["unmade", "refused"])
@pytest.mark.parametrize(
    ("running", "wanted", "barred", "expected"),
    [
        # nothing is barred that is wanted, or it is there already
        ({"baseline": 4}, {"baseline": 4}, "eagle", {"baseline": 4}),
        ({"baseline": 3, "dflash": 1}, {"baseline": 3, "dflash": 1}, "dflash", {"baseline": 3, "dflash": 1}),
        # a trial that can't start borrows nothing
        ({"baseline": 4}, {"baseline": 3, "dflash": 1}, "dflash", {"baseline": 4}),
        # and gives back a pod that is missing for it
        ({"baseline": 3}, {"baseline": 3, "dflash": 1}, "dflash", {"baseline": 4}),
        # what would take over all leaves all where it is, also the only pod
        ({"dflash": 4}, {"baseline": 4}, "baseline", {"dflash": 4}),
        ({"dflash": 1}, {"baseline": 1}, "baseline", {"dflash": 1}),
        # replicas are followed
        ({"dflash": 4}, {"baseline": 8}, "baseline", {"dflash": 8}),
        ({"dflash": 4}, {"baseline": 2}, "baseline", {"dflash": 2}),
        # nothing runs yet
        ({}, {"baseline": 4}, "baseline", {}),
    ],
)
def test_the_share_of_what_can_not_be_made_stays_with_what_runs(
    how: str, running: Counts, wanted: Counts, barred: str, expected: Counts
) -> None:
    assert reach(running, wanted, barred, how=how) == expected


def test_what_is_on_its_way_back_stays_only_where_nothing_can_come_for_it() -> None:
    running = {"dflash": 3, "eagle": 1}
    assert reach(running, {"baseline": 3, "eagle": 1}, "baseline", back="dflash") == {"dflash": 3, "eagle": 1}
    assert reach({"eagle": 1, "dflash": 1}, {"baseline": 4}, "baseline", back="dflash")["eagle"] == 3
