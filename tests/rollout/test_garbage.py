"""Whatever the object holds, a pass never raises, and what it stores can be read back and fits."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdeploy.api.findings import read_status
from specdeploy.rollout import plan
from specdeploy.rollout.size import LARGEST, size
from tests.rollout.scenes import DFLASH, EAGLE, MTP, on_trial, served
from tests.rollout.world import World

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40)
    | st.sampled_from(["baseline", "eagle", "Measuring", "2027-01-15T08:00:00Z", "1.000", "9" * 12 + ".000"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path in a JSON value."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


def put(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of the JSON value with something else at a path."""
    if not path:
        return value
    copy = deepcopy(node)
    parent = copy
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return copy


@pytest.mark.parametrize("part", ["spec", "status"])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_pass_over_garbage_stores_a_status_that_can_be_read(part: str, data: st.DataObject) -> None:
    world = data.draw(
        st.sampled_from([served, lambda: on_trial("Measuring"), lambda: on_trial("Promoting")])
    )()
    world.change(drafters=[EAGLE, DFLASH, MTP], engine={"args": ["--max-num-seqs=8"]})
    world.run(20)
    whole = world.spec if part == "spec" else world.status
    path = data.draw(st.sampled_from(places(whole)))
    broken = put(whole, path, data.draw(ANYTHING))
    if part == "spec":
        world.spec = broken
    else:
        world.status = broken
    two_passes(world)


def two_passes(world: World) -> None:
    for _ in range(2):
        seen, step = world.decide()
        todo = plan(seen, world.typed)
        assert all(n >= 0 for _, n in (*todo.scale, *todo.create))
        again, lost = read_status(world.status)
        assert lost == ()
        assert again == step.status
        assert size(again) < LARGEST
        world.follow()
