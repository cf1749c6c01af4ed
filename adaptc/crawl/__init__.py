"""A crawl: mirrors sites that only a server can give, with the semantics of wget and HTTrack.

``engine`` drives; the frontier (``frontier``) holds every URL that was met, on disk. What is wanted is decided by
``scope`` and ``robots``, how it is called by ``names``, when it is asked for by ``pace``, how by ``fetch``. What a
file leads to is found by ``discover``; ``convert`` makes links lead to the files when everything is there.
"""
