"""Programs that Terraform refuses for their form, and some of odd forms that it accepts.

Each is text, because much of what is wrong cannot be written with a dict: names that stand twice.
What Terraform says of each was asked of Terraform itself; a test asks it again.
"""

from collections.abc import Mapping
from typing import Final

Program = Mapping[str, str]
"""Name to text of the files of a program."""

REQUIRED = '"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole"}}}'


def one(text: str) -> Program:
    """A program of one file."""
    return {"main.tf.json": text}


def within(members: str) -> Program:
    """A program that requires the provider and has these members."""
    return one(f"{{{REQUIRED},{members}}}")


def hosts(members: str) -> Program:
    """A program with these hosts."""
    return within(f'"resource":{{"opsconsole_host":{{{members}}}}}')


REFUSED: Final[Mapping[str, Program]] = {
    "two files dup resource": {
        "a.tf.json": "{" + REQUIRED + ',"resource":{"opsconsole_host":{"a":{"name":"x"}}}}',
        "b.tf.json": '{"resource":{"opsconsole_host":{"a":{"name":"x"}}}}',
    },
    "two files dup output": {
        "a.tf.json": "{" + REQUIRED + ',"output":{"a":{"value":1}}}',
        "b.tf.json": '{"output":{"a":{"value":1}}}',
    },
    "two files dup local": {
        "a.tf.json": "{" + REQUIRED + ',"locals":{"a":1}}',
        "b.tf.json": '{"locals":{"a":1}}',
    },
    "two files dup variable": {
        "a.tf.json": "{" + REQUIRED + ',"variable":{"a":{}}}',
        "b.tf.json": '{"variable":{"a":{}}}',
    },
    "two files dup provider": {
        "a.tf.json": "{" + REQUIRED + ',"provider":{"opsconsole":{}}}',
        "b.tf.json": '{"provider":{"opsconsole":{}}}',
    },
    "two files dup rp": {
        "a.tf.json": "{" + REQUIRED + ',"locals":{}}',
        "b.tf.json": "{" + REQUIRED + ',"locals":{}}',
    },
    "two files backend": {
        "a.tf.json": '{"terraform":{"backend":{"local":{}}}}',
        "b.tf.json": '{"terraform":{"backend":{"local":{}}}}',
    },
    "dup top resource same name": within(
        '"resource":{"opsconsole_host":{"a":{"name":"x"}}},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "dup name key": hosts('"a":{"name":"x"},"a":{"name":"y"}'),
    "dup attr": hosts('"a":{"name":"x","name":"y"}'),
    "dup attr in value": hosts(
        '"a":{"name":"x","tags":["a:b"],"timeouts":{"delete":"2m","delete":"3m"}}'
    ),
    "dup in local value": within('"locals":{"a":{"x":1,"x":2}}'),
    "dup in nested list local": within('"locals":{"a":[{"x":1,"x":2}]}'),
    "dup local": within('"locals":{"a":1,"a":2}'),
    "dup locals same": within('"locals":{"a":1},"locals":{"a":2}'),
    "dup variable": within('"variable":{"a":{},"a":{}}'),
    "dup output": within('"output":{"a":{"value":1},"a":{"value":1}}'),
    "dup output value": within('"output":{"a":{"value":1,"value":2}}'),
    "dup in lifecycle": hosts(
        '"a":{"name":"x","lifecycle":{"prevent_destroy":true,"prevent_destroy":false}}'
    ),
    "lifecycle twice": hosts(
        '"a":{"name":"x","lifecycle":[{"prevent_destroy":true},{"create_before_destroy":false}]}'
    ),
    "dup lifecycle key": hosts(
        '"a":{"name":"x","lifecycle":{"prevent_destroy":true},"lifecycle":{"create_before_destroy":false}}'
    ),
    "bad version constraint": one('{"terraform":{"required_version":"banana"}}'),
    "name ../x y": hosts('"../x y":{"name":"x"}'),
    "name 1a": hosts('"1a":{"name":"x"}'),
    "name a.b": hosts('"a.b":{"name":"x"}'),
    "name empty": hosts('"":{"name":"x"}'),
    "name -a": hosts('"-a":{"name":"x"}'),
    "name a[0]": hosts('"a[0]":{"name":"x"}'),
    "name trailing space": hosts('"a ":{"name":"x"}'),
    "name number sub": hosts('"a²":{"name":"x"}'),
    "name emoji": hosts('"a😀":{"name":"x"}'),
    "type bad": within('"resource":{"ops console":{"a":{}}}'),
    "output bad": within('"output":{"a b":{"value":1}}'),
    "output empty": within('"output":{"":{"value":1}}'),
    "local bad": within('"locals":{"a b":1}'),
    "variable bad": within('"variable":{"a b":{}}'),
    "variable reserved count": within('"variable":{"count":{}}'),
    "variable reserved source": within('"variable":{"source":{}}'),
    "variable reserved version": within('"variable":{"version":{}}'),
    "variable reserved providers": within('"variable":{"providers":{}}'),
    "variable reserved for_each": within('"variable":{"for_each":{}}'),
    "variable reserved lifecycle": within('"variable":{"lifecycle":{}}'),
    "variable reserved depends_on": within('"variable":{"depends_on":{}}'),
    "variable reserved locals": within('"variable":{"locals":{}}'),
    "provider bad name": within('"provider":{"a b":{}}'),
    "provider alias bad": within('"provider":{"opsconsole":[{"alias":"a b"}]}'),
    "provider alias empty": within('"provider":{"opsconsole":[{"alias":""}]}'),
    "provider dup": within('"provider":{"opsconsole":[{},{}]}'),
    "provider dup key": within('"provider":{"opsconsole":{},"opsconsole":{}}'),
    "provider dup alias": within('"provider":{"opsconsole":[{"alias":"a"},{"alias":"a"}]}'),
    "resource body list 2": hosts('"a":[{"name":"x"},{"name":"x"}]'),
    "resource body string": hosts('"a":"x"'),
    "resource null": within('"resource":null'),
    "resource string": within('"resource":"x"'),
    "resource type null": within('"resource":{"opsconsole_host":null}'),
    "top string": one('"x"'),
    "top null": one("null"),
    "top list of number": one("[1]"),
    "unknown block": within('"resources":{}'),
    "variable list 2": within('"variable":{"a":[{},{}]}'),
    "variable unknown arg": within('"variable":{"a":{"nothing":1}}'),
    "variable type bad": within('"variable":{"a":{"type":"banana"}}'),
    "variable type number": within('"variable":{"a":{"type":5}}'),
    "variable default mismatch": within('"variable":{"a":{"type":"number","default":"x"}}'),
    "variable sensitive bad": within('"variable":{"a":{"sensitive":"yes"}}'),
    "variable sensitive null": within('"variable":{"a":{"sensitive":null}}'),
    "variable sensitive 1": within('"variable":{"a":{"sensitive":1}}'),
    "variable nullable null default": within('"variable":{"a":{"nullable":false,"default":null}}'),
    "variable validation no cond": within('"variable":{"a":{"validation":{"error_message":"x"}}}'),
    "variable validation extra": within(
        '"variable":{"a":{"validation":{"condition":"${var.a}","error_message":"x","foo":1}}}'
    ),
    "variable validation no self": within(
        '"variable":{"a":{"validation":{"condition":true,"error_message":"x"}}}'
    ),
    "output no value": within('"output":{"a":{}}'),
    "output unknown arg": within('"output":{"a":{"value":1,"foo":2}}'),
    "output list 2": within('"output":{"a":[{"value":1},{"value":2}]}'),
    "output depends string": within('"output":{"a":{"value":1,"depends_on":"x"}}'),
    "output depends number": within('"output":{"a":{"value":1,"depends_on":[5]}}'),
    "output depends bad": within('"output":{"a":{"value":1,"depends_on":["a b"]}}'),
    "output depends unknown": within(
        '"output":{"a":{"value":1,"depends_on":["opsconsole_host.nope"]}}'
    ),
    "output sensitive bad": within('"output":{"a":{"value":1,"sensitive":"yes"}}'),
    "locals list of number": within('"locals":[1]'),
    "locals string": within('"locals":"x"'),
    "lifecycle unknown": hosts('"a":{"name":"x","lifecycle":{"foo":1}}'),
    "lifecycle string": hosts('"a":{"name":"x","lifecycle":"x"}'),
    "lifecycle pd expr": hosts('"a":{"name":"x","lifecycle":{"prevent_destroy":"${true}"}}'),
    "lifecycle pd null": hosts('"a":{"name":"x","lifecycle":{"prevent_destroy":null}}'),
    "lifecycle pd 1": hosts('"a":{"name":"x","lifecycle":{"prevent_destroy":1}}'),
    "lifecycle cbd null": hosts('"a":{"name":"x","lifecycle":{"create_before_destroy":null}}'),
    "ignore [all]": hosts('"a":{"name":"x","lifecycle":{"ignore_changes":["all"]}}'),
    "ignore *": hosts('"a":{"name":"x","lifecycle":{"ignore_changes":["*"]}}'),
    "ignore * twice": hosts('"a":{"name":"x","lifecycle":{"ignore_changes":["*","name"]}}'),
    "ignore string": hosts('"a":{"name":"x","lifecycle":{"ignore_changes":"name"}}'),
    "ignore unknown": hosts('"a":{"name":"x","lifecycle":{"ignore_changes":["nope"]}}'),
    "ignore number": hosts('"a":{"name":"x","lifecycle":{"ignore_changes":[5]}}'),
    "ignore null": hosts('"a":{"name":"x","lifecycle":{"ignore_changes":null}}'),
    "ignore object": hosts('"a":{"name":"x","lifecycle":{"ignore_changes":{}}}'),
    "rtb string": hosts(
        '"a":{"name":"x","lifecycle":{"replace_triggered_by":"opsconsole_host.a"}}'
    ),
    "rtb local": hosts('"a":{"name":"x","lifecycle":{"replace_triggered_by":["local.x"]}}'),
    "rtb number": hosts('"a":{"name":"x","lifecycle":{"replace_triggered_by":[5]}}'),
    "depends string": hosts('"a":{"name":"x","depends_on":"opsconsole_host.b"},"b":{"name":"y"}'),
    "depends bad": hosts('"a":{"name":"x","depends_on":["a b"]}'),
    "depends expr": hosts(
        '"a":{"name":"x","depends_on":["${opsconsole_host.b}"]},"b":{"name":"y"}'
    ),
    "depends call": hosts('"a":{"name":"x","depends_on":["upper(\\"a\\")"]}'),
    "depends number": hosts('"a":{"name":"x","depends_on":[5]}'),
    "depends null": hosts('"a":{"name":"x","depends_on":null}'),
    "depends null el": hosts('"a":{"name":"x","depends_on":[null]}'),
    "depends unknown": hosts('"a":{"name":"x","depends_on":["opsconsole_host.b"]}'),
    "depends unknown type": hosts('"a":{"name":"x","depends_on":["opsconsole_hst.b"]}'),
    "depends one word": hosts('"a":{"name":"x","depends_on":["foo"]}'),
    "depends var unknown": hosts('"a":{"name":"x","depends_on":["var.v"]}'),
    "depends local unknown": hosts('"a":{"name":"x","depends_on":["local.v"]}'),
    "depends each": hosts('"a":{"name":"x","depends_on":["each.key"]}'),
    "depends attr": hosts(
        '"a":{"name":"x","depends_on":["opsconsole_host.b.name"]},"b":{"name":"y"}'
    ),
    "provider alias missing": hosts('"a":{"name":"x","provider":"opsconsole.k"}'),
    "provider other": hosts('"a":{"name":"x","provider":"aws"}'),
    "provider bad": hosts('"a":{"name":"x","provider":"a b"}'),
    "provider three": hosts('"a":{"name":"x","provider":"opsconsole.k.z"}'),
    "provider null": hosts('"a":{"name":"x","provider":null}'),
    "provider number": hosts('"a":{"name":"x","provider":5}'),
    "provider list": hosts('"a":{"name":"x","provider":["opsconsole"]}'),
    "count and for_each": hosts('"a":{"name":"x","count":1,"for_each":{}}'),
    "count null": hosts('"a":{"name":"x","count":null}'),
    "count bad": hosts('"a":{"name":"x","count":"two"}'),
    "count list": hosts('"a":{"name":"x","count":[1]}'),
    "count neg": hosts('"a":{"name":"x","count":-1}'),
    "count frac": hosts('"a":{"name":"x","count":1.5}'),
    "count big": hosts('"a":{"name":"x","count":1e30}'),
    "for_each list": hosts('"a":{"name":"x","for_each":["a"]}'),
    "for_each number": hosts('"a":{"name":"x","for_each":5}'),
    "missing name": hosts('"a":{}'),
    "unknown attr": hosts('"a":{"name":"x","nope":1}'),
    "attr wrong type": hosts('"a":{"name":["x"]}'),
    "attr obj": hosts('"a":{"name":"x","tags":{"a":"b"}}'),
    "attr bad number": hosts('"a":{"name":"x","target_port":"abc"}'),
    "each without for_each": hosts('"a":{"name":"${each.key}"}'),
    "count.index without count": hosts('"a":{"name":"${count.index}"}'),
    "self ref": hosts('"a":{"name":"${self.name}"}'),
    "ref unknown attr": hosts('"a":{"name":"${opsconsole_host.b.nope}"},"b":{"name":"y"}'),
    "ref unknown res": hosts('"a":{"name":"${opsconsole_host.b.id}"}'),
    "unclosed": hosts('"a":{"name":"${"}'),
    "empty interp": hosts('"a":{"name":"${}"}'),
    "cycle": hosts('"a":{"name":"${opsconsole_host.b.id}"},"b":{"name":"${opsconsole_host.a.id}"}'),
    "local cycle": within('"locals":{"a":"${local.b}","b":"${local.a}"}'),
    "local self": within('"locals":{"a":"${local.a}"}'),
    "moved no to": within(
        '"moved":{"from":"opsconsole_host.z"},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "moved bad": within(
        '"moved":{"from":"z y","to":"opsconsole_host.a"},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "moved extra": within(
        '"moved":{"from":"opsconsole_host.z","to":"opsconsole_host.a","foo":1},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "removed key": within('"removed":{"from":"opsconsole_host.z[0]"}'),
    "removed no from": within('"removed":{"lifecycle":{"destroy":false}}'),
    "removed extra": within('"removed":{"from":"opsconsole_host.z","foo":1}'),
    "removed destroy expr": within(
        '"removed":{"from":"opsconsole_host.z","lifecycle":{"destroy":"${true}"}}'
    ),
    "removed lifecycle extra": within(
        '"removed":{"from":"opsconsole_host.z","lifecycle":{"destroy":false,"prevent_destroy":true}}'
    ),
    "removed data": within('"removed":{"from":"data.opsconsole_specialty.z"}'),
    "import no to": within(
        '"import":{"id":"hst_1"},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "import no id": within(
        '"import":{"to":"opsconsole_host.a"},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "import extra": within(
        '"import":{"to":"opsconsole_host.a","id":"hst_1","foo":1},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "import dup to": within(
        '"import":[{"to":"opsconsole_host.a","id":"hst_1"},{"to":"opsconsole_host.a","id":"hst_2"}],"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "import provider bad": within(
        '"import":{"to":"opsconsole_host.a","id":"hst_1","provider":5},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "import data": within(
        '"import":{"to":"data.opsconsole_specialty.a","id":"hst_1"},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "data bad name": within('"data":{"opsconsole_specialty":{"s t":{"key":"x"}}}'),
    "data dup": within('"data":{"opsconsole_specialty":{"s":[{"key":"x"},{"key":"x"}]}}'),
    "data lifecycle": within(
        '"data":{"opsconsole_specialty":{"s":{"key":"x","lifecycle":{"prevent_destroy":true}}}}'
    ),
    "data lifecycle cbd": within(
        '"data":{"opsconsole_specialty":{"s":{"key":"x","lifecycle":{"create_before_destroy":true}}}}'
    ),
    "data lifecycle ignore": within(
        '"data":{"opsconsole_specialty":{"s":{"key":"x","lifecycle":{"ignore_changes":["key"]}}}}'
    ),
    "data provisioner": within(
        '"data":{"opsconsole_specialty":{"s":{"key":"x","provisioner":{"local-exec":{}}}}}'
    ),
    "data connection": within('"data":{"opsconsole_specialty":{"s":{"key":"x","connection":{}}}}'),
    "backend two": one('{"terraform":{"backend":{"local":{},"http":{}}}}'),
    "backend twice": one('{"terraform":[{"backend":{"local":{}}},{"backend":{"local":{}}}]}'),
    "backend dup key": one('{"terraform":{"backend":{"local":{},"local":{}}}}'),
    "backend and cloud": one('{"terraform":{"backend":{"local":{}},"cloud":{}}}'),
    "terraform unknown": one('{"terraform":{"foo":1}}'),
    "terraform string": one('{"terraform":"x"}'),
    "required_version number": one('{"terraform":{"required_version":5}}'),
    "rp number": one('{"terraform":{"required_providers":{"opsconsole":5}}}'),
    "rp twice": one(
        '{"terraform":{"required_providers":[{"opsconsole":{"source":"opsconsole/opsconsole"}},{"opsconsole":{"source":"opsconsole/opsconsole"}}]}}'
    ),
    "rp dup key": one(
        '{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole"},"opsconsole":{"source":"opsconsole/opsconsole"}}}}'
    ),
    "rp extra": one(
        '{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole","foo":1}}}}'
    ),
    "rp bad source": one('{"terraform":{"required_providers":{"opsconsole":{"source":"a b"}}}}'),
    "rp bad name": one(
        '{"terraform":{"required_providers":{"Ops Console":{"source":"opsconsole/opsconsole"}}}}'
    ),
    "rp bad version": one(
        '{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole","version":"x"}}}}'
    ),
    "rp expr": one('{"terraform":{"required_providers":{"opsconsole":{"source":"${var.x}"}}}}'),
    "experiments": one('{"terraform":{"experiments":["foo"]}}'),
    "experiments empty": one('{"terraform":{"experiments":[]}}'),
    "bom": one(
        '\ufeff{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole"}}},"resource":{"opsconsole_host":{"a":{"name":"x"}}}}'
    ),
    "trailing garbage": one(
        '{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole"}}},"resource":{"opsconsole_host":{"a":{"name":"x"}}}}x'
    ),
    "trailing comma": one('{"locals":{"a":1,}}'),
    "nan": one('{"locals":{"a":NaN}}'),
    "infinity": one('{"locals":{"a":-Infinity}}'),
    "leading zero": one('{"locals":{"a":01}}'),
    "control char": one('{"locals":{"a":"\x01"}}'),
    "tab in string": one('{"locals":{"a":"\t"}}'),
    "empty file": one(""),
    "spaces": one("  "),
    "expr keys same": one('{"locals":{"a":{"${1}":2,"1":3}}}'),
    "expr key null": one('{"locals":{"a":{"${null}":2}}}'),
    "check": within('"check":{"a":{"assert":{"condition":true,"error_message":"x"}}}'),
    "module bad": within('"module":{"a":{}}'),
    "ephemeral": within('"ephemeral":{}'),
    "bad escape expr": one('{"locals":{"a":"${\\"\\\\q\\"}"}}'),
    "directive bad": one('{"locals":{"a":"%{ foo }"}}'),
    "directive unclosed": one('{"locals":{"a":"%{ if true }x"}}'),
    "unknown function": one('{"locals":{"a":"${foo(1)}"}}'),
    "wrong arg count": one('{"locals":{"a":"${upper()}"}}'),
    "unused local error": one('{"locals":{"a":"${upper([])}"}}'),
    "unknown local": one('{"locals":{"a":"${local.b}"}}'),
    "unknown var": one('{"locals":{"a":"${var.b}"}}'),
    "path bad": one('{"locals":{"a":"${path.foo}"}}'),
    "terraform bad": one('{"locals":{"a":"${terraform.foo}"}}'),
    "bare root": one('{"locals":{"a":"${local}"}}'),
    "bare res": one('{"locals":{"a":"${opsconsole_host}"}}'),
    "provider interp": within(
        '"provider":{"opsconsole":[{"alias":"k"}]},"resource":{"opsconsole_host":{"a":{"name":"x","provider":"${opsconsole.k}"}}}'
    ),
    "ignore interp": hosts('"a":{"name":"x","lifecycle":{"ignore_changes":["${name}"]}}'),
    "rtb interp": hosts(
        '"a":{"name":"x","lifecycle":{"replace_triggered_by":["${opsconsole_host.b}"]}},"b":{"name":"y"}'
    ),
    "rtb null": hosts('"a":{"name":"x","lifecycle":{"replace_triggered_by":null}}'),
    "moved interp": within(
        '"moved":{"from":"${opsconsole_host.z}","to":"opsconsole_host.a"},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "removed interp": within('"removed":{"from":"${opsconsole_host.z}"}'),
    "import interp": within(
        '"import":{"to":"${opsconsole_host.a}","id":"hst_1"},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "import dup key to": within(
        '"import":[{"to":"opsconsole_host.a[\\"k\\"]","id":"hst_1"},{"to":"opsconsole_host.a[\\"k\\"]","id":"hst_2"}],"resource":{"opsconsole_host":{"a":{"name":"x","for_each":{"k":1,"l":2}}}}'
    ),
    "depends each with": hosts('"a":{"name":"x","for_each":{"k":1},"depends_on":["each.key"]}'),
    "depends self.": hosts('"a":{"name":"x","depends_on":["self.id"]}'),
    "depends var attr": within(
        '"variable":{"v":{"default":1}},"resource":{"opsconsole_host":{"a":{"name":"x","depends_on":["var.v.x"]}}}'
    ),
    "depends data attr": within(
        '"data":{"opsconsole_specialty":{"s":{"key":"x"}}},"resource":{"opsconsole_host":{"a":{"name":"x","depends_on":["data.opsconsole_specialty.s.id"]}}}'
    ),
    "depends obj": hosts('"a":{"name":"x","depends_on":{}}'),
    "variable null": within('"variable":null'),
    "output null": within('"output":null'),
    "data null": within('"data":null'),
    "provider null blk": within('"provider":null'),
    "rp entry null": one('{"terraform":{"required_providers":{"opsconsole":null}}}'),
    "rp upper": one(
        '{"terraform":{"required_providers":{"OpsConsole":{"source":"opsconsole/opsconsole"}}}}'
    ),
    "rp under": one(
        '{"terraform":{"required_providers":{"ops_console":{"source":"opsconsole/opsconsole"}}}}'
    ),
    "rp version empty": one(
        '{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole","version":""}}}}'
    ),
    "rp version v": one(
        '{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole","version":"v0.1"}}}}'
    ),
    "rp version number": one(
        '{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole","version":0.1}}}}'
    ),
    "required_version empty": one('{"terraform":{"required_version":""}}'),
    "required_version word": one('{"terraform":{"required_version":">= 1.x"}}'),
    "count unknown var": hosts('"a":{"name":"x","count":"${var.nope}"}'),
    "output description null": within('"output":{"a":{"value":1,"description":null}}'),
    "output sensitive null": within('"output":{"a":{"value":1,"sensitive":null}}'),
    "output ephemeral root": within('"output":{"a":{"value":1,"ephemeral":true}}'),
    "output depends null": within('"output":{"a":{"value":1,"depends_on":null}}'),
    "output precondition": within(
        '"output":{"a":{"value":1,"precondition":{"condition":true,"error_message":"x"}}}'
    ),
    "variable type null": within('"variable":{"a":{"type":null}}'),
    "variable type interp": within('"variable":{"a":{"type":"${string}"}}'),
    "provider alias number": within('"provider":{"opsconsole":[{"alias":5}]}'),
    "provider alias null": within('"provider":{"opsconsole":[{"alias":null}]}'),
    "provider alias interp": within('"provider":{"opsconsole":[{"alias":"${1}"}]}'),
    "provider for_each": within('"provider":{"opsconsole":[{"alias":"k","for_each":{}}]}'),
    "provider count": within('"provider":{"opsconsole":[{"count":1}]}'),
    "provider depends_on": within('"provider":{"opsconsole":[{"depends_on":[]}]}'),
    "provider source": within('"provider":{"opsconsole":[{"source":"x"}]}'),
    "resource reserved": hosts('"a":{"name":"x","locals":{}}'),
    "import id null": within(
        '"import":{"to":"opsconsole_host.a","id":null},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "import provider null": within(
        '"import":{"to":"opsconsole_host.a","id":"x","provider":null},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "removed destroy null": within(
        '"removed":{"from":"opsconsole_host.z","lifecycle":{"destroy":null}}'
    ),
}
"""Terraform and the native engine refuse each of these."""

ACCEPTED: Final[Mapping[str, Program]] = {
    "two files required_version": {
        "a.tf.json": '{"terraform":{"required_version":">= 1.0"}}',
        "b.tf.json": '{"terraform":{"required_version":">= 1.1"}}',
    },
    "ok": hosts('"a":{"name":"x"}'),
    "dup top resource": within(
        '"resource":{"opsconsole_host":{"a":{"name":"x"}}},"resource":{"opsconsole_host":{"b":{"name":"x"}}}'
    ),
    "dup type key": hosts('"a":{"name":"x"}},"opsconsole_host":{"b":{"name":"x"}'),
    "dup locals": within('"locals":{"a":1},"locals":{"b":2}'),
    "dup comment": hosts('"a":{"//":"c","//":"d","name":"x"}'),
    "dup in comment": hosts('"a":{"//":{"a":1,"a":2},"name":"x"}'),
    "dup terraform": within('"terraform":{"required_version":">= 1.0"}'),
    "required_version twice": one(
        '{"terraform":[{"required_version":">= 1.0"},{"required_version":">= 1.1"}]}'
    ),
    "name é": hosts('"é":{"name":"x"}'),
    "name a-b_": hosts('"a-b_":{"name":"x"}'),
    "name _a": hosts('"_a":{"name":"x"}'),
    "name middle dot": hosts('"a·b":{"name":"x"}'),
    "name arabic digit": hosts('"a٣":{"name":"x"}'),
    "name cjk": hosts('"主":{"name":"x"}'),
    "name count": hosts('"count":{"name":"x"}'),
    "local é": within('"locals":{"é":1}'),
    "provider version": within('"provider":{"opsconsole":{"version":"1"}}'),
    "resource body list 1": hosts('"a":[{"name":"x"}]'),
    "resource body list 0": hosts('"a":[]'),
    "resource body null": hosts('"a":null'),
    "resource type list": within(
        '"resource":{"opsconsole_host":[{"a":{"name":"x"}},{"b":{"name":"x"}}]}'
    ),
    "resource list": within(
        '"resource":[{"opsconsole_host":{"a":{"name":"x"}}},{"opsconsole_host":{"b":{"name":"x"}}}]'
    ),
    "top list": one(
        '[{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole"}}}},{"locals":{"a":1}}]'
    ),
    "top empty list": one("[]"),
    "unknown block comment": within('"//":{"a":1}'),
    "variable body list": within('"variable":{"a":[{}]}'),
    "variable default expr": within('"variable":{"a":{"default":"${1+1}"}}'),
    "variable description expr": within('"variable":{"a":{"description":"${1+1}"}}'),
    "variable description number": within('"variable":{"a":{"description":5}}'),
    "variable sensitive string": within('"variable":{"a":{"sensitive":"true"}}'),
    "locals list": within('"locals":[{"a":1},{"b":2}]'),
    "locals null": within('"locals":null'),
    "lifecycle null": hosts('"a":{"name":"x","lifecycle":null}'),
    "lifecycle pd string": hosts('"a":{"name":"x","lifecycle":{"prevent_destroy":"true"}}'),
    "ignore all": hosts('"a":{"name":"x","lifecycle":{"ignore_changes":"all"}}'),
    "ignore dup": hosts('"a":{"name":"x","lifecycle":{"ignore_changes":["name","name"]}}'),
    "ignore id": hosts('"a":{"name":"x","lifecycle":{"ignore_changes":["id"]}}'),
    "depends self": hosts('"a":{"name":"x","depends_on":["opsconsole_host.a"]}'),
    "depends var": within(
        '"variable":{"v":{"default":1}},"resource":{"opsconsole_host":{"a":{"name":"x","depends_on":["var.v"]}}}'
    ),
    "depends local": within(
        '"locals":{"v":1},"resource":{"opsconsole_host":{"a":{"name":"x","depends_on":["local.v"]}}}'
    ),
    "depends path": hosts('"a":{"name":"x","depends_on":["path.module"]}'),
    "depends index": hosts(
        '"a":{"name":"x","depends_on":["opsconsole_host.b[0]"]},"b":{"count":1,"name":"y"}'
    ),
    "depends dup": hosts(
        '"a":{"name":"x","depends_on":["opsconsole_host.b","opsconsole_host.b"]},"b":{"name":"y"}'
    ),
    "provider string": hosts('"a":{"name":"x","provider":"opsconsole"}'),
    "provider alias": within(
        '"provider":{"opsconsole":[{"alias":"k"}]},"resource":{"opsconsole_host":{"a":{"name":"x","provider":"opsconsole.k"}}}'
    ),
    "count string": hosts('"a":{"name":"x","count":"2"}'),
    "attr num for string": hosts('"a":{"name":5}'),
    "moved": within(
        '"moved":{"from":"opsconsole_host.z","to":"opsconsole_host.a"},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "moved dup": within(
        '"moved":[{"from":"opsconsole_host.z","to":"opsconsole_host.a"},{"from":"opsconsole_host.z","to":"opsconsole_host.a"}],"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "moved self": within(
        '"moved":{"from":"opsconsole_host.a","to":"opsconsole_host.a"},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "moved existing": within(
        '"moved":{"from":"opsconsole_host.b","to":"opsconsole_host.a"},"resource":{"opsconsole_host":{"a":{"name":"x"},"b":{"name":"x"}}}'
    ),
    "moved chain cycle": within(
        '"moved":[{"from":"opsconsole_host.z","to":"opsconsole_host.y"},{"from":"opsconsole_host.y","to":"opsconsole_host.z"}],"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "moved two to one": within(
        '"moved":[{"from":"opsconsole_host.z","to":"opsconsole_host.a"},{"from":"opsconsole_host.y","to":"opsconsole_host.a"}],"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "moved one to two": within(
        '"moved":[{"from":"opsconsole_host.z","to":"opsconsole_host.a"},{"from":"opsconsole_host.z","to":"opsconsole_host.b"}],"resource":{"opsconsole_host":{"a":{"name":"x"},"b":{"name":"x"}}}'
    ),
    "moved data": within(
        '"moved":{"from":"data.opsconsole_specialty.z","to":"data.opsconsole_specialty.a"}'
    ),
    "removed": within('"removed":{"from":"opsconsole_host.z","lifecycle":{"destroy":false}}'),
    "removed no lc": within('"removed":{"from":"opsconsole_host.z"}'),
    "removed present": within(
        '"removed":{"from":"opsconsole_host.z","lifecycle":{"destroy":false}},"resource":{"opsconsole_host":{"z":{"name":"x"}}}'
    ),
    "removed twice": within(
        '"removed":[{"from":"opsconsole_host.z"},{"from":"opsconsole_host.z"}]'
    ),
    "import": within(
        '"import":{"to":"opsconsole_host.a","id":"hst_1"},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "import unknown": within(
        '"import":{"to":"opsconsole_host.q","id":"hst_1"},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "data": within('"data":{"opsconsole_specialty":{"s":{"key":"x"}}}'),
    "data lifecycle empty": within(
        '"data":{"opsconsole_specialty":{"s":{"key":"x","lifecycle":{}}}}'
    ),
    "backend unknown": one('{"terraform":{"backend":{"foo":{}}}}'),
    "backend extra arg": one('{"terraform":{"backend":{"local":{"foo":"x"}}}}'),
    "backend var": one(
        '{"variable":{"p":{"default":"x"}},"terraform":{"backend":{"local":{"path":"${var.p}"}}}}'
    ),
    "terraform null": one('{"terraform":null}'),
    "big number": one('{"locals":{"a":1e400}}'),
    "surrogate": one('{"locals":{"a":"\\ud800"}}'),
    "surrogate pair": one('{"locals":{"a":"\\ud83d\\ude00"}}'),
    "nul char": one('{"locals":{"a":"\\u0000"}}'),
    "empty object": one("{}"),
    "expr key": one('{"locals":{"a":{"${1}":2}}}'),
    "comment value": one('{"locals":{"a":{"//":2,"b":3}}}'),
    "var in default": one('{"variable":{"a":{"default":"${var.b}"},"b":{"default":1}}}'),
    "rtb attr": hosts(
        '"a":{"name":"x","lifecycle":{"replace_triggered_by":["opsconsole_host.b.name"]}},"b":{"name":"y"}'
    ),
    "depends data": within(
        '"data":{"opsconsole_specialty":{"s":{"key":"x"}}},"resource":{"opsconsole_host":{"a":{"name":"x","depends_on":["data.opsconsole_specialty.s"]}}}'
    ),
    "depends empty": hosts('"a":{"name":"x","depends_on":[]}'),
    "variable a null": within('"variable":{"a":null}'),
    "output a null": within('"output":{"a":null}'),
    "moved null": within('"moved":null'),
    "import null": within('"import":null'),
    "rp null": one('{"terraform":{"required_providers":null}}'),
    "rp version list": one(
        '{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole","version":">= 0.0.1, < 99"}}}}'
    ),
    "rp version pre": one(
        '{"terraform":{"required_providers":{"opsconsole":{"source":"opsconsole/opsconsole","version":">=0.0.1-beta.1"}}}}'
    ),
    "required_version ok": one('{"terraform":{"required_version":"~> 1.2, != 1.3.0"}}'),
    "required_version null": one('{"terraform":{"required_version":null}}'),
    "provider_meta": one('{"terraform":{"provider_meta":{"opsconsole":{}}}}'),
    "lifecycle two same": hosts('"a":{"name":"x","lifecycle":[{"prevent_destroy":true}]}'),
    "lifecycle empty list": hosts('"a":{"name":"x","lifecycle":[]}'),
    "rtb empty": hosts('"a":{"name":"x","lifecycle":{"replace_triggered_by":[]}}'),
    "variable nullable string": within('"variable":{"a":{"nullable":"false","default":1}}'),
    "variable validation two": within(
        '"variable":{"a":{"validation":[{"condition":"${var.a != 1}","error_message":"x"},{"condition":"${var.a != 2}","error_message":"x"}]}}'
    ),
    "variable validation null": within('"variable":{"a":{"validation":null}}'),
    "import for_each no key": within(
        '"import":{"for_each":{},"to":"opsconsole_host.a","id":"x"},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "import id number": within(
        '"import":{"to":"opsconsole_host.a","id":5},"resource":{"opsconsole_host":{"a":{"name":"x"}}}'
    ),
    "removed lifecycle null": within('"removed":{"from":"opsconsole_host.z","lifecycle":null}'),
    "removed destroy string": within(
        '"removed":{"from":"opsconsole_host.z","lifecycle":{"destroy":"true"}}'
    ),
    "removed other type": within('"removed":{"from":"aws_x.z"}'),
    "moved key": within(
        '"moved":{"from":"opsconsole_host.z","to":"opsconsole_host.a[0]"},"resource":{"opsconsole_host":{"a":{"name":"x","count":1}}}'
    ),
    "local name count": within('"locals":{"count":1}'),
    "output name count": within('"output":{"count":{"value":1}}'),
}
"""Terraform and the native engine accept each of these."""
