"""The native engine: plans, orders and applies the changes of a program, in bulk."""
