data "opsconsole_agent_plugins" "web" {
  agent_id = "agt_web"
}

output "plugins" {
  value = data.opsconsole_agent_plugins.web.plugins[*].id
}
