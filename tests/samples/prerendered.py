"""Pages as frameworks prerender them, cut by hand to their structure: mark, content, scripts, state, hints."""

from __future__ import annotations

import hashlib

# The bundles cost enough to pay for all that the pass may write.
_BUNDLE = "run('" + "".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(150)) + "');"
ARTICLE = (
    "<main><h1>Hooks</h1><p>Hooks are registered with the method addHook and listen to events of the application.</p>"
    '<a href="/b.html">Next page</a></main>'
)


def page(body: str, head: str = "") -> str:
    start = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>T</title>{head}</head>'
    return f"{start}<body>{body}</body></html>"


# Framework -> head, and body with {} for the content
PAGES = {
    "Docusaurus": (
        '<meta name=generator content="Docusaurus v3.10.2"><link rel=stylesheet href=/assets/css/styles.5b0e4cfb.css>'
        "<script src=/assets/js/runtime~main.662a6ade.js defer></script>"
        "<script src=/assets/js/main.75c38abc.js defer></script>",
        '<script>document.documentElement.setAttribute("data-theme",localStorage.getItem("theme")||"light")</script>'
        "<div id=__docusaurus>{}</div>",
    ),
    "Next.js": (
        '<link rel="preload" href="/_next/static/css/0a1.css" as="style">'
        '<link rel="stylesheet" href="/_next/static/css/0a1.css">'
        '<noscript data-n-css=""></noscript><script defer nomodule src'
        '="/_next/static/chunks/polyfills-42372ed130431b0a.js"></script>'
        '<script src="/_next/static/chunks/webpack-30b9dd9193356b11.js" defer></script>'
        '<script src="/_next/static/abc/_buildManifest.js" defer></script>',
        '<div id="__next">{}</div><script id="__NEXT_DATA__" type="application/json">{{"props":{{}}'
        ',"page":"/"}}</script>',
    ),
    "Next.js, app router": (
        '<link rel="preload" as="script" fetchpriority="low" href="/_next/static/chunks/webpack-30b9dd9193356b11.js">'
        '<link rel="preload" href="/_next/static/media/a.woff2" as="font" crossorigin="">'
        '<script src="/_next/static/chunks/main-app-b688580760e0174c.js" async></script>',
        '{}<script src="/_next/static/chunks/webpack-30b9dd9193356b11.js" id="_R_" async></script>'
        "<script>(self.__next_f=self.__next_f||[]).push([0])</script>"
        '<script>self.__next_f.push([1,"1:\\"$Sreact.fragment\\""])</script>',
    ),
    "Nuxt": (
        '<link rel="modulepreload" as="script" crossorigin href="/_nuxt/Bx1.js">'
        '<link rel="preload" as="fetch" fetchpriority="low" crossorigin="anonymous" href="/_payload.json?5f">'
        '<link rel="prefetch" as="script" crossorigin href="/_nuxt/error.js">'
        '<link rel="prefetch" as="style" href="/_nuxt/error.css">'
        '<script type="module" src="/_nuxt/Bx1.js" crossorigin></script>',
        '<div id="__nuxt"><!--[-->{}<!--]--></div><div id="teleports"></div>'
        '<script type="application/json" data-nuxt-data="nuxt-app" data-ssr="true" id'
        '="__NUXT_DATA__">[{{"state":1}}]</script>'
        "<script>window.__NUXT__={{}};window.__NUXT__.config={{public:{{}}}}</script>",
    ),
    "Nuxt 2": (
        '<link rel="preload" href="/_nuxt/runtime.5a1.js" as="script">',
        '<div data-server-rendered="true" id="__nuxt"><div id="__layout">{}</div></div>'
        "<script>window.__NUXT__=(function(a){{return {{data:[a]}}}}(1))</script>"
        '<script src="/_nuxt/runtime.5a1.js" defer></script>',
    ),
    "Gatsby": (
        '<meta name="generator" content="Gatsby 5.14.0">'
        '<link as="script" rel="preload" href="/webpack-runtime-0d1f2e3a4b5c6d7e8f90.js">'
        '<link as="fetch" rel="preload" href="/page-data/index/page-data.json" crossorigin="anonymous">',
        '<div id="___gatsby"><div tabindex="-1" id="gatsby-focus-wrapper">{}</div></div>'
        '<script id="gatsby-script-loader">/*<![CDATA[*/window.pagePath="/";window.___webpackCompilationHash'
        '="0d1";/*]]>*/</script>'
        '<script id="gatsby-chunk-mapping">/*<![CDATA[*/window.___chunkMapping={{"app":["/app-1.js"]}};/*]]>*/'
        '</script>'
        '<script src="/webpack-runtime-0d1f2e3a4b5c6d7e8f90.js" async></script>',
    ),
    "VitePress": (
        '<meta name="generator" content="VitePress v1.6.4">'
        '<link rel="preload stylesheet" href="/assets/style.BhX5jokk.css" as="style">'
        '<script type="module" src="/assets/app.DJH2XMec.js"></script>'
        '<link rel="modulepreload" href="/assets/install.md.BRWLPP_B.lean.js">'
        '<script id="check-dark-mode">document.documentElement.classList.add("dark")</script>',
        '<div id="app">{}</div><script>window.__VP_HASH_MAP__=JSON.parse("{{}}");</script>',
    ),
    "SvelteKit": (
        '<link rel="modulepreload" href="/_app/immutable/entry/start.B9EL-iO0.js">',
        '<div style="display: contents">{}<script type="application/json" data-sveltekit-fetched data-url'
        '="/x">{{}}</script>'
        "<script>{{__sveltekit_7wr0y9 = {{base: ''}};const element = document.currentScript.parentElement;"
        'Promise.all([import("/_app/immutable/entry/start.B9EL-iO0.js")]).then(([kit]) => {{kit.start(0,'
        ' element)}})}}</script></div>',
    ),
    "React Router": (
        '<link rel="modulepreload" href="/assets/manifest-0a1b2c3d.js">'
        '<link rel="modulepreload" href="/assets/entry.client-Dx1y2z3w.js">',
        '{}<script>window.__reactRouterContext = {{"basename":"/"}};</script>'
        '<script type="module" async="">import "/assets/manifest-0a1b2c3d.js";\nimport * as route0 from'
        ' "/assets/root-C0ffee12.js";\n'
        'window.__reactRouterRouteModules = {{"root":route0}};import("/assets/entry.client-Dx1y2z3w.js");</script>',
    ),
    "Angular": (
        '<link rel="modulepreload" href="/chunk-ABCDEF12.js">',
        '<app-root ng-version="19.0.0" ng-server-context="ssg">{}</app-root>'
        '<script src="/polyfills-FFHMD2TL.js" type="module"></script>'
        '<script src="/main-4WRA7LQF.js" type="module"></script>'
        '<script id="ng-state" type="application/json">{{"__nghData__":[]}}</script>',
    ),
    "Vue": (
        '<link rel="preload" href="/assets/js/app.1a2b3c4d.js" as="script">',
        '<div id="app" data-server-rendered="true">{}</div><script>window.__INITIAL_STATE__={{"a":1}}</script>'
        '<script src="/assets/js/app.1a2b3c4d.js" defer></script>',
    ),
    "Astro": (
        "<style>astro-island,astro-slot{display:contents}</style>",
        '{}<script>(self.Astro||(self.Astro={{}})).load=async t=>{{await(await t())()}};</script>'
        '<script>customElements.get("astro-island")||customElements.define("astro-island",class extends'
        ' HTMLElement{{}})</script>'
        '<astro-island uid="Z1" component-url="/_astro/Counter.C0ffee12.js" component-export="default" '
        'renderer-url="/_astro/client.D1x.js" props="{{}}" ssr client="load" opts="{{}}"><p>Counter: 0</p>'
        '</astro-island>',
    ),
}  # fmt: skip

_FILES = (
    "assets/js/runtime~main.662a6ade.js", "assets/js/main.75c38abc.js",
    "_next/static/chunks/webpack-30b9dd9193356b11.js",
    "_next/static/chunks/main-app-b688580760e0174c.js", "_next/static/chunks/polyfills-42372ed130431b0a.js",
    "_next/static/abc/_buildManifest.js", "_nuxt/Bx1.js", "_nuxt/error.js", "_nuxt/runtime.5a1.js", "_payload.json",
    "webpack-runtime-0d1f2e3a4b5c6d7e8f90.js", "page-data/index/page-data.json", "assets/app.DJH2XMec.js",
    "assets/install.md.BRWLPP_B.lean.js", "_app/immutable/entry/start.B9EL-iO0.js", "assets/manifest-0a1b2c3d.js",
    "assets/entry.client-Dx1y2z3w.js", "assets/root-C0ffee12.js", "chunk-ABCDEF12.js", "polyfills-FFHMD2TL.js",
    "main-4WRA7LQF.js", "assets/js/app.1a2b3c4d.js", "_astro/Counter.C0ffee12.js", "_astro/client.D1x.js",
)  # fmt: skip
_SHEETS = (
    "assets/css/styles.5b0e4cfb.css", "_next/static/css/0a1.css", "_nuxt/error.css", "assets/style.BhX5jokk.css",
    "_next/static/media/a.woff2",
)  # fmt: skip
FILES = {**dict.fromkeys(_FILES, _BUNDLE), **dict.fromkeys(_SHEETS, ""), "b.html": ""}


def prerendered(framework: str, content: str = ARTICLE, *, head: str = "", after: str = "") -> str:
    """Return a page of a framework; ``after`` comes at the end of its body."""
    own_head, body = PAGES[framework]
    return page(body.format(content) + after, own_head + head)
