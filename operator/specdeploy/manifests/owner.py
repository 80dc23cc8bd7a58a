"""The SpecDeployment that children belong to."""

from dataclasses import dataclass
from typing import Any

from specdeploy.api.names import API_VERSION, KIND


@dataclass(frozen=True)
class Owner:
    """Identity of a SpecDeployment."""

    name: str
    namespace: str
    uid: str

    def reference(self) -> dict[str, Any]:
        """The controller reference of a child. It does not block the owner's deletion."""
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": False,
        }

    def child(self, name: str, labels: dict[str, str]) -> dict[str, Any]:
        """Metadata of a child. The owner's own labels and annotations are never copied."""
        return {
            "name": name,
            "namespace": self.namespace,
            "labels": labels,
            "ownerReferences": [self.reference()],
        }
