"""The theorem checks: every numbered statement of the mathematics, tried on a grid of exact instances."""
