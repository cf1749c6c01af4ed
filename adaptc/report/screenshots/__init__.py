"""Screenshots of pages at each level, for the report. No build depends on them."""
