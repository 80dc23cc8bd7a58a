"""A stand-in for torchvision in the engine's interpreter: any name can be imported, none does anything.

The locked environment has no torchvision (`tools/vllm/requirements.lock`), but the code of a model that takes
pictures imports it, and vLLM imports that code to learn what the model supports. Nothing of it is called
then. Put on PYTHONPATH for that process only.
"""

import importlib.abc
import importlib.machinery
import sys
from types import ModuleType


class Empty(type):
    """The type of classes that have every public name: another such class."""

    def __getattr__(cls, name: str) -> type:
        return empty(name)


def empty(name: str) -> type:
    if name.startswith("__"):  # Python asks for these; having them would mean something
        raise AttributeError(name)
    return Empty(name, (), {})


class Anything(ModuleType):
    """A module that has every public name."""

    __path__: list[str] = []  # noqa: RUF012 (what makes it a package)

    def __getattr__(self, name: str) -> type:
        return empty(name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every submodule."""

    def find_spec(self, fullname, path, target=None):  # type: ignore[no-untyped-def]
        if fullname.startswith(f"{__name__}."):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):  # type: ignore[no-untyped-def]
        return Anything(spec.name)

    def exec_module(self, module):  # type: ignore[no-untyped-def]
        """There is nothing to run."""


__version__ = "0"
__getattr__ = empty
sys.meta_path.append(Finder())
