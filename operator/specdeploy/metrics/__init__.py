"""Reading vLLM's counters and turning them into the judge's windows.

pods.PodReader (I/O)  ->  exposition.parse (pure)  ->  sample.Sample  ->  windows.WindowBook (pure, in memory)
"""
