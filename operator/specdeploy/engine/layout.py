"""Where things are in the engine's container. Shared by `environment`, `pod_template` and the manifests.

vLLM guesses a drafter's method from substrings of its path (eagle3, eagle-, dflash, dspark), so no path of
ours may contain one.
"""

ROOT = "/var/lib/engine"
WEIGHTS_PATH = f"{ROOT}/weights"
CACHE_PATH = f"{ROOT}/compiled"
HOME_PATH = f"{ROOT}/home"
SHM_PATH = "/dev/shm"  # noqa: S108  where POSIX shared memory lives, not a temporary file

WEIGHTS_VOLUME = "weights"
CACHE_VOLUME = "compile-cache"
HOME_VOLUME = "home"
SHM_VOLUME = "shm"

OUR_PATHS = (ROOT, SHM_PATH)
OUR_VOLUMES = (WEIGHTS_VOLUME, CACHE_VOLUME, HOME_VOLUME, SHM_VOLUME)


def is_path(model: str) -> bool:
    """Whether a model is named by a folder in the container, and not as <org>/<name> on the hub."""
    return model.startswith(("/", "./", "../"))


# vLLM's runai_streamer reads models from these.
_OBJECT_STORES = ("s3://", "gs://", "az://")


def is_address(model: str) -> bool:
    """Whether a model is named by an address that vLLM reads nothing from: it knows object stores alone."""
    return "://" in model and not model.lower().startswith(_OBJECT_STORES)


def is_on_hub(model: str) -> bool:
    """Whether a model is named as <org>/<name> on the hub."""
    return not is_path(model) and "://" not in model
