"""Programs that Terraform refuses for their form, and some of odd forms that it accepts.

Each is text, because much of what is wrong cannot be written with a dict: names that stand twice.
What Terraform says of each was asked of Terraform itself; a test asks it again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

Program = Mapping[str, str]
"""Name to text of the files of a program."""

REQUIRED = '"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole"}}}'


def one(text: str) -> Program:
    """A program of one file."""
    return {"main.tf.json": text}


def within(text: str) -> Program:
    """A program that requires the provider and has these members."""
    return one(f"{{{REQUIRED},{text}}}")


def two_files(text: str, other: str) -> Program:
    """A program that requires the provider and has these members, and another file."""
    return {**within(text), "other.tf.json": other}


def hosts(text: str) -> Program:
    """A program with these hosts."""
    return within(f'"resource":{{"opsconsole_host":{{{text}}}}}')


def attribute(text: str) -> Program:
    """A program with a host that has this beside its name."""
    return hosts(f'"a":{{"name":"x",{text}}}')


def lifecycle(text: str) -> Program:
    """A program with a host that has this in its lifecycle block."""
    return attribute(f'"lifecycle":{{{text}}}')


def beside_host(text: str) -> Program:
    """A program with this beside a host."""
    return within(f'{text},"resource":{{"opsconsole_host":{{"a":{{"name":"x"}}}}}}')


def specialty(text: str) -> Program:
    """A program with a data source that has this beside its key."""
    return within(f'"data":{{"opsconsole_specialty":{{"s":{{"key":"x",{text}}}}}}}')


def output(text: str) -> Program:
    """A program with an output value that has this beside its value."""
    return within(f'"output":{{"a":{{"value":1,{text}}}}}')


def variable(text: str) -> Program:
    """A program with a variable that has this."""
    return within(f'"variable":{{"a":{{{text}}}}}')


def provider(text: str) -> Program:
    """A program with provider blocks of this."""
    return within(f'"provider":{{"opsconsole":{text}}}')


def local(text: str) -> Program:
    """A program with this local value."""
    return one(f'{{"locals":{{"a":{text}}}}}')


def settings(text: str) -> Program:
    """A program with this terraform block."""
    return one(f'{{"terraform":{{{text}}}}}')


def required_provider(text: str) -> Program:
    """A program that requires the provider by this."""
    return settings(
        '"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole",' + text + "}}"
    )


def each(prefix: str, *texts: str, suffix: str = "") -> tuple[str, ...]:
    """Return each of the texts with what all of them begin and end with."""
    return tuple(f"{prefix}{text}{suffix}" for text in texts)


def programs(texts: Mapping[Callable[[str], Program], Sequence[str]]) -> dict[str, Program]:
    """Return the programs of these texts, by form and text."""
    return {f"{form.__name__} {text}": form(text) for form in texts for text in texts[form]}


REFUSED: Final[Mapping[str, Program]] = {
    "two files dup resource": two_files(
        '"resource":{"opsconsole_host":{"a":{"name":"x"}}}',
        '{"resource":{"opsconsole_host":{"a":{"name":"x"}}}}',
    ),
    "two files dup output": two_files('"output":{"a":{"value":1}}', '{"output":{"a":{"value":1}}}'),
    "two files dup local": two_files('"locals":{"a":1}', '{"locals":{"a":1}}'),
    "two files dup variable": two_files('"variable":{"a":{}}', '{"variable":{"a":{}}}'),
    "two files dup provider": two_files(
        '"provider":{"opsconsole":{}}', '{"provider":{"opsconsole":{}}}'
    ),
    "two files dup rp": two_files('"locals":{}', f"{{{REQUIRED}}}"),
    "two files backend": {
        "a.tf.json": '{"terraform":{"backend":{"local":{}}}}',
        "b.tf.json": '{"terraform":{"backend":{"local":{}}}}',
    },
    **programs(
        {
            lifecycle: (
                '"prevent_destroy":true,"prevent_destroy":false',
                '"prevent_destroy":true},"lifecycle":{"create_before_destroy":false',
                *each('"prevent_destroy":', '"${true}"', "null", "1"),
                '"foo":1',
                '"create_before_destroy":null',
                *each(
                    '"ignore_changes":', '["all"]', '["*"]', '["*","name"]', '"name"', '["nope"]'
                ),
                *each('"ignore_changes":', "[5]", "null", "{}", '["${name}"]'),
                *each(
                    '"replace_triggered_by":', '"opsconsole_host.a"', '["local.x"]', "[5]", "null"
                ),
            ),
            attribute: (
                '"name":"y"',
                *each('"tags":', '["a:b"],"timeouts":{"delete":"2m","delete":"3m"}', '{"a":"b"}'),
                '"lifecycle":[{"prevent_destroy":true},{"create_before_destroy":false}]',
                '"lifecycle":"x"',
                '"lifecycle":{"replace_triggered_by":["${opsconsole_host.b}"]}},"b":{"name":"y"',
                *each('"depends_on":', '"opsconsole_host.b"},"b":{"name":"y"', '["a b"]'),
                '"depends_on":["${opsconsole_host.b}"]},"b":{"name":"y"',
                *each('"depends_on":', '["upper(\\"a\\")"]', "[5]", "null", "[null]"),
                *each('"depends_on":', '["opsconsole_host.b"]', '["opsconsole_hst.b"]', '["foo"]'),
                *each('"depends_on":', '["var.v"]', '["local.v"]', '["each.key"]'),
                *each(
                    '"depends_on":', '["opsconsole_host.b.name"]},"b":{"name":"y"', '["self.id"]'
                ),
                '"depends_on":{}',
                *each(
                    '"provider":', '"opsconsole.k"', '"aws"', '"a b"', '"opsconsole.k.z"', "null"
                ),
                *each('"provider":', "5", '["opsconsole"]'),
                *each('"count":', '1,"for_each":{}', "null", '"two"', "[1]", "-1", "1.5", "1e30"),
                '"count":"${var.nope}"',
                *each('"for_each":', '["a"]', "5", '{"k":1},"depends_on":["each.key"]'),
                '"nope":1',
                '"target_port":"abc"',
                '"locals":{}',
            ),
            beside_host: (
                '"resource":{"opsconsole_host":{"a":{"name":"x"}}}',
                '"moved":{"from":"opsconsole_host.z"}',
                '"moved":{"from":"z y","to":"opsconsole_host.a"}',
                '"moved":{"from":"opsconsole_host.z","to":"opsconsole_host.a","foo":1}',
                '"moved":{"from":"${opsconsole_host.z}","to":"opsconsole_host.a"}',
                *each('"import":', '{"id":"hst_1"}', '{"to":"opsconsole_host.a"}'),
                '"import":{"to":"opsconsole_host.a","id":"hst_1","foo":1}',
                '"import":[{"to":"opsconsole_host.a","id":"hst_1"},{"to":"opsconsole_host.a","id":"hst_2"}]',
                '"import":{"to":"opsconsole_host.a","id":"hst_1","provider":5}',
                '"import":{"to":"data.opsconsole_specialty.a","id":"hst_1"}',
                '"import":{"to":"${opsconsole_host.a}","id":"hst_1"}',
                '"import":{"to":"opsconsole_host.a","id":null}',
                '"import":{"to":"opsconsole_host.a","id":"x","provider":null}',
            ),
            hosts: (
                *each(
                    '"a":', '{"name":"x"},"a":{"name":"y"}', '[{"name":"x"},{"name":"x"}]', '"x"'
                ),
                *each('"a":', "{}", '{"name":["x"]}', '{"name":"${each.key}"}'),
                *each('"a":', '{"name":"${count.index}"}', '{"name":"${self.name}"}'),
                '"a":{"name":"${opsconsole_host.b.nope}"},"b":{"name":"y"}',
                *each(
                    '"a":', '{"name":"${opsconsole_host.b.id}"}', '{"name":"${"}', '{"name":"${}"}'
                ),
                '"a":{"name":"${opsconsole_host.b.id}"},"b":{"name":"${opsconsole_host.a.id}"}',
                *each('"', "../x y", "1a", "a.b", "", "-a", "a[0]", "a ", suffix='":{"name":"x"}'),
                *each('"', "a²", "a😀", suffix='":{"name":"x"}'),
            ),
            specialty: (
                *each('"lifecycle":', '{"prevent_destroy":true}', '{"create_before_destroy":true}'),
                '"lifecycle":{"ignore_changes":["key"]}',
                '"provisioner":{"local-exec":{}}',
                '"connection":{}',
            ),
            output: (
                '"value":2',
                '"foo":2',
                *each('"depends_on":', '"x"', "[5]", '["a b"]', '["opsconsole_host.nope"]', "null"),
                *each('"sensitive":', '"yes"', "null"),
                '"description":null',
                '"ephemeral":true',
                '"precondition":{"condition":true,"error_message":"x"}',
            ),
            variable: (
                '},"a":{',
                '"nothing":1',
                *each('"type":', '"banana"', "5", '"number","default":"x"', "null", '"${string}"'),
                *each('"sensitive":', '"yes"', "null", "1"),
                '"nullable":false,"default":null',
                '"validation":{"error_message":"x"}',
                '"validation":{"condition":"${var.a}","error_message":"x","foo":1}',
                '"validation":{"condition":true,"error_message":"x"}',
            ),
            provider: (
                '[{"alias":"a b"}]',
                '[{"alias":""}]',
                "[{},{}]",
                '{},"opsconsole":{}',
                '[{"alias":"a"},{"alias":"a"}]',
                '[{"alias":"k"}]},"resource":{"opsconsole_host":{"a":{"name":"x","provider":"${opsconsole.k}"}}',
                '[{"alias":5}]',
                '[{"alias":null}]',
                '[{"alias":"${1}"}]',
                '[{"alias":"k","for_each":{}}]',
                '[{"count":1}]',
                '[{"depends_on":[]}]',
                '[{"source":"x"}]',
            ),
            within: (
                *each('"locals":', '{"a":{"x":1,"x":2}}', '{"a":[{"x":1,"x":2}]}', '{"a":1,"a":2}'),
                *each('"locals":', '{"a":1},"locals":{"a":2}', '{"a b":1}', "[1]", '"x"'),
                *each('"locals":', '{"a":"${local.b}","b":"${local.a}"}', '{"a":"${local.a}"}'),
                *each('"output":', '{"a":{"value":1},"a":{"value":1}}', '{"a b":{"value":1}}'),
                *each(
                    '"output":', '{"":{"value":1}}', '{"a":{}}', '{"a":[{"value":1},{"value":2}]}'
                ),
                '"output":null',
                *each('"resource":', '{"ops console":{"a":{}}}', "null", '"x"'),
                '"resource":{"opsconsole_host":null}',
                *each('"variable":', '{"a b":{}}', '{"a":[{},{}]}'),
                '"variable":{"v":{"default":1}},"resource":{"opsconsole_host":{"a":{"name":"x","depends_on":["var.v.x"]}}}',
                '"variable":null',
                *each('"variable":{"', "count", "source", "version", "providers", suffix='":{}}'),
                *each(
                    '"variable":{"', "for_each", "lifecycle", "depends_on", "locals", suffix='":{}}'
                ),
                *each('"provider":', '{"a b":{}}', "null"),
                '"resources":{}',
                '"removed":{"from":"opsconsole_host.z[0]"}',
                '"removed":{"lifecycle":{"destroy":false}}',
                '"removed":{"from":"opsconsole_host.z","foo":1}',
                '"removed":{"from":"opsconsole_host.z","lifecycle":{"destroy":"${true}"}}',
                '"removed":{"from":"opsconsole_host.z","lifecycle":{"destroy":false,"prevent_destroy":true}}',
                '"removed":{"from":"data.opsconsole_specialty.z"}',
                '"removed":{"from":"${opsconsole_host.z}"}',
                '"removed":{"from":"opsconsole_host.z","lifecycle":{"destroy":null}}',
                '"data":{"opsconsole_specialty":{"s t":{"key":"x"}}}',
                '"data":{"opsconsole_specialty":{"s":[{"key":"x"},{"key":"x"}]}}',
                '"data":{"opsconsole_specialty":{"s":{"key":"x"}}},"resource":{"opsconsole_host":{"a":{"name":"x","depends_on":["data.opsconsole_specialty.s.id"]}}}',
                '"data":null',
                '"check":{"a":{"assert":{"condition":true,"error_message":"x"}}}',
                '"module":{"a":{}}',
                '"ephemeral":{}',
                '"import":[{"to":"opsconsole_host.a[\\"k\\"]","id":"hst_1"},{"to":"opsconsole_host.a[\\"k\\"]","id":"hst_2"}],"resource":{"opsconsole_host":{"a":{"name":"x","for_each":{"k":1,"l":2}}}}',
            ),
            local: (
                "1,",
                "NaN",
                "-Infinity",
                "01",
                '"\x01"',
                '"\t"',
                '{"${1}":2,"1":3}',
                '{"${null}":2}',
                '"${\\"\\\\q\\"}"',
                '"%{ foo }"',
                '"%{ if true }x"',
                '"${foo(1)}"',
                '"${upper()}"',
                '"${upper([])}"',
                '"${local.b}"',
                '"${var.b}"',
                '"${path.foo}"',
                '"${terraform.foo}"',
                '"${local}"',
                '"${opsconsole_host}"',
            ),
            required_provider: ('"foo":1', *each('"version":', '"x"', '""', '"v0.1"', "0.1")),
            settings: (
                *each('"required_version":', '"banana"', "5", '""', '">= 1.x"'),
                *each('"backend":', '{"local":{},"http":{}}', '{"local":{},"local":{}}'),
                '"backend":{"local":{}},"cloud":{}',
                '"foo":1',
                '"required_providers":{"opsconsole":5}',
                '"required_providers":[{"opsconsole":{"source":"opsconsole/opsconsole"}},{"opsconsole":{"source":"opsconsole/opsconsole"}}]',
                '"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole"},"opsconsole":{"source":"opsconsole/opsconsole"}}',
                '"required_providers":{"opsconsole":{"source":"a b"}}',
                '"required_providers":{"Ops Console":{"source":"opsconsole/opsconsole"}}',
                '"required_providers":{"opsconsole":{"source":"${var.x}"}}',
                '"required_providers":{"opsconsole":null}',
                '"required_providers":{"OpsConsole":{"source":"opsconsole/opsconsole"}}',
                '"required_providers":{"ops_console":{"source":"opsconsole/opsconsole"}}',
                *each('"experiments":', '["foo"]', "[]"),
            ),
            one: (
                '"x"',
                "null",
                "[1]",
                '{"terraform":[{"backend":{"local":{}}},{"backend":{"local":{}}}]}',
                '{"terraform":"x"}',
                '\ufeff{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole"}}},"resource":{"opsconsole_host":{"a":{"name":"x"}}}}',
                '{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole"}}},"resource":{"opsconsole_host":{"a":{"name":"x"}}}}x',
                "",
                "  ",
            ),
        }
    ),
}
"""Terraform and the native engine refuse each of these."""

ACCEPTED: Final[Mapping[str, Program]] = {
    "two files required_version": {
        "a.tf.json": '{"terraform":{"required_version":">= 1.0"}}',
        "b.tf.json": '{"terraform":{"required_version":">= 1.1"}}',
    },
    **programs(
        {
            lifecycle: (
                '"prevent_destroy":"true"',
                *each('"ignore_changes":', '"all"', '["name","name"]', '["id"]'),
                '"replace_triggered_by":[]',
            ),
            attribute: (
                '"lifecycle":null',
                '"lifecycle":{"replace_triggered_by":["opsconsole_host.b.name"]}},"b":{"name":"y"',
                *each('"lifecycle":', '[{"prevent_destroy":true}]', "[]"),
                *each('"depends_on":', '["opsconsole_host.a"]', '["path.module"]'),
                '"depends_on":["opsconsole_host.b[0]"]},"b":{"count":1,"name":"y"',
                '"depends_on":["opsconsole_host.b","opsconsole_host.b"]},"b":{"name":"y"',
                '"depends_on":[]',
                '"provider":"opsconsole"',
                '"count":"2"',
            ),
            beside_host: (
                '"moved":{"from":"opsconsole_host.z","to":"opsconsole_host.a"}',
                '"moved":[{"from":"opsconsole_host.z","to":"opsconsole_host.a"},{"from":"opsconsole_host.z","to":"opsconsole_host.a"}]',
                '"moved":{"from":"opsconsole_host.a","to":"opsconsole_host.a"}',
                '"moved":[{"from":"opsconsole_host.z","to":"opsconsole_host.y"},{"from":"opsconsole_host.y","to":"opsconsole_host.z"}]',
                '"moved":[{"from":"opsconsole_host.z","to":"opsconsole_host.a"},{"from":"opsconsole_host.y","to":"opsconsole_host.a"}]',
                '"import":{"to":"opsconsole_host.a","id":"hst_1"}',
                '"import":{"to":"opsconsole_host.q","id":"hst_1"}',
                '"import":{"for_each":{},"to":"opsconsole_host.a","id":"x"}',
                '"import":{"to":"opsconsole_host.a","id":5}',
            ),
            hosts: (
                *each(
                    '"', "a", "é", "a-b_", "_a", "a·b", "a٣", "主", "count", suffix='":{"name":"x"}'
                ),
                '"a":{"name":"x"}}},"resource":{"opsconsole_host":{"b":{"name":"x"}',
                '"a":{"name":"x"}},"opsconsole_host":{"b":{"name":"x"}',
                *each('"a":', '{"//":"c","//":"d","name":"x"}', '{"//":{"a":1,"a":2},"name":"x"}'),
                *each('"a":', '[{"name":"x"}]', "[]", "null", '{"name":5}'),
            ),
            specialty: ('"lifecycle":{}',),
            variable: (
                '"default":"${1+1}"',
                *each('"description":', '"${1+1}"', "5"),
                '"sensitive":"true"',
                '"nullable":"false","default":1',
                '"validation":[{"condition":"${var.a != 1}","error_message":"x"},{"condition":"${var.a != 2}","error_message":"x"}]',
                '"validation":null',
            ),
            provider: (
                '{"version":"1"}',
                '[{"alias":"k"}]},"resource":{"opsconsole_host":{"a":{"name":"x","provider":"opsconsole.k"}}',
            ),
            within: (
                *each(
                    '"locals":', '{"a":1},"locals":{"b":2}', '{"é":1}', '[{"a":1},{"b":2}]', "null"
                ),
                '"locals":{"v":1},"resource":{"opsconsole_host":{"a":{"name":"x","depends_on":["local.v"]}}}',
                '"locals":{"count":1}',
                '"terraform":{"required_version":">= 1.0"}',
                '"resource":{"opsconsole_host":[{"a":{"name":"x"}},{"b":{"name":"x"}}]}',
                '"resource":[{"opsconsole_host":{"a":{"name":"x"}}},{"opsconsole_host":{"b":{"name":"x"}}}]',
                '"//":{"a":1}',
                '"variable":{"a":[{}]}',
                '"variable":{"v":{"default":1}},"resource":{"opsconsole_host":{"a":{"name":"x","depends_on":["var.v"]}}}',
                '"variable":{"a":null}',
                '"moved":{"from":"opsconsole_host.b","to":"opsconsole_host.a"},"resource":{"opsconsole_host":{"a":{"name":"x"},"b":{"name":"x"}}}',
                '"moved":[{"from":"opsconsole_host.z","to":"opsconsole_host.a"},{"from":"opsconsole_host.z","to":"opsconsole_host.b"}],"resource":{"opsconsole_host":{"a":{"name":"x"},"b":{"name":"x"}}}',
                '"moved":{"from":"data.opsconsole_specialty.z","to":"data.opsconsole_specialty.a"}',
                '"moved":null',
                '"moved":{"from":"opsconsole_host.z","to":"opsconsole_host.a[0]"},"resource":{"opsconsole_host":{"a":{"name":"x","count":1}}}',
                '"removed":{"from":"opsconsole_host.z","lifecycle":{"destroy":false}}',
                '"removed":{"from":"opsconsole_host.z"}',
                '"removed":{"from":"opsconsole_host.z","lifecycle":{"destroy":false}},"resource":{"opsconsole_host":{"z":{"name":"x"}}}',
                '"removed":[{"from":"opsconsole_host.z"},{"from":"opsconsole_host.z"}]',
                '"removed":{"from":"opsconsole_host.z","lifecycle":null}',
                '"removed":{"from":"opsconsole_host.z","lifecycle":{"destroy":"true"}}',
                '"removed":{"from":"aws_x.z"}',
                '"data":{"opsconsole_specialty":{"s":{"key":"x"}}}',
                '"data":{"opsconsole_specialty":{"s":{"key":"x"}}},"resource":{"opsconsole_host":{"a":{"name":"x","depends_on":["data.opsconsole_specialty.s"]}}}',
                *each('"output":', '{"a":null}', '{"count":{"value":1}}'),
                '"import":null',
            ),
            local: (
                "1e400",
                '"\\ud800"',
                '"\\ud83d\\ude00"',
                '"\\u0000"',
                '{"${1}":2}',
                '{"//":2,"b":3}',
            ),
            required_provider: (*each('"version":', '">= 0.0.1, < 99"', '">=0.0.1-beta.1"'),),
            settings: (
                *each('"backend":', '{"foo":{}}', '{"local":{"foo":"x"}}'),
                '"required_providers":null',
                *each('"required_version":', '"~> 1.2, != 1.3.0"', "null"),
                '"provider_meta":{"opsconsole":{}}',
            ),
            one: (
                '{"terraform":[{"required_version":">= 1.0"},{"required_version":">= 1.1"}]}',
                '[{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole"}}}},{"locals":{"a":1}}]',
                "[]",
                '{"variable":{"p":{"default":"x"}},"terraform":{"backend":{"local":{"path":"${var.p}"}}}}',
                '{"terraform":null}',
                "{}",
                '{"variable":{"a":{"default":"${var.b}"},"b":{"default":1}}}',
            ),
        }
    ),
}
"""Terraform and the native engine accept each of these."""
