"""The verbs that look at state and mend it, as Terraform's do."""

import json
import subprocess

from engines import start_process

HOSTS = {
    "resource": {
        "opsconsole_host": {"web": {"name": "web"}, "many": {"count": 2, "name": "n${count.index}"}}
    }
}


def applied(standin, console):
    engine = standin(HOSTS, console, init=False)
    engine.apply()
    return engine


def addresses(engine):
    return engine.run("state", "list").out.split()


def test_a_tainted_instance_is_replaced(standin, console_of):
    engine = applied(standin, console_of("strict"))
    engine.run("taint", "opsconsole_host.web")
    assert engine.plan().actions == {"opsconsole_host.web": ["delete", "create"]}
    engine.run("untaint", "opsconsole_host.web")
    assert engine.plan().actions == {}
    assert "is not tainted" in engine.run("untaint", "opsconsole_host.web", expect={1}).err
    assert "is not in the state" in engine.run("taint", "opsconsole_host.no", expect={1}).err
    engine.run("taint", "-allow-missing", "opsconsole_host.no")


def test_instances_move(standin, console_of):
    engine = applied(standin, console_of("strict"))
    engine.run("state", "mv", "opsconsole_host.many[1]", "opsconsole_host.one")
    kept = ["opsconsole_host.many[0]", "opsconsole_host.one", "opsconsole_host.web"]
    assert addresses(engine) == kept


def test_a_state_that_is_not_there_is_an_error_where_it_is_for_terraform(standin):
    engine = standin(HOSTS, init=False)
    assert "no state nothere" in engine.run("state", "list", "-state=nothere", expect={1}).err
    engine.run("output", "-state=nothere")


def test_a_state_is_pushed_from_stdin(standin, console_of):
    engine = applied(standin, console_of("strict"))
    pulled = engine.run("state", "pull").out
    assert json.loads(pulled) == engine.state()
    engine.run("state", "rm", "opsconsole_host.web")
    words = (engine.program, "state", "push", "-force", "-")
    options = {"cwd": engine.folder, "env": engine.environment, "stdin": subprocess.PIPE}
    pushed = start_process(*words, **options)
    _, said = pushed.communicate(pulled)
    assert pushed.returncode == 0, said
    assert "opsconsole_host.web" in addresses(engine)


def test_the_guard_is_lifted_by_the_environment(standin, console_of):
    console = console_of("strict")
    many = {"opsconsole_host": {"many": {"count": 12, "name": "n${count.index}"}}}
    engine = standin({"resource": many}, console, init=False)
    engine.run("apply", "-auto-approve")
    engine.write(
        {"resource": {"opsconsole_host": {"many": {"count": 2, "name": "n${count.index}"}}}}
    )
    said = engine.run("apply", "-auto-approve", expect={1}).text
    assert "If that is intended, use OPSCONSOLE_FORCE=1 or" in said
    assert len(console.rows("hosts")) == 12
    engine.run("apply", "-auto-approve", OPSCONSOLE_FORCE="1")
    assert len(console.rows("hosts")) == 2


def test_what_terraform_only_warns_of_is_no_error(standin, console_of):
    engine = applied(standin, console_of("strict"))
    for flags in ((), ("-raw",)):
        shown = engine.run("output", *flags, "none")
        assert (shown.out, shown.err) == ("", "The state holds no outputs.\n")
    assert "no output" in engine.run("output", "-json", "none", expect={1}).err
    unknown = "opsconsole_host.none"
    assert f"--target names {unknown}, which" in engine.run("plan", f"-target={unknown}").out
    engine.run("destroy", "-auto-approve", f"-target={unknown}")
    assert len(addresses(engine)) == 3


def test_a_local_lock_ends_with_its_process(standin, console_of):
    engine = applied(standin, console_of("strict"))
    assert engine.run("force-unlock", "-force", "some-id", expect={1}).err.startswith("Error: ")
