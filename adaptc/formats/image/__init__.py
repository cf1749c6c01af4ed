"""Raster images: what they are, smaller files with the same pixels, and smaller files that look the same.

``probe`` reads headers, ``exact`` and ``lossy`` make candidates, ``decode`` proves them, ``score`` measures
them, ``recompress`` and ``alternates`` are the doors. Pillow, libvips, oxipng and mozjpeg are imported when
first used.
"""
