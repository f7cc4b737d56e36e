"""Worlds that broke a rule once, each as small as it could be made: none breaks one now."""

from __future__ import annotations

import pytest

from simulation import live

SEEDS = [
    # A state held an unsettled create of a call that a journal on another machine had settled.
    (300000, ["options", "step 0.0"]),
    # A run sent a call though the flush of its intent had failed for another caller.
    (600977, ["options", "step 2.2", "step 2.1"]),
    # A journal held a change of a host that another run had replaced since: no command went on.
    (709155, ["options", "step 2.1", "agent-10", "agent-9"]),
    # The answer to a detach, from before the agent moved to another host, went into the state last.
    (5001772, ["options"]),
    # A run with -target replaced a host or agent that was gone; what went with it stayed in state.
    (12005091, ["step 1.2", "step 1.1", "host-6", "host-5 creates first", "host-5"]),
    (23000044, ["step 2.2", "agent-8", "host-7", "host-6 creates first"]),
    # A console refused a replacement that is created first, and the message had no way out of it.
    (13001982, ["options", "step 0.1", "reader"]),
    # A run died in a dry run that the console took for real; no later run took the host over.
    (7104692, ["options", "step 1.1", "agent-7", "agent-6", "host-5"]),
    # The answer to a detach was lost, the next was a 404, and the list never showed the whole.
    (51005367, ["options", "host-6 creates first"]),
    # An attachment that a later run settled did not know its host, and stayed when both were gone.
    (73003421, ["step 1.0", "adopt 1", "agent-6", "host-5", "options"]),
    # As 51005367, for the full set of an agent's plugins.
    (202012269, ["step 1.2", "options", "step 1.1", "agent-8"]),
    # As 73003421, for an attachment that is replaced: its deletion lost what state knew of it.
    (212003054, ["step 1.2"]),
    # A write of a longer serial was torn within the lineage: the journal was taken for another's.
    (502001835, ["host-9 creates first", "host-2 creates first"]),
    # `state rm` of an unsettled create forgot the deposed host too: it stayed in the console.
    (601000485, ["step 1.2", "step 1.1", "agent-8", "agent-7"]),
    # A run without its lock deleted a host; the agent that another run created there stayed.
    (701004732, ["found 5", "host-3"]),
    # A run without its lock had moved a host that was deleted and created again since: no command
    # went on.
    (
        812000039,
        [
            *("step 1.2", "step 1.1", "agent-9", "agent-8"),
            *("host-7 creates first", "host-7", "host-6 creates first"),
        ],
    ),
    # A host that could not be read was gone: each apply sent its update, and got 404.
    (841010477, ["options"]),
]


@pytest.mark.parametrize(("seed", "without"), SEEDS)
def test_no_rule_is_broken_again(seed, without):
    live(seed, without)
