"""Made-up model folders for the engine's parser: `<org>/<name>/config.json` for each model of the catalogue.

The parser reads a model's configuration and never its weights, so a few dozen lines (`architectures.yaml`)
stand for models of hundreds of gigabytes. Which architecture a model has is decided here by family, method
and name.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from specdeploy.engine.catalogue import Checkpoint, Target

ARCHITECTURES: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("architectures.yaml").read_text()
)

# Beginning of "<family> <model>", to its architecture; the first that fits, `{moe}` for a model with active
# parameters in its name (-A3B).
TARGETS: tuple[tuple[str, str], ...] = (
    ("deepseek-v3 deepseek-ai/DeepSeek-V3.2", "deepseek-v3.2"),
    ("deepseek-v3", "deepseek-v3"),
    ("deepseek-v4", "deepseek-v4"),
    ("gemma4 google/gemma-4-12B", "gemma4-unified"),
    ("gemma4", "gemma4"),
    ("glm zai-org/GLM-4.7-Flash", "glm4-moe-lite"),
    ("glm zai-org/GLM-4", "glm4-moe"),
    ("glm zai-org/GLM-5.3", "glm5-next"),
    ("glm", "glm5"),
    ("gpt-oss", "gpt-oss"),
    ("kimi-k2", "kimi-k2.5"),
    ("kimi-k3", "kimi-k3"),
    ("llama3", "llama3"),
    ("llama4", "llama4"),
    ("minimax-m3", "minimax-m3"),
    ("minimax-m2", "minimax-m2"),
    ("mistral mistralai/Mistral-Small-4", "mistral-small-4"),
    ("mistral", "mistral-medium"),
    ("nemotron3", "nemotron-h"),
    ("laguna", "laguna"),
    ("muse-glimmer", "muse-glimmer"),
    ("hy3", "hy3"),
    ("inkling", "inkling"),
    ("mimo", "mimo-v2"),
    ("step", "step3.5"),
    ("ernie", "ernie4.5"),
    ("qwen3-vl", "qwen3-vl-moe"),
    ("qwen3-next", "qwen3-next"),
    ("qwen3.", "qwen3.5{moe}"),
    ("qwen3", "qwen3{moe}"),
)
# Part of "<method> <checkpoint>", to its architecture; the first that is found.
DRAFTS: tuple[tuple[str, str], ...] = (
    ("mtp google/gemma-4-12B", "gemma4-unified-assistant"),
    ("mtp google/gemma-4", "gemma4-assistant"),
    ("-speculator.eagle3", "eagle3-speculators"),
    (".peagle", "peagle-speculators"),
    (".dflash", "dflash-speculators"),
    ("dspark RedHatAI/", "dspark-speculators"),
    ("-mla", "eagle3-mla"),
    ("eagle3 ", "eagle3"),
    ("eagle ", "eagle-mistral"),
    ("-DFlash2", "dflash2"),
    ("dflash poolside/", "dflash-laguna"),
    ("dflash meta-models/", "dflash-muse-glimmer"),
    ("dflash ", "dflash"),
    ("dspark_gemma4", "dspark-gemma4"),
    ("dspark Inferact/Kimi-K3", "dspark-kimi-k3"),
    ("dspark ", "dspark"),
)


def of_target(target: Target) -> str:
    """Its key in ARCHITECTURES."""
    key = f"{target.family} {target.model}"
    found = next(name for beginning, name in TARGETS if key.startswith(beginning))
    return found.format(moe="-moe" if re.search(r"-A\d+B", target.model) else "")


def of_draft(checkpoint: Checkpoint) -> str:
    """Its key in ARCHITECTURES; the checkpoint has a name."""
    key = f"{checkpoint.method} {checkpoint.model}"
    return next(name for part, name in DRAFTS if part in key)


def write_models(folder: Path, catalogue: tuple[Target, ...], tiny: Path) -> None:
    """Every model that the catalogue names, and those of the folder `tiny` as `tiny/<name>`."""
    for model, architecture in (*_named(catalogue), ("tiny/eagle-head", "tiny-eagle")):
        path = folder / model / "config.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(ARCHITECTURES[architecture]))
    for model in filter(Path.is_dir, tiny.iterdir()):
        (folder / "tiny" / model.name).symlink_to(model)


def _named(catalogue: tuple[Target, ...]) -> Iterator[tuple[str, str]]:
    for target in catalogue:
        yield target.model, of_target(target)
        yield from ((each.model, of_draft(each)) for each in target.drafters if each.model)
