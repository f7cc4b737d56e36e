"""What each resource does through the console's API: one set of steps for both engines.

What passes between an engine and a lifecycle is in `interface`; nothing here knows Terraform's
protocol, state files or programs.
"""
