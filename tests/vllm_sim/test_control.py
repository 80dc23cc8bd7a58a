"""`vllm set`: knobs of a running server, changed from inside its container."""

import asyncio
import json

import pytest

from vllm_sim.serve import command


@pytest.mark.parametrize(
    ("pairs", "code", "q1"),
    [(["q1=0.2", "q=0.1"], 0, 0.2), ([], 0, 0.8), (["q1=7"], 1, 0.8), (["speed=1"], 1, 0.8)],
    ids=["changed", "shown", "out of range", "unknown"],
)
async def test_set_changes_or_shows_the_knobs_in_force(simulate, capsys, pairs, code, q1):
    async with simulate() as sim:
        assert await asyncio.to_thread(command, ["set", "--url", sim.url, *pairs]) == code
        assert json.loads((await sim.get("/sim/knobs"))[1])["q1"] == q1
    printed = capsys.readouterr()
    assert json.loads(printed.err if code else printed.out)


def test_set_without_a_server_says_so(capsys):
    assert command(["set", "--url", "http://127.0.0.1:1", "q1=0.2"]) == 1
    assert "http://127.0.0.1:1" in capsys.readouterr().err


def test_what_is_no_pair_is_refused(capsys):
    with pytest.raises(SystemExit) as caught:
        command(["set", "q1"])
    assert caught.value.code == 2
    assert "'q1' is not of the form name=value" in capsys.readouterr().err
