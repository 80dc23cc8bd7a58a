"""What must hold before the operator starts."""

from typing import Any

import pytest

from specdeploy.api.names import GROUP, PLURAL, SCHEMA_VERSION, SCHEMA_VERSION_ANNOTATION, VERSION
from specdeploy.cluster import CRDS, ClusterError, Forbidden, Kind, Unavailable
from specdeploy.preflight import PreflightError, check_schema, check_served, check_version
from tests.fake_cluster import FakeCluster

CRD = f"{PLURAL}.{GROUP}"


def with_version(answer: dict[str, Any]) -> FakeCluster:
    return FakeCluster({("version", "", ""): answer})


def with_crd(annotations: dict[str, str] | None) -> FakeCluster:
    cluster = FakeCluster()
    cluster.put(CRDS, "", {"metadata": {"name": CRD, "annotations": annotations}})
    return cluster


@pytest.mark.parametrize(
    ("major", "minor"), [("1", "30"), ("1", "36"), ("1", "30+"), ("1", "33-eks-1"), ("2", "0")]
)
async def test_a_kubernetes_new_enough_is_accepted(major: str, minor: str) -> None:
    await check_version(with_version({"major": major, "minor": minor.split("-", maxsplit=1)[0]}))


@pytest.mark.parametrize("answer", [{"major": "1", "minor": "29+"}, {"major": "1", "minor": "9"}, {}])
async def test_a_kubernetes_too_old_is_refused_with_what_is_needed(answer: dict[str, Any]) -> None:
    with pytest.raises(PreflightError, match=r"too old; SpecDeploy needs 1\.30 or newer"):
        await check_version(with_version(answer))


@pytest.mark.parametrize(
    "groups", [[], [{"name": GROUP, "versions": [{"version": "v1"}]}], [{"name": "apps"}]]
)
async def test_a_crd_that_is_not_served_yet_is_not_watched_in_vain(groups: list[dict[str, Any]]) -> None:
    with pytest.raises(PreflightError, match="does not serve"):
        await check_served(FakeCluster({("apis", "", ""): {"groups": groups}}))


async def test_a_served_crd_is_watched() -> None:
    group = {"name": GROUP, "versions": [{"version": VERSION}]}
    await check_served(FakeCluster({("apis", "", ""): {"groups": [{"name": "apps"}, group]}}))


async def test_a_missing_crd_is_refused_with_the_command_that_installs_it() -> None:
    with pytest.raises(PreflightError, match=r"specdeploy crd \| kubectl apply -f -"):
        await check_schema(FakeCluster())


@pytest.mark.parametrize("version", [SCHEMA_VERSION, "99"])
async def test_a_crd_of_our_schema_or_a_newer_one_is_fine(version: str) -> None:
    assert await check_schema(with_crd({SCHEMA_VERSION_ANNOTATION: version})) is None


@pytest.mark.parametrize("annotations", [None, {}, {SCHEMA_VERSION_ANNOTATION: "0"}])
async def test_an_older_crd_is_told_and_does_not_stop_the_operator(
    annotations: dict[str, str] | None,
) -> None:
    sentence = await check_schema(with_crd(annotations))
    assert sentence is not None
    assert "schema version 0" in sentence
    assert "upgrade it" in sentence


@pytest.mark.parametrize("error", [Forbidden("no"), Unavailable("no")])
async def test_a_crd_that_cannot_be_read_is_found_out_later(error: ClusterError) -> None:
    cluster = FakeCluster()

    def fail(verb: str, kind: Kind, name: str) -> ClusterError:
        return error

    cluster.fault = fail
    assert await check_schema(cluster) is None
