"""How far the degrading levels go with images: scores of ``adaptc.formats.image.score`` and scales, chosen by looking.

Screenshots, diagrams and photographs were looked at in display size. Of half-size WebP, quality 30 shows blocks in
plain walls and skies, 45 does not; beyond 75 nothing is gained on the softness of half resolution.
"""

from __future__ import annotations

MODERATE = 0.95
QUALITIES = (45, 75)
HARD = 0.90
HARD_QUALITIES = (25, 60)
# Text of 10 pixels is a guess at 0.5, legible at 0.71 (half of the pixels).
TEXT_SCALE = 0.71
