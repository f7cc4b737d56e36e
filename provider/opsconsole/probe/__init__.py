"""Asking a live console what the API document leaves open, by calls that change nothing."""
