"""``adaptc auto``: ends what ``adaptc force`` asked for."""

from __future__ import annotations

from pathlib import Path

from adaptc.cli.daemon import existing_output, output_option
from adaptc.cli.frame import Frame, command
from adaptc.cli.render import print_text


@command("auto")
@output_option
def auto(frame: Frame, output: Path | None) -> None:
    """Let the daemons decide again, after adaptc force."""
    from adaptc.daemons.override import clear_override
    from adaptc.daemons.run_directory import RunDirectory

    run = RunDirectory.of(existing_output(frame.load({"output": output})))
    print_text("automatic again" if clear_override(run) else "nothing was forced", frame)
