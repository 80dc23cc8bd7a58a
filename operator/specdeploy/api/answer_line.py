"""How an answer to a fixed question stands in a log: the startup probe writes it, `judge` reads it."""

MARKER = "specdeploy-answer "
# In bytes: what one write to a pipe keeps together. A longer line would be mixed with the engine's own.
LONGEST_LINE = 4096
# In characters: of each token, as much as tells it from another and shows a person what was written.
LONGEST_PIECE = 16
