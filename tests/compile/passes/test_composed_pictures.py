"""The pictures of composed pages, and which pages are composed at level extreme."""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO

import pytest
from PIL import Image

from tests.samples.drawn import photo_file
from tests.sites.small import SmallSite

from adaptc.compile.pipeline import KNOWN_PASSES, plan_level
from adaptc.compile.rewrite import PageResult
from adaptc.config.rulebook import load_levels
from adaptc.core import media
from adaptc.formats.html.document import parse

STEPS = plan_level(load_levels(known_passes=KNOWN_PASSES)["extreme"]).steps_for(media.HTML)
STEPS = tuple(step for step in STEPS if step.name != "strip")  # which asks for labels
CARD = "<div><a href={0}.html><img src={0}.jpg alt={0}></a><h3><a href={0}.html>{0}</a></h3><p>About {0}.</p></div>"
BODY = f"""<header><a class=logo href=/><img src=logo.png alt=Herald></a></header><main><h1>H</h1>
<p>Words.</p><img src=lead.jpg alt="The harbour"><div class=cards>{CARD.format("one")}{CARD.format("two")}</div>
<img class=off src=hidden.jpg alt=no><img src=dot.png width=1 height=1 alt=""></main>"""
CSS = ".cards{display:grid}.off{display:none}"


def extreme(body: str = BODY, css: str = CSS, **others: bytes) -> PageResult:
    """A page at level extreme; the sheet is large, as those of real sites are."""
    names = ("lead.jpg", "one.jpg", "two.jpg", "hidden.jpg")
    files = {name: photo_file(900 + place, 600) for place, name in enumerate(names)}
    files |= {"logo.png": photo_file(200, 60, "PNG"), "dot.png": photo_file(1, 1, "PNG")}
    css += "".join(f".{sha256(bytes([n])).hexdigest()[:20]}{{color:#{n:06x}}}" for n in range(60)) if css else ""
    files |= {"one.html": "<p>a", "two.html": "<p>b", "s.css": css}
    page = f"<!doctype html><html lang=en><meta charset=utf-8><title>T</title><link rel=stylesheet href=s.css>{body}"
    return SmallSite({"index.html": page, **files, **others}).rewrite(steps=STEPS, promise="article")


def test_logo_lead_and_cards_have_pictures_in_the_page() -> None:
    result = extreme()
    assert result.content is not None and result.embeds == ()
    tree = parse(result.content.decode())
    images = [(image.attr("alt"), (image.attr("src") or "").partition(",")[0]) for image in tree.select("img")]
    assert [alt for alt, _ in images] == ["Herald", "The harbour", "", ""]
    assert all(source.startswith("data:image/") for _, source in images)
    assert [link.attr("href") for link in tree.select("main a")] == ["one.html", "two.html"]
    assert sum(len(image.attr("src") or "") for image in tree.select("img")) <= 60_000


@pytest.mark.parametrize(
    ("beside", "shown", "alt"),
    [("<b>Herald</b>", "Herald", ""), ("<b>The</b><small>Herald</small>", "The Herald", ""),
     ("<b class=sr-only>Herald</b>", "", "Herald"), ("<b class=off>Herald</b>", "", "Herald")],
)  # fmt: skip
def test_words_beside_a_logo_stay_beside_it(beside: str, shown: str, alt: str) -> None:
    body = f"<header><a class=logo href=/><img src=logo.png alt=Herald>{beside}</a></header><main><h1>H</h1><p>Words."
    site = parse((extreme(body).content or b"").decode()).select_one("header .s")
    assert site is not None
    assert site.text.strip() == shown
    assert [image.attr("alt") for image in site.select("img")] == [alt]


@pytest.mark.parametrize("size", ["width=0 height=0", "width=1 height=1"])
def test_an_image_whose_size_hides_it_is_no_picture(size: str) -> None:
    written = extreme(f"<main><h1>H</h1><p>Words.</p><img src=lead.jpg alt=x {size}>").content or b""
    assert b"<img" not in written and b"Words" in written


@pytest.mark.parametrize(
    ("size", "shown"),
    [("", "720"), ("width=150", "150"), ('style="max-height:none;height: 100px"', "150"), ("width=100%", "720"),
     ('style="width:2000px"', "720"), ('style="height:28px"', None)],
)  # fmt: skip
def test_a_picture_is_no_larger_than_its_page_says(size: str, shown: str | None) -> None:
    body = f"<main><h1>H</h1><p>{'Words. ' * 40}<p>by <img src=lead.jpg {size}></main>"
    tree = parse((extreme(body).content or b"").decode())
    image = tree.select_one("img")
    assert (image and image.attr("width")) == shown


def test_an_image_of_which_no_copy_is_smaller_is_shown_as_it_is() -> None:
    drawn = BytesIO()
    Image.new("RGB", (600, 300), "#259").save(drawn, "PNG", optimize=True)
    result = extreme(
        "<main><h1>H</h1><img src=flat.png alt='A flag'><p>Words.</main>", **{"flat.png": drawn.getvalue()}
    )
    image = parse((result.content or b"").decode()).select_one("img")
    assert image is not None and (image.attr("src") or "").startswith("data:image/")
    assert (image.attr("width"), image.attr("alt")) == ("600", "A flag")


def test_no_copy_is_made_of_an_image_that_is_too_small_for_its_place() -> None:
    page = "<!doctype html><html lang=en><title>T</title><main><h1>H</h1><img src={} alt=x><p>Words.</main>"
    files = {"small.png": photo_file(150, 150, "PNG"), "large.jpg": photo_file(900, 600)}
    made = {}
    for name in files:
        site = SmallSite({"index.html": page.format(name), **files})
        site.rewrite(steps=STEPS, promise="article")
        made[name] = len(site.made)
    assert made == {"small.png": 0, "large.jpg": 1}


def test_the_face_of_who_wrote_a_story_is_not_its_picture() -> None:
    face = "<a class=avatar href=w.html><img src=one.jpg alt=Writer></a>"
    cards = "".join(f"<div><h3><a href={n}.html>{n}</a></h3><p>About {n}.</p>{face}</div>" for n in ("one", "two"))
    body = f"<main><h1>H</h1><p>Words.</p><img src=lead.jpg alt=L><div>{cards}</div></main>"
    images = parse((extreme(body).content or b"").decode()).select("img")
    assert [image.attr("alt") for image in images] == ["L"]


def test_the_same_page_has_the_same_bytes() -> None:
    assert extreme().content == extreme().content


def test_images_next_to_each_other_are_small_and_in_a_row_each_once() -> None:
    names = ("one", "two", "hidden")
    row = "".join(f"<div><a href={name}.html><img src={name}.jpg alt='View of {name}'></a></div>" for name in names)
    again = "<p><img src=one.jpg alt='View of one'></p>"
    body = f"<main><h1>H</h1><p>Words.</p><img src=lead.jpg alt=L><div>{row}</div>{again}"
    main = parse((extreme(body, "").content or b"").decode()).select_one("main")
    assert main is not None
    links = main.select("p > a[href] > img")
    assert [image.attr("alt") for image in links] == [f"View of {name}" for name in names]
    assert (
        all(int(image.attr("width") or 0) <= 168 for image in links)
        and len({image.closest("p") for image in links}) == 1
    )
    assert "View of" not in main.text  # the image is shown already


def test_faces_are_no_pictures_of_the_content() -> None:
    body = "<main><h1>H</h1><p>Words.</p><p><img class=table-avatar src=one.jpg alt=Avatar></p><img src=lead.jpg alt=L>"
    images = parse((extreme(body).content or b"").decode()).select("img")
    assert [image.attr("alt") for image in images] == ["L"]


@pytest.mark.parametrize(
    ("colour", "alt", "ground"), [("white", "Plan", ["k"]), ("black", "Plan", ["w"]), ("white", "", None)]
)
def test_a_transparent_drawing_has_a_ground_to_be_seen_on(colour: str, alt: str, ground: list[str] | None) -> None:
    drawn = Image.new("RGBA", (400, 300))
    drawn.paste(Image.new("RGBA", (100, 200), colour), (50, 50))
    drawn.save(file := BytesIO(), "PNG")
    body = f"<main><h1>H</h1><p>{'Words that are read. ' * 30}<img src=plan.png alt='{alt}'></main>"
    images = parse((extreme(body, **{"plan.png": file.getvalue()}).content or b"").decode()).select("main img")
    assert [each.attr("class") for each in images] == ([] if ground is None else ground)


def test_a_link_of_a_picture_without_words_has_a_name() -> None:
    body = (
        f"<main><h1>H</h1><p>{'Words that are read. ' * 30}<p><a href=two.html title=Ada><img src=lead.jpg alt=...></a>"
    )
    link = parse((extreme(body).content or b"").decode()).select_one("main a:has(img)")
    assert link is not None and link.attr("aria-label") == "Ada"
