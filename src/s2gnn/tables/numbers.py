"""Format numbers for people."""


def number_text(value: float, digits: int = 4) -> str:
    """Format integers in full, others to `digits` significant digits, with an exponent only if tiny or huge.

    Four digits hide the rounding of scaling and scaling back.
    """
    whole = round(value)
    if abs(value - whole) < 1e-9 * max(1.0, abs(value)) < 1e6:
        return f"{whole:d}"
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e12 else text
