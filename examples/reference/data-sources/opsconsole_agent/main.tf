provider "opsconsole" {
  extra_endpoints = {
    agent_get = "GET /api/v1/agents/{id}"
  }
}

data "opsconsole_agent" "ops" {
  id = "agt_ops"
}

output "status" {
  value = data.opsconsole_agent.ops.status
}
