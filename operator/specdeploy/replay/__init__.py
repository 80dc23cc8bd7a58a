"""Recorded windows, judged without a cluster: JSON Lines in, one verdict a trial out."""
