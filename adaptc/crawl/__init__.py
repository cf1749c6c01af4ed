"""A crawl: mirrors a site from its server, with the semantics of wget and HTTrack.

``engine`` runs the crawl; ``frontier`` keeps every discovered URL on disk. ``scope`` and ``robots`` decide which URLs
are fetched, ``schedule`` when, and ``request`` with which fields; ``curl_fetcher`` sends the requests. ``discover``
finds the links of a file, ``names`` gives it a name, and ``convert`` rewrites links once all files are stored.
"""
