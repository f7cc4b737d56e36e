"""Messages of Terraform's plugin protocol 6 and of go-plugin's own services, as protobuf.

The `.proto` files are written by hand, `*_pb2.py` and `*_pb2.pyi` are generated from them by
`scripts/protobuf.py`. Nothing else belongs here.
"""
