"""Draw bars, as SVG, in colours that hold on light and dark paper."""

from collections.abc import Sequence
from html import escape

__all__ = ["bars"]

WIDTH, LABEL, BAR, STEP = 760, 330, 330, 26


def bars(title: str, lines: Sequence[tuple[str, float, str]], unit: str) -> str:
    """Draw one bar for each (label, value, kind); the kind "ours" is drawn in another colour."""
    height = 48 + STEP * len(lines)
    longest = max((value for _label, value, _kind in lines), default=1) or 1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"',
        f' aria-label="{escape(title)}" font-family="sans-serif" font-size="13">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-weight="bold" fill="#1a1a1a">{escape(title)}</text>',
    ]
    for number, (label, value, kind) in enumerate(lines):
        y = 40 + STEP * number
        fill = "#0b6e4f" if kind == "ours" else "#8a8f98"
        length = max(1.0, BAR * value / longest)
        parts += [
            f'<text x="{LABEL - 8}" y="{y + 14}" text-anchor="end" fill="#1a1a1a">{escape(label)}</text>',
            f'<rect x="{LABEL}" y="{y}" width="{length:.1f}" height="18" fill="{fill}"/>',
            f'<text x="{LABEL + length + 6:.1f}" y="{y + 14}" fill="#1a1a1a">{value:.2f} {escape(unit)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
