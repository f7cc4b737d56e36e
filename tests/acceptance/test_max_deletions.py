"""`max_deletions`: Terraform plans one resource a call, and the provider counts."""

from declarations import program
from engines import ON_TERRAFORM

NAMES = ("a", "b", "c")


@ON_TERRAFORM
def test_no_more_is_deleted_than_the_setting_allows(applied, console):
    hosts = {name: {"name": name} for name in NAMES}
    kept = {"d": {"name": "d", "deletion_policy": "abandon"}}
    engine = applied(program(host=hosts | kept), console, {"max_deletions": 1})
    replaced = {name: {"name": name, "external_id": "new"} for name in NAMES[:2]}

    engine.write(program(host=replaced | {"c": hosts["c"]} | kept))
    run = engine.plan_run(expect={1})
    told = run.errors[-1]
    assert "than max_deletions allows: 1" in told["summary"]
    assert '"a"' in told["detail"] and '"b"' in told["detail"]
    engine.write(program(host=hosts | kept))
    asked = [f"-replace=opsconsole_host.{name}" for name in NAMES[:2]]
    assert "max_deletions" in engine.plan_run(*asked, expect={1}).errors[-1]["summary"]
    assert "max_deletions" in engine.destroy(expect={1}).errors[-1]["summary"]
    assert len(console.rows("hosts")) == 4

    engine.run("taint", "opsconsole_host.a")
    engine.run("taint", "opsconsole_host.b")
    assert "max_deletions" in engine.apply(expect={1}).errors[0]["summary"]
    assert console.request_counts()["host_delete"] == 1

    engine.write(program(host={name: hosts[name] for name in NAMES[1:]}))
    engine.run("untaint", "opsconsole_host.b", expect=None)
    engine.run("untaint", "opsconsole_host.a", expect=None)
    engine.apply()
    assert len(console.rows("hosts")) == 3
