"""Verbs that have nothing to do, as the engine is the provider and reads no modules."""

from __future__ import annotations

import sys

from opsconsole.address import full_address
from opsconsole.standin.command_line import Given
from opsconsole.standin.verbs import Verb


def get(verb: Verb, given: Given) -> int:
    """Install modules: a program that has some is one for Terraform."""
    return 0


def lock(verb: Verb, given: Given) -> int:
    """Note providers: the native engine starts none, and leaves the lock file alone."""
    sys.stdout.write("The native engine needs no provider: .terraform.lock.hcl is left alone.\n")
    return 0


def providers(verb: Verb, given: Given) -> int:
    """Print the providers of the program: it is this one."""
    sys.stdout.write(
        f"\nProviders required by configuration:\n.\n└── provider[{full_address()}]\n\n"
    )
    return 0
