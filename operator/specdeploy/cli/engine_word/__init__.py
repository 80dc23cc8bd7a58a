"""The engine's own word: an installed vLLM is asked about each arm of a spec, and compared with the rules.

`lint --engine` uses `findings_of` inside `with EngineWord(...)`.
"""

from .asking import Answer, EngineWord, EngineWordError
from .rules import RULES
from .verdict import findings_of

__all__ = ["RULES", "Answer", "EngineWord", "EngineWordError", "findings_of"]
