"""What every check looks at: a server's setup, the policy that was emitted for it, and what was built."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from adaptc.report.manifest import Manifest
from adaptc.serve.doctor.setup import Setup
from adaptc.serve.policy import CONF_DIRECTORY, Policy

# The emitted files that a server's own configuration names.
INCLUDED = {"apache": ("apache.conf",), "nginx": ("nginx-http.conf", "nginx-server.conf")}
WITHOUT_LOCATION = "nginx-location.conf"  # included by hand instead, where serve.nginx_location is off
HTACCESS = "htaccess"


@dataclass(frozen=True, slots=True)
class Patient:
    """One server under examination. ``rendered`` holds what ``adaptc emit`` would write for it now, by file name."""

    setup: Setup
    policy: Policy
    manifest: Manifest
    rendered: dict[str, str]

    @property
    def folder(self) -> Path:
        """Where the emitted files are."""
        return Path(self.policy.output) / CONF_DIRECTORY

    @property
    def docroot(self) -> Path:
        """The source of the build; links on the way to it stay as they are written, as in a server's configuration."""
        return Path(self.policy.docroot)

    @property
    def docroots(self) -> tuple[str, ...]:
        """The spellings of the docroot, with links on the way to it and without."""
        return tuple(dict.fromkeys((self.policy.docroot, os.path.realpath(self.policy.docroot))))

    @property
    def has_htaccess(self) -> bool:
        """Whether the docroot's .htaccess holds the rules of adaptc."""
        if self.setup.server != "apache" or HTACCESS not in self.rendered:
            return False
        try:
            return f"E={self.policy.name}_level:" in (self.docroot / ".htaccess").read_text("utf-8", "surrogateescape")
        except OSError:
            return False

    def is_own(self, file: str) -> bool:
        """Whether a file of the server's configuration was written by ``adaptc emit``."""
        return os.path.dirname(os.path.realpath(file)) == os.path.realpath(self.folder)
