"""status + observation + time -> next status, desired pods per template, Events, next check. Pure.

`advance` decides and gives the status to store; `plan` turns the *stored* status into desired
children, so that a kill at any point resumes to the same end.
"""

from specdeploy.rollout.advance import advance
from specdeploy.rollout.decision import Event, Step
from specdeploy.rollout.observation import Deployment, Exit, Observation, Pod, Unmade
from specdeploy.rollout.plan import Plan, plan

__all__ = ["Deployment", "Event", "Exit", "Observation", "Plan", "Pod", "Step", "Unmade", "advance", "plan"]
