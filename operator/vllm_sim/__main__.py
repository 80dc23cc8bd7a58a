"""`python -m vllm_sim serve MODEL [flags]` stands for `vllm serve MODEL [flags]`; `set` changes its knobs."""

import sys

from vllm_sim.serve import command

sys.exit(command(sys.argv[1:]))
