"""The studies that measure and draw, one module each."""
