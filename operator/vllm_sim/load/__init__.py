"""A bounded load generator for any OpenAI-compatible server: simulated or real.

    __main__ (options, signals) -> driver (when to send) -> client (one streamed request) -> report (what
    came of it)

Every request opens a TCP connection of its own unless told otherwise: so a Service spreads them over all
pods.
"""
