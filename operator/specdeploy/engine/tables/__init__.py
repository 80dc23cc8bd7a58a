"""What each release of vLLM has, as data: flags, their values, keys and bounds, variables, metrics, defaults.

A module for each concern; the newest release is a change here and one run of the tests against its parser.
"""
