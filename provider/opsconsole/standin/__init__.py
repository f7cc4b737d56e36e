"""`opsconsole-terraform`: takes the place of `terraform` for software that calls it."""
