provider "opsconsole" {
  extra_endpoints = {
    agent_list = "GET /api/v1/agents"
  }
}

data "opsconsole_agents" "all" {}

output "agents" {
  value = data.opsconsole_agents.all.agents[*].name
}
