"""SpecDeploy: serves vLLM with the drafter that has proven itself on your own live traffic."""

__version__ = "0.1.0"
