"""The words of the templates for Caddy and lighttpd, which serve by flag, level and coding and know no more."""

from __future__ import annotations

from typing import Any

from adaptc.core.diagnostics import UsageError
from adaptc.core.model import IDENTITY
from adaptc.serve import quoting
from adaptc.serve.patterns import token_pattern
from adaptc.serve.policy import Policy


def caddy_words(policy: Policy) -> dict[str, Any]:
    """Return what the template knows beside the policy. Raises ``UsageError`` for what Caddy cannot be told."""
    _refuse_daemons("Caddy", policy)
    if policy.prefix:
        raise UsageError("serve.prefix: Caddy can only be told of a site at the root of its host")
    excluded = [pattern for path in policy.serve.exclude for pattern in (path, f"{path}/*")]
    return {
        "codings": [*policy.codings, IDENTITY],
        "takes": {coding: takes(coding) for coding in policy.codings},
        "excluded": " ".join(quoting.caddy(one) if "*" not in one else one for one in excluded),
    }


def lighttpd_words(policy: Policy) -> dict[str, Any]:
    """Return what the templates know beside the policy. Raises ``UsageError`` for what lighttpd cannot be told."""
    _refuse_daemons("lighttpd", policy)
    return {}


def _refuse_daemons(server: str, policy: Policy) -> None:
    """Refuse what only Apache and nginx are told: saying nothing would leave people waiting for levels to change."""
    asked = [key for key in ("buckets", "classes", "reject") if getattr(policy.serve, key)]
    asked += ["freshness"] if policy.is_strict else []
    if asked:
        raise UsageError(f"serve.{asked[0]}: {server} can only be told of flag, level and coding; use Apache or nginx")


def takes(coding: str) -> str:
    """Return the pattern of an ``Accept-Encoding`` that takes ``coding`` (RE2, which has no lookaround)."""
    weight = r"(?:\s*;\s*q=(?:1(?:\.0*)?|0?\.\d*[1-9]\d*))?"
    return rf"(?i)(?:^|,)\s*{token_pattern(coding)}{weight}\s*(?:,|$)"
