"""Reads SpecDeployments out of files, strictly, with the place of everything that is wrong.

files -> nodes -> values (paths, problems) -> documents (words, mending). What `lint` and `render` do with an
object begins where this ends: at a spec that the API server would take, or what can be read of one.
"""

from .documents import Contents, Located, Read, contents
from .files import NoFileError, Source, sources
from .rules import RULES

__all__ = ["RULES", "Contents", "Located", "NoFileError", "Read", "Source", "contents", "sources"]
