"""The resource: what a user writes, what we report, and the words both use. Pure.

Everything else imports from here; this package imports nothing of ours.
"""
