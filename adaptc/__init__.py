"""adaptc: a compiler for static sites. docs/api.md documents this interface, docs/architecture.md the code.

>>> import adaptc
>>> config = adaptc.load_config(overrides={"docroot": "site", "output": "opt"})  # doctest: +SKIP
>>> result = adaptc.build(config)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adaptc.core.version import VERSION

if TYPE_CHECKING:
    from adaptc.config.config import Config
    from adaptc.core.diagnostics import Busy, Diagnostic, Severity, UsageError
    from adaptc.core.shortage import Shortage
    from adaptc.workflow.api import BuildResult, Plan, build, plan
    from adaptc.workflow.configuration import load_config

__version__ = VERSION

__all__ = [
    "BuildResult",
    "Busy",
    "Config",
    "Diagnostic",
    "Plan",
    "Severity",
    "Shortage",
    "UsageError",
    "__version__",
    "build",
    "load_config",
    "plan",
]

# Imported on first use: a command that builds nothing starts without parsers and codecs.
_MODULES = {
    "BuildResult": "workflow.api",
    "Plan": "workflow.api",
    "Busy": "core.diagnostics",
    "Diagnostic": "core.diagnostics",
    "Severity": "core.diagnostics",
    "Shortage": "core.shortage",
    "UsageError": "core.diagnostics",
    "build": "workflow.api",
    "plan": "workflow.api",
    "Config": "config.config",
    "load_config": "workflow.configuration",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'adaptc' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"adaptc.{_MODULES[name]}"), name)
