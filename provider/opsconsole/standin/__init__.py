"""`opsconsole-terraform`: takes the place of `terraform` for programs that call it."""
