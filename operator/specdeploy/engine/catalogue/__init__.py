"""The catalogue: targets and their known drafters. Plain data files in `data/`; `entries` gives their shape,
`load` reads them.

`rules` looks up what a spec names, `memory` takes parameters from it, `specdeploy catalog` prints it.
"""

from .entries import Checkpoint, Measured, Target, Tokens

__all__ = ["Checkpoint", "Measured", "Target", "Tokens"]
