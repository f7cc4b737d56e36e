"""The parts of `make demo`; the story itself is in `examples/demo.py`."""
