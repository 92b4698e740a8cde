"""What this host can do, tried: the trials of `doctor`. Read first: trials.findings."""
