"""What state calls sensitive stays so in runs that do not evaluate the resource again."""

SECRET = {"secret": {"type": "string", "default": "hidden-words", "sensitive": True}}
HOSTS = {"opsconsole_host": {"h": {"name": "web", "knowledge": "${var.secret}"}}}
SHOWN = {"shown": {"value": "${opsconsole_host.h.knowledge}"}}


def test_an_output_of_a_sensitive_value_says_so_whatever_is_planned(native):
    native.apply(HOSTS, variable=SECRET)
    native.write(HOSTS, variable=SECRET, output=SHOWN)
    for words in (["-refresh-only"], []):
        told = native.run("plan", *words, expect=1)
        assert "its value is sensitive" in told.text
        assert "hidden-words" not in told.text
    told = native.apply(
        HOSTS,
        "-refresh-only",
        variable=SECRET,
        output={"shown": {**SHOWN["shown"], "sensitive": True}},
    )
    assert "hidden-words" not in told.text
