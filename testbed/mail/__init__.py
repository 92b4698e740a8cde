"""Patch mails to drafts of experiments: what the "Tested:" section says, as YAML."""
