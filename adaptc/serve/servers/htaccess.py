"""Apache httpd by a ``.htaccess`` file, for sites that cannot change the server's own configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adaptc.serve.policy import Policy
from adaptc.serve.server import EmittedFile, Paste, Server, always
from adaptc.serve.servers import apache
from adaptc.serve.servers.apache import count_skips


def _file(policy: Policy) -> Path:
    return Path(policy.docroot) / ".htaccess"


def _marker(policy: Policy) -> str:
    return f"E={policy.name}_level:"


def _variables(policy: Policy) -> dict[str, Any]:
    if any(name.endswith("\\") for name in policy.indexes):
        raise ValueError("an index name that ends in a backslash, which would join it with the next argument")
    return apache.variables(policy)


SERVER = Server(
    name="htaccess",
    title="Apache httpd by .htaccess",
    files=(EmittedFile("htaccess", is_included=always, finish=count_skips),),
    variables=_variables,
    filters=apache.filters,
    host="apache",
    paste=Paste(_file, _marker),
)
