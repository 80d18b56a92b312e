"""The version of the program that this package drives."""

__version__ = "0.1.0"
