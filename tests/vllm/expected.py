"""Where the rules and the real parser differ, one by one, each with its reason."""

REFUSED_THOUGH_GOOD: dict[str, str] = {}
ACCEPTED_ERRORS: dict[str, str] = {}
NEWER_MODELS: dict[str, str] = {}
