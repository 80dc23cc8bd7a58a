"""This judge beside the rules by which others decide, on the same generated streams.

streams (windows of two arms) -> rules (others), judges (this one) -> cells (what is asked of them) ->
table (shares and medians, and where this judge is ahead). `python -m benchmarks.decisions --runs 1000`.
"""
