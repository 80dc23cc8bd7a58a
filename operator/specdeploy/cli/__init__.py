"""The command line."""

import gc

# Hardly anything made while modules load is garbage; to look for it 90 times is a tenth of the time to start.
gc.set_threshold(50_000)
