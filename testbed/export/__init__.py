"""Results for other programs and for the mailing list, a format a module."""
