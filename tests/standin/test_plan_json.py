"""The JSON of a plan has the configuration and the relevant attributes that Terraform prints."""

import json

import pytest

PROGRAM = {
    "terraform": {
        "required_providers": {
            "opsconsole": {"source": "opsconsole/opsconsole", "version": "~> 0.1"}
        }
    },
    "provider": {
        "opsconsole": [
            {"max_retries": 2, "max_requests_per_second": 999.5, "list_query": {"a": "b"}},
            {"alias": "lab", "base_url": "${var.url}"},
        ]
    },
    "variable": {
        "url": {"type": "string", "default": "http://127.0.0.1:1", "description": "Where."},
        "all": {"sensitive": True, "default": {"a": 1}},
    },
    "locals": {"l": "x"},
    "data": {"opsconsole_specialty": {"linux": {"key": "linux-server"}}},
    "resource": {
        "opsconsole_host": {
            "web": {"name": "web", "tags": ["a:b"], "knowledge": None, "target_port": 22},
            "many": {
                "count": 2,
                "name": "n${count.index}-${local.l}-${local.l}",
                "jump_host_ids": ["${opsconsole_host.web.id}", "x"],
                "depends_on": ["opsconsole_host.web"],
            },
            "each": {
                "for_each": '${toset(["a"])}',
                "name": "${upper(each.key)}",
                "knowledge": '${upper("x")}',
            },
        },
        "opsconsole_agent": {
            "a": {
                "name": "a",
                "main_engine": "e",
                "host_id": "${opsconsole_host.many[0].id}",
                "specialty_id": "${data.opsconsole_specialty.linux.id}",
                "credential_config": [{"credential_id": "c"}, {"credential_id": "${var.url}"}],
            }
        },
    },
    "output": {
        "o": {"value": "${opsconsole_host.web.id}", "description": "One."},
        "q": {"value": '${opsconsole_host.each["a"].tags}'},
        "p": {"value": {"a": 1.5, "b": "${opsconsole_host.many[*].id}"}, "sensitive": True},
        "r": {"value": '${toset(["b", "a"])}'},
    },
}


@pytest.mark.terraform
def test_the_configuration_is_the_one_that_terraform_prints(
    standin, installed_terraform, console_of
):
    console = console_of("default")
    ours = standin(PROGRAM, console).plan().json
    theirs = installed_terraform(PROGRAM, console).plan().json
    assert ours["configuration"] == theirs["configuration"]
    assert ours["planned_values"]["outputs"] == theirs["planned_values"]["outputs"]
    relevant = [sorted(found["relevant_attributes"], key=str) for found in (ours, theirs)]
    assert len(relevant[1]) > 4
    assert relevant[0] == relevant[1]


def test_it_holds_no_credential(standin, console_of):
    console = console_of("default")
    program = {**PROGRAM, "provider": {"opsconsole": {"api_key": console.api_key}}}
    said = standin(program, console, init=False).run("plan", OPSCONSOLE_API_KEY="").text
    assert console.api_key not in said
    planned = json.dumps(standin({**PROGRAM, "provider": {"opsconsole": {}}}, console).plan().json)
    assert console.api_key not in planned
