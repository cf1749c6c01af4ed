"""Lack of memory is never a result: it is reported, nothing of it is stored, and the next build does the work."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
import time
import zlib
from collections.abc import Callable
from typing import NoReturn

import pytest

from tests.sites.built import BuiltSite
from tests.sites.plain import FILES, png

from adaptc.cli.command import ExitCode
from adaptc.cli.main import run
from adaptc.compile.analyse.decorations.evidence import image_evidence
from adaptc.compile.engine.unit import unit_builder
from adaptc.compile.passes import page_icons as icon
from adaptc.core import media
from adaptc.core.diagnostics import UsageError
from adaptc.core.facts import BoundedCache
from adaptc.core.shortage import (
    OutOfTime,
    Shortage,
    bounding_cpu_time,
    explain_shortage,
    raise_shortage,
    recognizing_shortage,
)
from adaptc.formats import codings, font
from adaptc.formats.image import alternates, probe
from adaptc.formats.image.exact import exact_png
from adaptc.formats.image.recompress import same_pixels
from adaptc.formats.image.vips import vips
from adaptc.formats.svg.parse import svg_references


class PanicException(BaseException):  # the name that pyo3 gives it
    """As a Rust extension raises it."""


def chained(error: Exception, cause: Exception) -> Exception:
    error.__context__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "not enough memory"),
        (MemoryError("no arena"), "not enough memory: no arena"),
        (ImportError("\nIMPORTANT\n\nlib.so: not mapped"), "a library cannot be loaded: lib.so: not mapped"),
        (PanicException("no thread"), "a library crashed: no thread"),
        (OSError("out of memory when reading image file"), "not enough memory: out of memory when reading image file"),
        (OSError(errno.EMFILE, "Too many open files", "x"), "Too many open files"),
        (ValueError("unable to call copy\n  out of memory --- 9MB"), "not enough memory: out of memory --- 9MB"),
        (chained(ValueError("broken data stream"), MemoryError()), "not enough memory"),
    ],
)  # fmt: skip
def test_what_is_short_is_recognized_and_said(error: BaseException, reason: str) -> None:
    assert explain_shortage(error) == reason
    with pytest.raises(Shortage) as raised, recognizing_shortage():
        raise error
    assert str(raised.value) == reason


@pytest.mark.parametrize(
    "error",
    [
        ValueError("broken data stream"),
        OSError(errno.ENOSPC, "No space left on device", "/srv/out of memory"),
        ValueError("Memory allocation error: Security limit exceeded: image size"),
        chained(ValueError("wrong"), KeyError("x")),
        chained(UsageError("wrong"), OSError(errno.ENOENT, "No such file")),
        KeyboardInterrupt(),
    ],
)
def test_other_errors_stay_what_they_are(error: BaseException) -> None:
    assert explain_shortage(error) is None
    with pytest.raises(type(error)), recognizing_shortage():
        raise error


@pytest.mark.parametrize("text", ["database is locked", "disk I/O error"])
def test_a_database_that_cannot_be_used_is_no_fault_of_a_file(text: str) -> None:
    error = sqlite3.OperationalError(text)
    with pytest.raises(Shortage, match=f"a database cannot be used: {text}"):
        raise_shortage(error)
    with pytest.raises(sqlite3.OperationalError), recognizing_shortage():  # who opened it says which one it is
        raise error


def test_close_to_a_limit_of_memory_no_content_is_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    raise_shortage(ValueError("broken data stream"))
    monkeypatch.setattr("resource.getrlimit", lambda _: (1 << 29, -1))
    with pytest.raises(Shortage, match=r"memory is nearly used up, so that .* content: broken data stream"):
        raise_shortage(ValueError("broken data stream"))
    monkeypatch.setattr("resource.getrlimit", lambda _: (1 << 45, -1))
    raise_shortage(ValueError("broken data stream"))


# ---- where damaged content would be reported


def failing(error: BaseException) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


def short(text: str) -> Exception:
    return OSError(f"out of memory when {text}")


FONT = b"wOF2" + bytes(60)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.mark.parametrize(
    ("target", "error", "work"),
    [
        ("PIL.Image.open", short("reading"), lambda: probe.probe(png())),
        ("PIL.Image.Exif.load", short("reading"), lambda: probe.read_exif(b"Exif")),
        ("PIL.Image.Image.convert", short("reading"), lambda: alternates.exact_webp(png(64))),
        ("PIL.Image.Image.convert", short("reading"), lambda: icon.small_icon(png(48), 10**6)),
        ("PIL.Image.Image.convert", short("reading"), lambda: image_evidence(png(), media.PNG, 10**6)),
        ("fontTools.ttLib.TTFont", zlib.error("out of memory"), lambda: font.font_glyphs(FONT)),
        ("lxml.etree.fromstring", MemoryError(), lambda: svg_references(SVG)),
        ("pyvips.Image.new_from_buffer", "out of memory", lambda: same_pixels(media.PNG, png(), png())),
        ("brotli.compress", "brotli", lambda: codings.encode(b"x", "br", "fast")),
        ("pyvips.Image.black", "out of memory", lambda: alternates.lacks_codec.__wrapped__("avif")),
        ("oxipng.optimize_from_memory", PanicException("no thread"), lambda: exact_png(png(), "fast")),
    ],
)  # fmt: skip
def test_no_library_s_lack_of_memory_is_damage(
    target: str, error: BaseException | str, work: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(error, str):
        import brotli

        error = brotli.error(error) if error == "brotli" else vips().Error(error)
    monkeypatch.setattr(target, failing(error))
    font._decoded.cache_clear()
    font.font_glyphs.cache_clear()
    icon.small_icon.cache_clear()
    with pytest.raises((Shortage, MemoryError, PanicException)):
        work()


def test_a_decoder_that_pillow_did_without_is_a_library_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("PIL.WebPImagePlugin.SUPPORTED", False)
    with pytest.raises(Shortage, match="Pillow's decoder _webp was not loaded"):
        probe.probe(b"RIFF\x1a\0\0\0WEBPVP8 " + bytes(18))


# ---- in builds


@pytest.fixture
def site(tmp_path: object) -> BuiltSite:
    return BuiltSite(tmp_path).write(FILES)  # type: ignore[arg-type]


def clean_trees(site: BuiltSite) -> dict[str, bytes]:
    clean = site.clean()
    clean.build()
    return clean.trees()


@pytest.mark.parametrize(
    "error", [MemoryError(), ImportError("lib.so: failed to map segment"), PanicException("no thread"), "vips"]
)
def test_units_that_memory_is_short_for_are_reported_and_built_by_the_next(
    site: BuiltSite, error: BaseException | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised = vips().Error("unable to call pngload_buffer\nout of memory") if isinstance(error, str) else error
    with monkeypatch.context() as patch:
        patch.setattr("adaptc.formats.image.exact._optimize_png", failing(raised))
        patch.setattr("adaptc.formats.image.recompress._known", BoundedCache(0))  # a process that begins
        first = site.build()
    reported = [diagnostic for diagnostic in first.diagnostics if diagnostic.id == "not-built"]
    # the image, and the pages for which it was weighed
    assert [str(diagnostic.location) for diagnostic in reported] == ["i/dot.png", "index.html", "sub/b.html"]
    assert "level lossless is not built: " in reported[0].message
    assert not (site.output / "lossless/id/i/dot.png").exists()
    assert (site.output / "lossless/id/a.html").exists()
    assert sorted(site.built()) == ["lossless/i/dot.png", "lossless/index.html", "lossless/sub/b.html"]
    assert site.trees() == clean_trees(site)
    assert not site.build().built


@pytest.mark.parametrize("lost", ["rewrite_page", "gather"])
def test_a_unit_that_takes_too_long_is_left_as_it_is(
    site: BuiltSite, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler of damaged content that catches everything once does not hold it up."""
    original = getattr(unit_builder, lost)

    def endless(path: str, *rest: object, **options: object) -> object:
        if path != "a.html":
            return original(path, *rest, **options)
        with contextlib.suppress(BaseException):
            while True:
                pass
        while True:
            pass

    with monkeypatch.context() as patch:
        patch.setattr(unit_builder, lost, endless)
        first = site.build(build__unit_seconds=2.0)
    slow = [str(diagnostic) for diagnostic in first.diagnostics if diagnostic.id == "unit-too-slow"]
    at = "facts" if lost == "gather" else "lossless"
    more = f"would take more than 2 s of CPU time at {at}; it is left as it is (build.unit_seconds) [unit-too-slow]"
    assert slow == [f"a.html: warning: {more}"]
    assert not [diagnostic for diagnostic in first.diagnostics if diagnostic.id in ("not-built", "pass-failed")]
    if lost == "rewrite_page":
        assert site.read("a.html") == str(FILES["a.html"]).encode()
    again = site.build(build__unit_seconds=2.0)
    assert again.built == {}
    assert [str(diagnostic) for diagnostic in again.diagnostics if diagnostic.id == "unit-too-slow"] == slow
    site.build()  # a higher limit
    assert site.trees() == clean_trees(site)


def test_nobody_else_reads_the_private_directory(site: BuiltSite) -> None:
    """Others may pass to a mirror in it, which a server may serve, and read nothing else."""
    private = site.output / ".adaptc"
    private.mkdir(parents=True)
    private.chmod(0o755)
    site.build()
    assert private.stat().st_mode & 0o777 == 0o700
    (private / "mirrors/m").mkdir(parents=True)
    site.build()
    modes = {entry.name: entry.stat().st_mode & 0o077 for entry in private.iterdir()}
    assert private.stat().st_mode & 0o777 == 0o711
    assert modes.pop("mirrors") & 0o011
    assert set(modes.values()) == {0}
    assert (site.output / "lossless/id/a.html").stat().st_mode & 0o044


def test_the_bound_of_cpu_time_ends_with_its_block() -> None:
    with bounding_cpu_time(0.05):
        pass
    begun = time.process_time()
    while time.process_time() < begun + 0.1:
        pass
    with pytest.raises(OutOfTime), bounding_cpu_time(0.05):
        while True:
            pass


def test_nothing_of_a_lack_of_memory_is_cached(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = {"build__levels": ["full", "lossless", "moderate"]}
    site.write({"photo.png": png(64)})
    with monkeypatch.context() as patch:
        patch.setattr("PIL.Image.Image.convert", failing(short("reading")))
        patch.setattr("pyvips.Image.new_from_buffer", failing(vips().Error("out of memory")))
        assert any(diagnostic.id == "not-built" for diagnostic in site.build(**levels).diagnostics)
    site.build(**levels)
    clean = site.clean()
    clean.build(**levels)
    assert site.trees() == clean.trees()


def test_facts_that_memory_is_short_for_end_the_build_and_are_gathered_by_the_next(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("adaptc.compile.engine.unit.unit_builder.gather", failing(MemoryError()))
        with pytest.raises(Shortage, match=r"a\.html cannot be read: not enough memory"):
            site.build()
    assert len(site.build().built) == 2 * len(FILES)
    assert site.trees() == clean_trees(site)


def test_a_build_without_memory_ends_with_its_code(
    site: BuiltSite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("adaptc.report.documents.DocumentWriter.write", failing(MemoryError()))
    code = run(["build", str(site.docroot), "-o", str(site.output), "--effort", "fast", "-j", "1", "-q"])
    assert (code, capsys.readouterr().err) == (ExitCode.INTERNAL, "adaptc: not enough memory\n")


def test_a_mistake_of_the_user_that_a_missing_library_shows_has_its_own_text() -> None:
    with pytest.raises(UsageError, match="pip install"), recognizing_shortage():
        try:
            raise ImportError("No module named fsspec")
        except ImportError:
            raise UsageError("s3://bucket: fsspec is not installed: pip install 'adaptc[s3]'") from None
