"""What images look like is measured once for each content."""

from __future__ import annotations

from pathlib import Path

from tests.sites.stripped import picture

from adaptc.compile.engine.cache.derived import EvidenceStore
from adaptc.compile.engine.cache.store import Store
from adaptc.core.digest import digest_bytes
from adaptc.site.site import Source

NOTE = picture(24, 12, "ivory")


class Reads:
    """Content that counts how often it is read."""

    count = 0

    def __call__(self) -> bytes:
        self.count += 1
        return NOTE


def source() -> Source:
    return Source(digest_bytes(NOTE), len(NOTE), "image/png")


def test_an_image_is_measured_once_and_found_by_other_workers(tmp_path: Path) -> None:
    reads = Reads()
    first = EvidenceStore(Store(tmp_path), 1000)
    made = first.of(source(), reads)
    assert (made.width, made.height, made.colour, made.opaque) == (24, 12, (255, 255, 240), 1.0)
    assert first.of(source(), reads) == made
    assert EvidenceStore(Store(tmp_path), 1000).of(source(), reads) == made
    assert reads.count == 1


def test_another_limit_is_another_question(tmp_path: Path) -> None:
    assert EvidenceStore(Store(tmp_path), 1000).of(source(), lambda: NOTE).width == 24
    assert EvidenceStore(Store(tmp_path), 10).of(source(), lambda: NOTE).width is None


def test_a_damaged_record_is_measured_anew(tmp_path: Path) -> None:
    made = EvidenceStore(Store(tmp_path), 1000).of(source(), lambda: NOTE)
    (record,) = (file for file in (tmp_path / "records").rglob("*") if file.is_file())
    for damage in ("[1]", '{"media_type": "x"}', "{", "null"):
        record.write_text(damage)
        assert EvidenceStore(Store(tmp_path), 1000).of(source(), lambda: NOTE) == made
