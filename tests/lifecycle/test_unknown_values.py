"""Declared values that are not known yet: planned unknown, judged once they are known."""

from opsconsole.values import UNKNOWN


async def test_adoption_keeps_what_is_declared_unknown(steps_of):
    entries = steps_of("blacklisted_command")
    config = entries.config(id="blk_format", pattern=UNKNOWN, org_id=UNKNOWN)
    plan = await entries.plan(None, config)
    assert plan.planned is not None
    assert plan.planned["pattern"] is UNKNOWN and plan.planned["org_id"] is UNKNOWN
    assert plan.planned["description"] == "formats"


async def test_what_cannot_change_is_refused_only_where_it_is_known(steps_of):
    specialties = steps_of("specialty")
    prior = await specialties.create(key="database")
    for known in (None, prior):
        plan = await specialties.plan(known, specialties.config(key="database", name=UNKNOWN))
        assert not plan.failed and plan.planned["name"] is UNKNOWN
        plan = await specialties.plan(known, specialties.config(key="database", name="Other"))
        assert [item.path for item in plan.diagnostics] == [("name",)]
