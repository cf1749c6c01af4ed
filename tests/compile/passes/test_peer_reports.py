"""Rules that other programs dropped, by reports of their users: each is in the page, or waits in its file."""

from __future__ import annotations

import pytest

from tests.sites.small import SmallSite

from adaptc.compile.pipeline import BY_NAME, Step

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
NOISE = "".join(f".unused{number}{{margin:{number}px {number * 7}px}}" for number in range(240))
RUNS = "<script>run()</script>"


def made(css: str, body: str, files: dict[str, str]) -> str:
    """Return the page after the pass."""
    page = f"{HEAD}<link rel=stylesheet href=a.css><body>{body}"
    site = SmallSite({"index.html": page, "a.css": css + NOISE, **files})
    done = site.rewrite("index.html", (Step(BY_NAME["used-styles"], {}),), "words")
    assert not done.demoted, done.diagnostics
    return page if done.content is None else done.content.decode()


# A rule, and markup that has it at once
USED = {
    "an attribute that contains (critters 147)": ("[class*=' test-']{top:0}", "<p class='blue test-green'>x"),
    "one that begins": ("[class^='icon-']{top:0}", "<p class=icon-a>x"),
    "one of a language": ("[lang|=en]{top:0}", "<p lang=en-GB>x"),
    "a value in any case": ("[type=TEXT i]{top:0}", "<input type=text>"),
    "a pseudo-class of forms": ("input:invalid{top:0}", "<input required>"),
    "a vendor's part": ("input::-webkit-search-cancel-button{top:0}", "<input type=search>"),
    "a selection": ("::selection{top:0}", "<p>x"),
    "a placeholder": ("::placeholder{color:red}", "<input placeholder=x>"),
    "a backdrop": ("dialog::backdrop{top:0}", "<dialog>x</dialog>"),
    "an escaped name (purgecss 1659)": (".hover\\:text-blue:hover{top:0}", "<p class='hover:text-blue'>x"),
    "a fraction in a name": (".w-1\\/2{top:0}", "<p class=w-1/2>x"),
    "a bracket in a name": (".top-\\[3px\\]{top:0}", "<p class='top-[3px]'>x"),
    "a name that begins with a digit": (".\\32 xl{top:0}", "<p class=2xl>x"),
    "a name of other letters": (".größe{top:0}", "<p class=größe>x"),
    ":is()": (":is(.a,.b) u{top:0}", "<p class=b><u>x</u>"),
    ":where()": (":where(.none,p){top:0}", "<p>x"),
    ":has()": ("p:has(> u){top:0}", "<p><u>x</u>"),
    ":not()": ("p:not(.none){top:0}", "<p>x"),
    "a media query (critters 34)": ("@media (max-width:480px){p{top:0}}", "<p>x"),
    "a container": ("@container card (width > 9px){p{top:0}}", "<p>x"),
    "what is supported": ("@supports (display:grid){p{top:0}}", "<p>x"),
    "a layer": ("@layer base{p{top:0}}", "<p>x"),
    "a scope": ("@scope (p) to (b){u{top:0}}", "<p><u>x</u>"),
    "a nested rule": ("p{& u{top:0}}", "<p><u>x</u>"),
    "a registered property": ("@property --a{syntax:'*';inherits:false}p{margin:var(--a);top:0}", "<p>x"),
    "paper": ("@media print{p{top:0}}", "<p>x"),
    "a host of a slot": ("p::part(a){top:0}", "<p>x"),
    "keyframes by a variable": ("@keyframes turn{to{top:0}}:root{--m:turn 1s}p{animation:var(--m)}", "<p>x"),
}  # fmt: skip


@pytest.mark.parametrize("case", USED)
@pytest.mark.parametrize("script", ["", RUNS])
def test_what_the_markup_uses_is_in_the_page(case: str, script: str) -> None:
    css, body = USED[case]
    text = made(css, body + script, {})
    assert "<style" in text
    assert ".unused7{" not in text
    assert "top:0" in text or "color:red" in text


# A rule, and a page whose script brings in its name
LATER = {
    "a name with a hole (179)": (".status-exists{top:0}", "<script>p.className='status-'+x.state</script>"),
    "a template": (".dot--up{top:0}", "<script>f(`<i class=\"dot dot--${state}\">`)</script>"),
    "a library's own element (laravel-mix-purgecss 126)": (".lightbox .lb-nav{top:0}", "<script src=l.js></script>"),
    "a group (critters 49)": ("body,html,div,s{top:0}", "<script>a.append(make(n))</script>"),
    "a field of a table of classes": (".theme-dark{top:0}", "<script>b.className=themes[location.hash]</script>"),
    "a class by its parts": (".is-open-left{top:0}", "<script>b.className=['is',s,t].join('-')</script>"),
    "a state of a framework": (".fade-enter-active{top:0}", "<b id=app></b><script>make(A).mount('#app')</script>"),
    "a name in upper case": (".ERROR{top:0}", "<script>b.className=code.toUpperCase()</script>"),
    "an attribute of data": ("[data-state=open]{top:0}", "<script>b.setAttribute('data-'+k,v)</script>"),
    "an id": ("#toast{top:0}", "<script>b.id=v</script>"),
    "a custom element": ("my-card{top:0}", "<script>b.innerHTML=html</script>"),
    "what a frame inserts": (".grecaptcha-badge{top:0}", "<script src=https://www.google.com/recaptcha/api.js></script>"),
    "an animation by a name": ("@keyframes l{to{top:0}}.l{animation:l 1s}", "<script>b.style.animation=n</script>"),
    "an attribute of a tooltip": ("[aria-describedby]{top:0}", "<script>b.setAttribute(n,v)</script>"),
}  # fmt: skip


@pytest.mark.parametrize("case", LATER)
def test_what_a_script_may_bring_in_is_in_the_page_or_waits(case: str) -> None:
    css, body = LATER[case]
    text = made(css, f"<p>x{body}", {"l.js": "function f(n) { b.className = n }"})
    assert "top:0" in text or "<link data-used href=a.css>" in text or "<link rel=stylesheet href=a.css>" in text
