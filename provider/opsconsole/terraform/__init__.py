"""The Terraform provider: plugin protocol 6 over gRPC, on the lifecycle that both engines share.

`main` is the entry point. Terraform's messages stay in this package: no module below knows them.
"""
