"""`make demo`: from a clone to a judged canary on a real Kubernetes.

place (cluster, images) -> install (helm) -> apply -> traffic -> watch -> report
"""
