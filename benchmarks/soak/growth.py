"""Pages with many of a kind: four times as many should take four times the CPU time, at every level.

A trial draws one to three pieces of markup and repeats them. Two sizes differ by ``_TIMES``; what takes more than
``_TOO_MUCH`` times that is said, with the pieces.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.sites.built import BuiltSite

_LEVELS = ("full", "lossless", "web", "moderate", "unhydrated", "extreme", "text")
_TIMES = 4
_TOO_MUCH = 1.6
_LEAST = 1.0  # seconds: less says nothing

# $N is a number, another one each time
PIECES = (
    "<a href=p$N.html>Link $N of many</a> ",
    "<li><a href=p$N.html>Link $N</a></li>",
    "<details><summary>Open $N</summary><p>Words $N that are shown.</p></details>",
    "<button onclick='f($N)'>Press $N</button>",
    "<form action=/s$N><label for=i$N>Name $N</label><input id=i$N name=n><button>Go</button></form>",
    "<table><tr><td>cell $N<td>other $N</table>",
    "<img src=i$N.png alt='Image $N' width=100 height=100>",
    "<div class=card><a href=p$N.html><img src=i.png alt='' width=200 height=100></a><h3>"
    "<a href=p$N.html>Story $N of today</a></h3><p>The lead $N of it.</p></div>",
    "<script>f($N)</script>",
    "<script>document.write('<p>Words $N</p>')</script>",
    "<style>.c$N{color:red}</style><p class=c$N>x $N</p>",
    "<link rel=stylesheet href=s$N.css>",
    "<button role=tab aria-controls=t$N>Tab $N</button><div role=tabpanel id=t$N hidden><p>Panel $N words.</p></div>",
    "<input type=radio name=r id=r$N><label for=r$N>Choice $N</label><div>Panel $N</div>",
    "<dl><dt>Term $N<dd>Meaning $N</dl>",
    "<figure><img src=i.png width=300 height=200 alt='F $N'><figcaption>Caption $N</figcaption></figure>",
    "<nav><ul><li><a href=/a$N>A $N</a><li><a href=/b$N>B $N</a></ul></nav>",
    "<section><header><h2>Part $N</h2></header><p>Words of part $N are here.</p><footer>Foot $N</footer></section>",
    "<noscript><p>Without scripts $N</p></noscript>",
    "<iframe src=https://www.youtube.com/embed/abc$N title='V $N'></iframe>",
    "<svg width=20 height=20><use href=#i$N /></svg>",
    "<video src=v$N.mp4 controls></video>",
    "<span hidden>hidden $N</span><div style=display:none>gone $N</div>",
    "<div class='a$N b$N c$N d$N js-$N'>Text $N</div>",
    '<script type=application/ld+json>{"@type":"NewsArticle","headline":"Head $N","articleBody"'
    ':"Body $N"}</script><p>Body $N</p>',
    "<style>@media (max-width:$Npx){.m{color:red}}</style>",
    "<article><h2><a href=p$N.html>Story $N</a></h2><time datetime=2026-01-01>1 January</time>"
    "<span class=author>By $N</span></article>",
    "<div class=product><img src=i.png width=100 height=100 alt=P><h3>Product $N</h3>"
    "<del>$2$N</del> <span class=price>$$N</span><a href=p$N.html>Buy</a></div>",
    "<label>Name $N <input name=a$N></label>",
    "<div role=dialog id=d$N><p>Words $N</p><button>Close</button></div><a href=#d$N>Open $N</a>",
    "<div class=slide><img src=i$N.png width=900 height=300 alt=S><h2>Slide $N</h2></div>",
    "<a href=#h$N>To $N</a><h2 id=h$N>Heading $N</h2>",
    "<div class=comment id=c$N><span class=author>User $N</span><p>Comment $N text here.</p>"
    "<a href=#c$N>Reply</a></div>",
    "<picture><source srcset='i$N.webp 2x' media='(min-width:1px)'><img src=i$N.png alt=$N></picture>",
    "<map name=m$N><area href=/$N alt=A></map><img src=i.png usemap=#m$N alt=''>",
    "<div style='background:url(i$N.png)'>Words $N</div>",
    "<font color=red size=3>Old $N</font>",
    "<a href='javascript:f($N)' onmouseover=\"MM_swapImage('a$N','','b.gif',1)\"><img name=a$N src=i.png></a>",
    "<div aria-live=polite id=l$N></div><button aria-expanded=false aria-controls=l$N>B $N</button>",
    "<div class='cookie-consent' style='position:fixed'>We use cookies $N <button>Accept</button></div>",
    "<ol class=breadcrumb><li><a href=/$N>Part $N</a></ol>",
    "<div class=pagination><a href=?p=$N>$N</a></div>",
    "<div class=share><a href=https://facebook.com/$N>Facebook</a><a href=https://twitter.com/$N>T</a></div>",
    "<h1>Title $N</h1><p>Words $N.</p>",
    "<div itemscope itemtype=http://schema.org/Product><span itemprop=name>Name $N</span>"
    "<meta itemprop=price content=$N></div>",
    "<div class=hentry><h2 class=entry-title><a href=$N.html>T $N</a></h2><div class=entry-content>"
    "<p>Words $N.</p></div></div>",
    "<p>Word<sup><a href=#fn$N id=r$N>$N</a></sup></p><li id=fn$N>Note $N <a href=#r$N>back</a></li>",
    "<a href=big$N.jpg><img src=t$N.jpg alt='T $N'></a>",
    "<div aria-labelledby=x$N><h3 id=x$N>H $N</h3><p>w $N</p></div>",
    "<form action=/$N><fieldset><legend>L $N</legend><input type=radio name=a value=$N id=q$N>"
    "<label for=q$N>Q</label></fieldset><input type=submit></form>",
    "<input form=f0 name=a$N>",
    "<object data=o$N.svg type=image/svg+xml></object>",
    "<audio src=a$N.mp3 controls></audio>",
    "<a href='/cdn-cgi/l/email-protection#6a0b2a0844'>[email protected]</a>",
    "<div class=accordion><h3 class=header><button aria-expanded=false>Q $N</button></h3>"
    "<div class=collapse><p>Answer $N words.</p></div></div>",
    "<li class=dropdown><a href=# data-toggle=dropdown>Menu $N</a><ul class=dropdown-menu><li>"
    "<a href=/m$N>Item $N</a></ul></li>",
    "<span class=counter data-target=$N>0</span>",
    "<img data-src=l$N.jpg src=data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAA"
    "ICTAEAOw== class=lazyload alt='L $N'>",
    "<img src=a$N.jpg srcset='a$N.jpg 1x, b$N.jpg 2x' sizes=100vw alt='S $N'>",
    "<p style='color:red;margin:$Npx'>Styled $N</p>",
    "<table width=100%><tr><td width=200><img src=s$N.gif width=1 height=1><td>"
    "<font>Words $N of old page</font></table>",
    "<script type=module>import './m$N.js'</script>",
    "<script>document.getElementById('e$N').innerHTML='<b>$N</b>'</script><div id=e$N></div>",
    "<script>document.documentElement.classList.add('k$N')</script>",
    "<div class='ad banner-ad'><a href=https://ads.example/$N>"
    "<img src=ad$N.png width=300 height=250 alt=Advertisement></a></div>",
    "<select><option>$N</select>",
    "<style>.a .b$N p{color:red}</style>",
    "<style>p:not(.a$N):not(.b){top:$Npx}</style>",
    "<style>div:has(.a$N){color:red}</style>",
    "<style>:root{--v$N:var(--v0)}</style>",
    "<style>@media (min-width:$Npx){.a{color:red}}</style>",
    "<style>@keyframes k$N{from{top:0}to{top:$Npx}}.a{animation:k$N 1s}</style>",
    "<style>@font-face{font-family:f$N;src:url(f$N.woff2)}.a{font-family:f$N}</style>",
    "<style>.b$N{background:url(i$N.png) 0 -$Npx no-repeat}</style>",
    "<style>@layer l$N{.a{top:$Npx}}</style>",
    "<style>[data-a=x$N]{color:red}</style>",
)


def seconds(pieces: Sequence[str], count: int) -> float:
    """Return the CPU seconds of a build of a page with ``count`` times the pieces, at all levels."""
    markup = "".join("".join(pieces).replace("$N", str(number)) for number in range(count))
    with tempfile.TemporaryDirectory() as root:
        site = BuiltSite(Path(root)).write({"index.html": f"<!doctype html><title>Many</title><h1>Many</h1>{markup}"})
        begun = time.process_time()
        site.build(build__levels=_LEVELS)
        return time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--count", type=int, default=400, help="of the pieces in the smaller page")
    given = parser.parse_args()
    chosen = random.Random(given.seed)
    faults = 0
    seconds(PIECES[:1], 1)  # what is imported and compiled once
    for _ in range(given.trials):
        pieces = chosen.sample(PIECES, chosen.randint(1, 3))
        small, large = seconds(pieces, given.count), seconds(pieces, given.count * _TIMES)
        if large > max(_LEAST, _TOO_MUCH * _TIMES * small):
            faults += 1
            print(f"{small:.2f} s and {large:.2f} s: {pieces}", flush=True)
    print(f"{given.trials} pages, {faults} out of proportion")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
