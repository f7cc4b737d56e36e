"""The measurements of `make bench`: one module a subject, one table for all of them."""
