"""Real API servers for the tests in this folder, each brought up once a run."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.kube import Kubectl, dev_cluster, fresh_namespace, install_crd

PORT_BASE = 17100


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All that is in this folder needs a cluster."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def apiserver() -> Iterator[Kubectl]:
    """An API server with the CRD of this checkout, and no node: for what is decided at admission."""
    state = Path(tempfile.gettempdir()) / "specdeploy-test-apiserver"
    with dev_cluster(state, "--control-plane-only", f"--port-base={PORT_BASE}") as kubectl:
        install_crd(kubectl)
        yield fresh_namespace(kubectl)
