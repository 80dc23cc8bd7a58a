"""How an answer to a fixed question stands in an engine's log: written by the startup probe, read by `judge`."""

MARKER = "specdeploy-answer "
# In bytes: what one write to a pipe keeps together. A longer line would be mixed with the engine's own.
LONGEST_LINE = 4096
# In characters: of each token, as much as tells it from another and shows a person what was written.
LONGEST_PIECE = 16
