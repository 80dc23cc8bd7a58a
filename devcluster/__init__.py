"""A real Kubernetes on one machine, for `make demo` and the tests; needs nothing but Python, Go and apt.

`__main__` parses the command line; `cluster` brings everything up and down in order; the other modules
know one part each: `prerequisites`, `build` (binaries), `certificates`, `controlplane`, `node`, `network`
with `firewall`, `images`, `processes`. Everything of one cluster lives in its state folder (`settings`).
"""
