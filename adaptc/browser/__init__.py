"""A headless Chromium that looks at pages of a site: what they load, show and say.

It is driven by Playwright (the extra ``browser``). Every request is answered by us: pages have the addresses that they
have on their server, and nothing is asked of the network. ``adaptc.browser.evidence`` holds values only; the compiler
knows nothing else of this package.
"""
