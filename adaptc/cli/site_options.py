"""The options by which a command names a site, its output and what is built of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from adaptc.cli.command import FOLDER

if TYPE_CHECKING:
    from adaptc.config.config import Config


F = TypeVar("F", bound=Callable[..., Any])

# Names of the parameters, and the settings that they override
_SETTINGS = {
    "docroot": "docroot",
    "output": "output",
    "levels": "build.levels",
    "effort": "build.effort",
    "base_url": "site.base_url",
    "jobs": "build.jobs",
    "cache": "build.cache",
    "remote_cache": "build.remote_cache",
    "remote_cache_readonly": "build.remote_cache_readonly",
    "scheduler": "build.scheduler",
}


jobs_option = click.option(
    "-j", "--jobs", type=click.IntRange(1), metavar="N", help="Work in N processes.  [default: one a CPU]"
)


def site_options(function: F) -> F:
    """Add DOCROOT and the options that say what is built of it, and where it goes."""
    options = (
        click.argument("docroot", required=False),
        click.option("-o", "--output", type=FOLDER, metavar="DIR", help="Where the trees go.  [default: opt]"),
        click.option(
            "--level",
            "levels",
            multiple=True,
            metavar="NAME",
            help="Build this level; may be given again.  [default: those of adaptc.toml, or full and lossless]",
        ),
        click.option("--effort", type=click.Choice(["fast", "default", "max"]), help="How hard to try to save bytes."),
        click.option("--base-url", metavar="URL", help="The URL under which DOCROOT is published."),
        jobs_option,
        click.option(
            "--cache", type=FOLDER, metavar="DIR", help="Keep artifacts in DIR, to share them between outputs."
        ),
        click.option("--remote-cache", metavar="URL", help="Share artifacts with other machines at URL (s3://bucket)."),
        click.option(
            "--scheduler", metavar="ADDRESS", help="Build on the workers of a Dask scheduler (tcp://HOST:8786)."
        ),
        click.option("--remote-cache-readonly", is_flag=True, help="Use the remote cache, and store nothing there."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def overrides(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return what the parameters of ``site_options`` override, for ``Invocation.load``."""
    settings = {_SETTINGS[name]: value or None for name, value in parameters.items()}
    return {**settings, "docroot": Path(parameters["docroot"]) if parameters["docroot"] else None}


def with_mirror(config: Config) -> Config:
    """Return the configuration with what a crawl, or its pages, know of its docroot, where the user did not set it."""
    from adaptc.site.crawled import find_mirror

    mirror = find_mirror(config.docroot) if config.docroot is not None else None
    if mirror is None:
        return with_app_levels(with_base_url(config))
    site = replace(
        config.site,
        base_url=config.site.base_url or mirror.base_url,
        csp=config.site.csp if config.site.csp is not None else mirror.csp,
    )
    return with_app_levels(replace(config, docroot=mirror.docroot, site=site))


def with_base_url(config: Config) -> Config:
    """Return the configuration with the URL below which the pages of the site say that it is, if nobody set one."""
    from adaptc.site.published import find_base_url

    if config.docroot is None or config.site.base_url is not None:
        return config
    return replace(config, site=replace(config.site, base_url=find_base_url(config.docroot, config.site.index)))


def with_app_levels(config: Config) -> Config:
    """Return the configuration with level ``unhydrated`` for a site that a framework rendered, if nobody chose levels.

    Its pages hold what scripts build once more in browsers: without them they take a tenth of the requests.
    """
    from adaptc.site.published import find_app

    if config.docroot is None or config.has_levels:
        return config
    app = find_app(config.docroot, config.site.index)
    if app is None or not app.is_rendered:
        return config
    return replace(config, build=replace(config.build, levels=(*config.build.levels, "unhydrated")))
