"""What each resource does through the console's API: one set of steps for both engines.

Pure planning is in `planning`, the values that pass in `interface`; nothing here knows Terraform's
protocol, state files or programs.
"""
