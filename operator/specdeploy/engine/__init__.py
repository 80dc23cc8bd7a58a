"""What we know of vLLM, ROCm and drafters: rules by version, arguments, environment, identities. Pure.

`checks` is what callers ask first; `revision` names what would run; `arguments` and `environment` are what
`specdeploy.manifests` puts into the engine's container.
"""
