"""Names of the children of a SpecDeployment."""

from specdeploy.engine.revision import Template

# A DNS label. Pods get the name with a suffix, cut by Kubernetes where it is too long.
LONGEST = 63


def deployment_name(owner_name: str, template: Template) -> str:
    """`<owner>-<drafter or baseline>-<template hash>`, cut in the middle to 63 characters.

    The hash covers owner and drafter, so cut names differ too.
    """
    room = LONGEST - len(template.hash) - 1
    head = f"{owner_name}-{template.drafter}"[:room].rstrip("-")
    return f"{head}-{template.hash}"


def service_name(owner_name: str) -> str:
    """The one endpoint has the name of the SpecDeployment."""
    return owner_name


def budget_name(owner_name: str) -> str:
    """The PodDisruptionBudget over all arms."""
    return owner_name
