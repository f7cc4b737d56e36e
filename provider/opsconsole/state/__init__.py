"""Terraform's state files, version 4: model, locks, backends, and the journal beside them."""
