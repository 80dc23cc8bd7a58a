"""A whole rollout in virtual time: the operator's own rollout and judge over simulated engines."""
