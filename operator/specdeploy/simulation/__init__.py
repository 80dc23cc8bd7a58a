"""A whole rollout in virtual time: the operator's own rollout and judge over simulated engines.

scenario (the file's form) -> reading (YAML, findings) -> load (demand and luck), configurations and engines
(what a step costs and yields) -> pods, cluster (what the operator would see) -> measuring (windows) -> run
(the loop) -> record -> report. `fleet` has what a run is compared with. Randomness comes from the seed alone.
"""
