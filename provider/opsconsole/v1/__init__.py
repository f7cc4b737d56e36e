"""The console's HTTP v1 API: settings, client, operations, and the shape of their answers."""
