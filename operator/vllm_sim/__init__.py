"""A stand-in for `vllm serve` that needs no GPU.

A client, a scraper and a kubelet see what the real engine would show them: the same flags and exit codes, the
same routes, the same `/metrics`. Behind them runs a model of continuous batching in real time. Flow:

    __main__ -> flags, speculative (what was asked) -> drafters, knobs (how this arm behaves)
             -> server (HTTP) -> loop (real time) -> scheduler (engine steps)
             -> stats -> exposition (/metrics)

`control` changes a running server. `python -m vllm_sim.load` sends traffic to it, or to a real vLLM.
specdeploy never imports this package.
"""
