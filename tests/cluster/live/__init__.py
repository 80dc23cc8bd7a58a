"""Whole rollouts on the development cluster. A package, so that what its tests share ends with it."""
