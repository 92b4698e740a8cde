"""What to run: frozen records, and the loader that makes them from YAML."""
