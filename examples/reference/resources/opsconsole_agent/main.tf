data "opsconsole_specialty" "linux" {
  key = "linux-server"
}

resource "opsconsole_host" "web" {
  name       = "web-north"
  private_ip = "10.1.0.10"
}

resource "opsconsole_agent" "web" {
  name         = "web-north"
  host_id      = opsconsole_host.web.id
  specialty_id = data.opsconsole_specialty.linux.id
  main_engine  = "engine-a"
  plugin_ids   = ["plg_disk", "plg_logs"]
  credential_config = [
    { credential_id = "crd_login", credential_role = "login", order = 1, is_required = true },
  ]
}
