"""The Terraform provider: plugin protocol 6 over gRPC, on the lifecycle that both engines share.

`main` is where it starts; transport, codec and schema stop at the edge: nothing below this
package knows Terraform's messages.
"""
