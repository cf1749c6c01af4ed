"""Raster images: their headers, smaller files with the same pixels, and smaller files that look the same.

``probe`` reads headers, ``exact`` and ``lossy`` encode, ``recompress`` compares pixels, and ``score`` measures a loss.
The entry points are ``recompress`` (a smaller file of the same media type), ``alternates`` (other media types) and
``halve`` (a smaller copy). Pillow, libvips, oxipng and mozjpeg are imported when first used.
"""
