"""What must happen in every cell of the fault matrix.

A cell is a column (`native`, `terraform`, `drift`, `import` for `hosts import`), a target of
`fault_scenes` and a kind of fault. Its entry says how the run under the fault ends, and how the
clean run after it does. Whatever the entry says, the checks of `fault_cells` hold after both
runs: nothing is there twice, nothing is forgotten and unnamed, nothing is claimed that is not
there.

The words for a run of an engine:
    complete    everything was done, nothing is said
    warned      everything was done, with warnings
    alone       what the fault met failed, and what depends on it; the rest was done
    refused     the plan failed: nothing was sent that changes anything
    unknown     a create is in state under an id that stands for "not known"; the run failed
    refused, then complete    only with -refresh=false, as the error says

For drift: clean, unchecked (something was not seen), drift, trouble (an error).
For an import: complete, failed (nothing was imported), unknown (nobody knows, and it says so), then
whether the rows were made.
"""

import re

COLUMNS = ("native", "terraform", "drift", "import")

Entry = tuple[str, str]

_SETS = """
PASSING: reset_before reset_after cut_answer late_answer late_effect rate_limited
    rate_limited_seconds rate_limited_date request_timeout request_timeout_after bad_gateway
    bad_gateway_after unavailable unavailable_after gateway_timeout gateway_timeout_after
    redirect_same
DONE_UNHEARD: reset_after cut_answer late_answer late_effect request_timeout_after
    internal_error_after bad_gateway_after unavailable_after gateway_timeout_after
NOT_DONE_UNHEARD: reset_before request_timeout internal_error bad_gateway unavailable
    gateway_timeout
THROTTLED: rate_limited rate_limited_seconds rate_limited_date
MALFORMED: bad_request bad_field bad_fields invalid_cursor
DENIED: forbidden org_denied license_cap license_expired
BROKEN: internal_error internal_error_after
SPOILT: wrong_shape empty_object null_answer garbage gzip_bomb endless
BAD_IDS: ids_null ids_number ids_dots ids_empty ids_huge
"""
"""Kinds that mostly go together, by a name that stands for them below."""

_TABLE = """
native blacklist_get specialty_get
    refused | complete: MALFORMED DENIED BROKEN SPOILT BAD_IDS refused unauthorized conflict
        too_large other_object redirect_other
    warned | complete: not_found
    complete | complete: PASSING ids_crossed
native blacklist_update
terraform blacklist_update
    alone | warned: MALFORMED DENIED refused unauthorized not_found conflict too_large
        internal_error redirect_other
    warned | complete: PASSING SPOILT BAD_IDS internal_error_after other_object ids_crossed
native host_read
terraform host_read
    refused | complete: BROKEN SPOILT BAD_IDS refused unauthorized conflict too_large
        other_object redirect_other
    complete | complete: PASSING ids_crossed
    warned | complete: MALFORMED DENIED
    alone | alone: not_found
native host_update agent_update specialty_update
    alone | complete: MALFORMED DENIED refused unauthorized not_found conflict too_large
        redirect_other
    complete | complete: PASSING ids_crossed SPOILT BAD_IDS other_object internal_error_after
    alone | warned: internal_error
native host_delete specialty_delete
terraform host_delete specialty_delete
    alone | warned: MALFORMED DENIED refused unauthorized not_found conflict too_large
        internal_error redirect_other
    warned | complete: PASSING SPOILT BAD_IDS internal_error_after other_object ids_crossed
native host_dry_run
    alone | complete: DENIED BROKEN SPOILT refused unauthorized not_found conflict
        redirect_other
    warned | complete: PASSING MALFORMED BAD_IDS too_large other_object ids_crossed
native host_import
    alone | complete: DENIED refused unauthorized not_found conflict redirect_other
    unknown | unknown: NOT_DONE_UNHEARD
    warned | complete: DONE_UNHEARD THROTTLED MALFORMED SPOILT BAD_IDS too_large other_object
        ids_crossed redirect_same
native agent_create agent_create_alone blacklist_create
terraform agent_create agent_create_alone
    alone | complete: MALFORMED DENIED refused unauthorized not_found conflict too_large
        redirect_other
    unknown | unknown: DONE_UNHEARD NOT_DONE_UNHEARD SPOILT BAD_IDS other_object
    warned | complete: THROTTLED ids_crossed redirect_same
native plugin_attach
terraform plugin_attach
    alone | complete: MALFORMED DENIED refused unauthorized not_found conflict too_large
        internal_error redirect_other
    warned | complete: PASSING SPOILT BAD_IDS internal_error_after other_object ids_crossed
native plugin_list
terraform plugin_list
    refused | complete: MALFORMED BROKEN SPOILT BAD_IDS refused unauthorized conflict too_large
        redirect_other
    complete | complete: PASSING ids_crossed
    warned | complete: DENIED not_found other_object
native plugin_detach
    alone | complete: MALFORMED DENIED refused unauthorized not_found conflict too_large
        redirect_other
    complete | complete: PASSING SPOILT BAD_IDS internal_error_after other_object ids_crossed
    alone | warned: internal_error
native specialty_search
    refused | complete: MALFORMED DENIED BROKEN SPOILT BAD_IDS refused unauthorized not_found
        conflict too_large other_object ids_crossed redirect_other
    complete | complete: PASSING
native host_get
terraform host_get
    refused | complete: MALFORMED BROKEN SPOILT BAD_IDS refused unauthorized conflict too_large
        other_object redirect_other
    complete | complete: PASSING ids_crossed
    warned | complete: DENIED
    alone | alone: not_found
native agent_get
terraform agent_get
    refused | complete: MALFORMED BROKEN SPOILT BAD_IDS refused unauthorized conflict too_large
        other_object redirect_other
    complete | complete: PASSING ids_crossed
    warned | complete: DENIED not_found
terraform blacklist_get specialty_get
    refused | complete: MALFORMED DENIED BROKEN SPOILT BAD_IDS refused unauthorized conflict
        too_large other_object redirect_other
    complete | complete: PASSING ids_crossed
    warned | complete: not_found
native agent_delete blacklist_delete
terraform plugin_detach agent_delete
    alone | complete: MALFORMED DENIED refused unauthorized not_found conflict too_large
        internal_error redirect_other
    complete | complete: PASSING SPOILT BAD_IDS internal_error_after other_object ids_crossed
native specialty_create
terraform specialty_create blacklist_create
    alone | warned: refused unauthorized
    unknown | unknown: DONE_UNHEARD NOT_DONE_UNHEARD SPOILT BAD_IDS other_object
    alone | complete: MALFORMED DENIED not_found conflict too_large redirect_other
    warned | complete: THROTTLED ids_crossed redirect_same
terraform host_update agent_update specialty_update
    alone | complete: MALFORMED DENIED refused unauthorized not_found conflict too_large
        redirect_other internal_error
    complete | complete: PASSING ids_crossed SPOILT BAD_IDS other_object internal_error_after
terraform host_dry_run
    alone | warned: refused unauthorized
    warned | complete: PASSING MALFORMED BAD_IDS too_large other_object ids_crossed
    alone | complete: DENIED BROKEN SPOILT not_found conflict redirect_other
terraform host_import
    alone | warned: refused unauthorized
    unknown | unknown: NOT_DONE_UNHEARD
    warned | complete: DONE_UNHEARD THROTTLED MALFORMED SPOILT BAD_IDS too_large other_object
        ids_crossed redirect_same
    alone | complete: DENIED not_found conflict redirect_other
terraform specialty_search
    refused | complete: MALFORMED DENIED BROKEN SPOILT BAD_IDS refused unauthorized not_found
        conflict too_large ids_crossed redirect_other
    complete | complete: PASSING
    warned | complete: other_object
terraform blacklist_delete
    alone | complete: refused unauthorized
    complete | complete: PASSING SPOILT BAD_IDS internal_error_after other_object ids_crossed
    alone | refused, then complete: MALFORMED DENIED not_found conflict too_large internal_error
        redirect_other
drift blacklist_get host_read
    trouble | unchecked: MALFORMED DENIED BROKEN SPOILT BAD_IDS refused unauthorized conflict
        too_large other_object redirect_other
    unchecked | unchecked: PASSING ids_crossed
    drift | unchecked: not_found
drift plugin_list
    trouble | unchecked: MALFORMED DENIED BROKEN SPOILT BAD_IDS refused unauthorized conflict
        too_large other_object redirect_other
    unchecked | unchecked: PASSING ids_crossed
    drift | unchecked: not_found
drift specialty_search
    trouble | unchecked: MALFORMED DENIED BROKEN SPOILT BAD_IDS refused unauthorized not_found
        conflict too_large redirect_other
    unchecked | unchecked: PASSING
    drift | unchecked: other_object ids_crossed
drift host_get agent_get specialty_get
    trouble | clean: MALFORMED DENIED BROKEN SPOILT BAD_IDS refused unauthorized conflict
        too_large other_object redirect_other
    clean | clean: PASSING ids_crossed
    drift | clean: not_found
drift host_list agent_list
    trouble | clean: MALFORMED DENIED BROKEN SPOILT BAD_IDS refused unauthorized not_found
        conflict too_large other_object redirect_other
    clean | clean: PASSING ids_crossed
drift blacklist_list
    trouble | drift: MALFORMED DENIED BROKEN SPOILT BAD_IDS refused unauthorized not_found
        conflict too_large other_object redirect_other
    drift | drift: PASSING ids_crossed
import host_dry_run
    failed | not made: DENIED BROKEN SPOILT refused unauthorized not_found conflict
        redirect_other
    complete | made: PASSING MALFORMED BAD_IDS too_large other_object ids_crossed
import host_import
    failed | not made: DENIED refused unauthorized not_found conflict redirect_other
    unknown | not made: NOT_DONE_UNHEARD
    complete | made: DONE_UNHEARD THROTTLED MALFORMED SPOILT BAD_IDS too_large other_object
        ids_crossed redirect_same
"""
"""A column and its targets; below them what a run and the one after it come to, and the kinds."""


def _cells() -> dict[tuple[str, str, str], Entry]:
    sets = dict(line.split(": ") for line in re.sub(r"\n +", " ", _SETS).strip().splitlines())
    found: dict[tuple[str, str, str], Entry] = {}
    for where, outcomes in re.findall(r"((?:^\w.*\n)+)((?: .*\n)+)", _TABLE, re.MULTILINE):
        for outcome in re.sub(r"\n {8}", " ", outcomes).splitlines():
            entry, words = outcome.strip().split(": ")
            first, after = entry.split(" | ")
            kinds = [kind for word in words.split() for kind in sets.get(word, word).split()]
            for column, *targets in map(str.split, where.splitlines()):
                found |= {
                    (column, name, kind): (first, after) for name in targets for kind in kinds
                }
    return found


_CELLS = _cells()


def expected(column: str, target: str, kind: str) -> Entry | None:
    """Return the entry of a cell, None where there is none."""
    return _CELLS.get((column, target, kind))
