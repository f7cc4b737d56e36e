"""Drift detection as a job: reads what state holds, takes no lock, writes no state."""
