"""The verifiers to be read: Fractions, a few lines each, in the symbols of docs/mathematics.md."""
