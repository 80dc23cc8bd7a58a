"""Desired objects as plain dicts, one module per kind and concern. Pure.

Last pure step of a pass: the reconciler builds these from the stored status and applies them. They are right
for specs in which `engine.checks.check_spec` finds nothing.
"""
