"""How many replicas a trial needs. `rules.spec` and the rollout ask here."""


def replicas_for_trial(beside: int, trial: int) -> int:
    """The fewest replicas with which a trial of `trial` pods can borrow them: one at least goes on serving.

    `beside`: pods of a baseline that does not serve; 0 where it serves, which is one arm.
    """
    return 1 + beside + trial
