"""The resources in examples/, for the tests that read them and for those that give them to an API server."""

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "examples"
FILES = sorted(FOLDER.glob("*.yaml"))

# "file: name of the object" -> the object
EXAMPLES: dict[str, dict[str, Any]] = {
    f"{file.name}: {body['metadata']['name']}": body
    for file in FILES
    for body in yaml.safe_load_all(file.read_text())
}
