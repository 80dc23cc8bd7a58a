"""What was measured of a drafter, chosen and put in words for findings and for `specdeploy catalog`."""

from .entries import Checkpoint, Measured

# Of a workload or hardware that a source does not name.
NOT_STATED = "not stated"
_INSTINCT = "MI"

_METHODS = {"mtp": "MTP", "eagle": "EAGLE", "eagle3": "EAGLE-3", "dflash": "DFlash", "dspark": "DSpark"}


def called(method: str) -> str:
    """A method by its proper name: `EAGLE-3`."""
    return _METHODS.get(method, method)


def best_measured(known: Checkpoint, gpu: str | None = None) -> Measured | None:
    """The highest published ratio: on this kind of GPU, else on an AMD Instinct, else on any."""
    here = [each for each in known.measured if each.hardware == gpu]
    instinct = [each for each in known.measured if each.hardware.startswith(_INSTINCT)]
    return max(here or instinct or known.measured, key=lambda each: each.ratio, default=None)


def best_ratio(known: Checkpoint, gpu: str | None = None) -> float:
    """Its ratio; 0 where nothing was measured on an AMD Instinct: other hardware gives no order here."""
    best = best_measured(known, gpu)
    return best.ratio if best and best.hardware.startswith(_INSTINCT) else 0.0


def in_words(measured: Measured) -> str:
    """`2.87x on MATH500 with 7 tokens (MI300X)`."""
    tokens = "1 token" if measured.tokens == 1 else f"{measured.tokens} tokens"
    workload = "" if measured.workload == NOT_STATED else f" on {measured.workload}"
    return f"{measured.ratio:.2f}x{workload} with {tokens} ({measured.hardware})"
