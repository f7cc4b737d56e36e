provider "opsconsole" {
  extra_endpoints = {
    host_list = "GET /api/v1/hosts"
  }
}

data "opsconsole_hosts" "all" {}

output "hosts" {
  value = data.opsconsole_hosts.all.hosts[*].name
}
