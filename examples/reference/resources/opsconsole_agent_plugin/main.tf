resource "opsconsole_agent_plugin" "disk" {
  agent_id  = opsconsole_agent.web.id
  plugin_id = "plg_disk"
}

resource "opsconsole_agent" "web" {
  host_id      = opsconsole_host.web.id
  specialty_id = "spc_linux"
}

resource "opsconsole_host" "web" {
  name = "web-north"
}
