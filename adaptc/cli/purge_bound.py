"""The value of ``--purge-most``, an option of ``adaptc crawl`` and ``adaptc build``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

# click 8.2 made the class generic, 8.1 cannot be subscribed
if TYPE_CHECKING:
    from adaptc.crawl.options import PurgeBound

    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType


class Bound(_ParamType):
    """A number of files, or a share of them: ``200`` or ``10%``."""

    name = "bound"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> PurgeBound:
        """Return the bound; refuse what is none."""
        from adaptc.crawl.options import PurgeBound

        match = re.fullmatch(r"(\d+(?:\.\d+)?)%|(\d+)", value) if isinstance(value, str) else None
        if match is None:
            self.fail(f"{value!r} is neither a number of files nor a share of them, as 10%", param, ctx)
        return PurgeBound(number=int(match[2])) if match[2] else PurgeBound(float(match[1]) / 100)


BOUND = Bound()
