"""What `make release` does: builds everything that is published into `dist/`, and measures it."""
