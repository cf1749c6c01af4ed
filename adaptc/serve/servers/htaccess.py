"""Apache httpd by a ``.htaccess`` file, for sites that cannot change the server's own configuration."""

from __future__ import annotations

from pathlib import Path

from adaptc.serve.policy import Policy
from adaptc.serve.server import EmittedFile, Paste, Server, always
from adaptc.serve.servers import apache


def _file(policy: Policy) -> Path:
    return Path(policy.docroot) / ".htaccess"


def _marker(policy: Policy) -> str:
    return f"E={policy.name}_level:"


SERVER = Server(
    name="htaccess",
    title="Apache httpd by .htaccess",
    files=(EmittedFile("htaccess", is_included=always, finish=apache.count_skips),),
    variables=apache.variables,
    filters=apache.filters,
    host="apache",
    paste=Paste(_file, _marker),
)
