"""Many points of an experiment: which to run, where, and what became of them."""
