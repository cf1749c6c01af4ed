"""The log format of both servers: the combined format, and behind it when, how fast, what was served, to whom.

    ... "user agent" at=1700000000.123 took=0.004s served=lossless/br class=poor

``at`` is the time, in seconds since 1970, when the request came (Apache) or was answered (nginx, which knows no other);
``took`` ends in its unit, ``us`` or ``s``. ``served`` is level and coding, ``-`` for an original and ``0/-`` for a
rejected request. ``class`` is ``-`` where classes are off. docs/serving.md describes it for readers of logs.
"""

from __future__ import annotations

from adaptc.serve.policy import Policy

_APACHE = r"%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\" at=%{sec}t.%{msec_frac}t took=%{us}Tus"
_NGINX = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $bytes_sent "$http_referer" "$http_user_agent"'
    " at=$msec took=${request_time}s"
)


def apache_log_format(policy: Policy) -> str:
    """Return the ``LogFormat`` directive; the format has the name of the policy."""
    name = policy.name
    return f'LogFormat "{_APACHE} served=%{{{name}_served}}e class=%{{{name}_class}}e" {name}'


def nginx_log_format(policy: Policy) -> str:
    """Return the ``log_format`` directive; the format has the name of the policy."""
    name = policy.name
    shown = f"${class_variable(policy)}" if policy.serve.classes else "-"
    return f"log_format {name} '{_NGINX} served=${name}_served class={shown}';"


def class_variable(policy: Policy) -> str:
    """Return the variable of nginx that holds the class of the client."""
    return f"{policy.name}_{'class' if policy.serve.hints else 'known'}"
