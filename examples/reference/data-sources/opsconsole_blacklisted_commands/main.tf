provider "opsconsole" {
  extra_endpoints = {
    blacklist_list = "GET /api/v1/blacklists"
  }
}

data "opsconsole_blacklisted_commands" "all" {}

output "blacklisted_commands" {
  value = data.opsconsole_blacklisted_commands.all.blacklisted_commands[*].pattern
}
