"""What a file leads to: pages, style sheets, SVG, sitemaps, feeds, manifests, header fields."""
