"""The few SVG elements that our pictures are made of, drawn without a library. Coordinates are pixels."""

from xml.sax.saxutils import escape

INK, GREY, GRID = "#1f2937", "#6b7280", "#d1d5db"
GOOD, BAD, CALM, ACTIVE = "#15803d", "#b91c1c", "#b45309", "#1d4ed8"


def document(width: int, height: int, body: str) -> str:
    """A whole picture on white."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="Helvetica, Arial, sans-serif">'
        f'<rect width="100%" height="100%" fill="white"/>{body}</svg>\n'
    )


def group(dx: float, dy: float, body: str) -> str:
    """Everything in `body`, moved."""
    return f'<g transform="translate({dx:g},{dy:g})">{body}</g>'


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: int = 12,
    bold: bool = False,
    fill: str = INK,
    anchor: str = "start",
) -> str:
    """One line of text; `anchor` is start, middle or end."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{weight} fill="{fill}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


def line(
    x1: float, y1: float, x2: float, y2: float, *, ink: str = INK, width: float = 1, dash: str = ""
) -> str:
    """A straight line."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{ink}" '
        f'stroke-width="{width:g}"{dashes}/>'
    )


def area(x: float, y: float, width: float, height: float, *, fill: str, opacity: float = 1) -> str:
    """A filled rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" '
        f'fill-opacity="{opacity:g}"/>'
    )


def dot(x: float, y: float, *, fill: str, radius: float = 4, kind: str = "") -> str:
    """A filled circle; `kind` is its class, for whoever reads the file."""
    named = f' class="{kind}"' if kind else ""
    return f'<circle{named} cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}"/>'


def path(points: list[tuple[float, float]], *, ink: str, width: float = 2) -> str:
    """A line through points."""
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="{ink}" stroke-width="{width:g}"/>'
