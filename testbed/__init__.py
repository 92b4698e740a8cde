"""Re-run the "Tested:" section of a Linux TCP patch and see whether it still holds."""

__version__ = "0.1.0"
