"""One self-contained HTML page for a plan or for a drift report."""
